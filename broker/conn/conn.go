package conn

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/auth"
	"spoolctl/broker/topic"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

const (
	// maxTasks bounds the requests of one connection that are being worked on.
	maxTasks = 64
	// handshakeFrame bounds the frames of a client that is not authenticated.
	handshakeFrame = 128 << 10
)

// errQuit ends a connection whose reason was already told to the client or the log.
var errQuit = errors.New("connection ended")

// Conn is one client.
type Conn struct {
	s      *Server
	nc     net.Conn
	log    *slog.Logger
	out    *writer
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	slots  chan struct{} // taken by tasks

	// Set by the handshake, read-only afterwards.
	shaken   bool // the reader's
	identity auth.Identity
	version  string // the client's
	protocol int32

	heard  atomic.Bool // something came since the last keep-alive tick
	greets atomic.Bool // the handshake is done

	publishing atomic.Int64  // bytes of unanswered SENDs
	published  chan struct{} // told when publishing fell below the bound

	mu        sync.Mutex
	producers table[producerEntry]
	consumers table[consumerEntry]

	// The reader's scratch memory.
	ack  wire.Ack
	acks topic.Acknowledger
}

// producerEntry is a producer id's place from its PRODUCER command on.
type producerEntry struct {
	p      *topic.Producer // nil while it is being made
	early  bool            // closed by the broker before it was made
	done   chan struct{}   // closed when making it ended
	closed bool            // the client closed it
}

// consumerEntry is a consumer id's place from its SUBSCRIBE command on.
type consumerEntry struct {
	c      *topic.Consumer
	early  bool
	done   chan struct{}
	closed bool
}

func newConn(s *Server, nc net.Conn) *Conn {
	c := &Conn{
		s: s, nc: nc, log: s.opt.Logger.With("remote", nc.RemoteAddr().String()),
		out: newWriter(nc, &s.chunks), slots: make(chan struct{}, maxTasks), published: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	return c
}

// serve runs the connection to its end.
func (c *Conn) serve() {
	c.log.Debug("connection opened")
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		c.write()
	}()
	err := c.read()
	c.cancel()
	c.tasks.Wait()
	c.leave()
	<-wrote
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, errQuit) {
		c.log.Info("connection closed", "client", c.version, "reason", err)
		return
	}
	c.log.Debug("connection closed", "client", c.version)
}

// read takes frames until the connection ends.
func (c *Conn) read() error {
	frames := wire.NewFrameReader(c.nc, handshakeFrame)
	for {
		if err := c.wait(); err != nil {
			return err
		}
		f, err := frames.Next()
		if err != nil {
			return err
		}
		if !c.heard.Load() {
			c.heard.Store(true)
		}
		if !c.shaken {
			if err := c.handshake(f); err != nil {
				return err
			}
			frames.SetMaxFrame(c.s.opt.MaxMessageSize + wire.FramePadding)
			continue
		}
		if err := c.handle(f); err != nil {
			return err
		}
	}
}

// wait holds the reader back while the client's publishes or the answers to it pile up.
func (c *Conn) wait() error {
	for c.publishing.Load() > c.s.opt.MaxPublishing {
		select {
		case <-c.published:
		case <-c.ctx.Done():
			return errQuit
		}
	}
	for c.out.size.Load() > readStop {
		select {
		case <-c.out.room:
		case <-c.ctx.Done():
			return errQuit
		}
	}
	if c.ctx.Err() != nil {
		return errQuit
	}
	return nil
}

// write is the writing goroutine: it flushes at every wake-up and keeps the
// connection alive. At the end it writes what is queued and closes the socket.
func (c *Conn) write() {
	tick := time.NewTicker(c.s.opt.KeepAlive)
	defer tick.Stop()
	pinged := false
	for {
		select {
		case <-c.out.wake:
			if err := c.out.flush(c.s.opt.WriteTimeout); err != nil {
				c.log.Debug("cannot write to the client", "error", err)
				c.end(0)
				return
			}
			if c.out.relieved() {
				c.wakeConsumers()
			}
		case <-tick.C:
			switch {
			case !c.greets.Load():
				c.log.Info("the client did not finish the handshake in time")
				c.end(0)
				return
			case c.heard.Swap(false):
				pinged = false
			case pinged:
				c.log.Info("the client is silent; closing its connection", "client", c.version)
				c.end(0)
				return
			default:
				pinged = true
				c.out.small(wire.AppendPing)
			}
		case <-c.ctx.Done():
			c.end(lastFlush)
			return
		}
	}
}

// end writes what is queued, when there is time for it, and closes the socket, which
// ends the reader.
func (c *Conn) end(flush time.Duration) {
	c.cancel()
	c.out.close()
	if flush > 0 {
		if err := c.out.flush(flush); err != nil {
			c.log.Debug("the last answers could not be written", "error", err)
		}
	}
	_ = c.nc.Close() // nothing more can be done for this client
}

// leave detaches what the client had.
func (c *Conn) leave() {
	c.mu.Lock()
	producers, consumers := c.producers, c.consumers
	c.producers, c.consumers = table[producerEntry]{}, table[consumerEntry]{}
	c.mu.Unlock()
	for e := range producers.all() {
		if e.p != nil {
			e.p.Drop()
		}
	}
	for e := range consumers.all() {
		if e.c != nil {
			e.c.Leave()
		}
	}
}

// wakeConsumers dispatches again after the connection had no room.
func (c *Conn) wakeConsumers() {
	c.mu.Lock()
	var all []*topic.Consumer
	for e := range c.consumers.all() {
		if e.c != nil {
			all = append(all, e.c)
		}
	}
	c.mu.Unlock()
	for _, x := range all {
		x.Wake()
	}
}

// task runs f on a goroutine of the connection; it waits while too many are running.
func (c *Conn) task(f func(ctx context.Context)) {
	select {
	case c.slots <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.tasks.Go(func() {
		defer func() { <-c.slots }()
		f(c.ctx)
	})
}

// quit tells the client why the connection ends.
func (c *Conn) quit(code pb.ServerError, text string) error {
	c.fail(noRequest, code, text)
	return errQuit
}
