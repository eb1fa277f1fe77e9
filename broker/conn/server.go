package conn

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/auth"
	"spoolctl/broker/topic"
	"spoolctl/wire"
)

// Options configure a server. The zero value of a field means its default.
type Options struct {
	Registry   *topic.Registry
	Logger     *slog.Logger
	Auth       auth.Authenticator // default: everybody is anonymous
	Authorizer auth.Authorizer    // default: everything is allowed

	Version        string        // of the daemon, told to clients
	AdvertisedHost string        // in lookup answers; empty: the address that the client reached
	AdvertisedPort int           // 0: the port that the client reached
	AdvertisedTLS  string        // "host:port" of the TLS listener; empty: none
	MaxMessageSize int           // bytes; default 5 MiB
	KeepAlive      time.Duration // default 30 s; also the time to finish the handshake
	WriteTimeout   time.Duration // a client that takes nothing for so long is cut off; default 60 s
	MaxConnections int           // 0: no limit
	MaxPerAddress  int           // connections of one client address; 0: no limit
	MaxPublishing  int64         // bytes of unanswered SENDs of a connection before it is not read; default 32 MiB
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Auth == nil {
		o.Auth = auth.Anonymous{}
	}
	if o.Authorizer == nil {
		o.Authorizer = auth.Anonymous{}
	}
	if o.MaxMessageSize == 0 {
		o.MaxMessageSize = wire.DefaultMaxMessageSize
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 30 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 60 * time.Second
	}
	if o.MaxPublishing == 0 {
		o.MaxPublishing = 32 << 20
	}
	return o
}

// Server accepts clients on any number of listeners.
type Server struct {
	opt    Options
	ctx    context.Context
	cancel context.CancelFunc
	chunks sync.Pool // *[]byte of chunkSize, for writers

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*Conn]struct{}
	perHost   map[string]int
	closed    bool
	done      sync.WaitGroup // connections

	created, rejected atomic.Int64
}

// Stats counts connections since the start.
type Stats struct {
	Active            int
	Created, Rejected int64
}

// NewServer makes a server.
func NewServer(o Options) *Server {
	s := &Server{
		opt: o.withDefaults(), listeners: make(map[net.Listener]struct{}),
		conns: make(map[*Conn]struct{}), perHost: make(map[string]int),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.chunks.New = func() any { b := make([]byte, 0, chunkSize); return &b }
	return s
}

// Stats tells how many clients are and were connected.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Active: len(s.conns), Created: s.created.Load(), Rejected: s.rejected.Load()}
}

// Serve accepts clients until the listener is closed, by StopAccepting or otherwise.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			s.accept(nc)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			// Out of descriptors, most likely: it passes.
			s.opt.Logger.Warn("cannot accept a connection; trying again", "error", err)
			select {
			case <-time.After(50 * time.Millisecond):
			case <-s.ctx.Done():
				return nil
			}
		}
	}
}

// accept starts serving one client, or turns it away.
func (s *Server) accept(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		// The default of Go, said because receipts depend on it.
		_ = tcp.SetNoDelay(true)
	}
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		host = nc.RemoteAddr().String()
	}
	s.mu.Lock()
	reason := ""
	switch {
	case s.closed:
		reason = "the broker is stopping"
	case s.opt.MaxConnections > 0 && len(s.conns) >= s.opt.MaxConnections:
		reason = "too many connections"
	case s.opt.MaxPerAddress > 0 && s.perHost[host] >= s.opt.MaxPerAddress:
		reason = "too many connections from this address"
	}
	if reason != "" {
		s.mu.Unlock()
		s.rejected.Add(1)
		s.opt.Logger.Warn("connection refused", "remote", nc.RemoteAddr().String(), "reason", reason)
		_ = nc.Close() // nothing was written that could be lost
		return
	}
	c := newConn(s, nc)
	s.conns[c] = struct{}{}
	s.perHost[host]++
	s.created.Add(1)
	s.done.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.done.Done()
		c.serve()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
		if s.perHost[host]--; s.perHost[host] == 0 {
			delete(s.perHost, host)
		}
	}()
}

// StopAccepting closes the listeners; connections go on.
func (s *Server) StopAccepting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for l := range s.listeners {
		_ = l.Close() // an error means that it is closed already
	}
}

// Close ends every connection after writing what is queued for it, and waits for them;
// when ctx ends first, what is left is cut off.
func (s *Server) Close(ctx context.Context) error {
	s.StopAccepting()
	s.cancel()
	finished := make(chan struct{})
	go func() {
		s.done.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		_ = c.nc.Close()
	}
	s.mu.Unlock()
	<-finished
	return ctx.Err()
}
