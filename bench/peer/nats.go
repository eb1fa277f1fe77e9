package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"spoolctl/bench/load"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	natsReady   = 10 * time.Second
	natsPending = 1 << 30 // bytes that may wait for a slow subscriber, so that none is cut off
	subject     = "bench"
)

// NATS is an embedded server.
type NATS struct {
	srv *server.Server
	dir string
}

// StartNATS starts a server with JetStream on files below dir. always syncs every message; otherwise the server syncs
// every two minutes, its default.
func StartNATS(dir string, always bool) (*NATS, error) {
	n := &NATS{dir: filepath.Join(dir, "nats")}
	if err := os.RemoveAll(n.dir); err != nil {
		return nil, err
	}
	var err error
	n.srv, err = server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: n.dir, SyncAlways: always, NoLog: true, NoSigs: true, MaxPending: natsPending,
	})
	if err != nil {
		return nil, err
	}
	n.srv.Start()
	if !n.srv.ReadyForConnections(natsReady) {
		return nil, errors.Join(fmt.Errorf("nats-server is not ready after %v", natsReady), n.Stop())
	}
	return n, nil
}

// Stop ends the server and removes its files.
func (n *NATS) Stop() error {
	n.srv.Shutdown()
	n.srv.WaitForShutdown()
	return os.RemoveAll(n.dir)
}

// FanOut publishes without JetStream while subscribers, each on a connection of its own, receive everything; it returns
// deliveries per second.
func (n *NATS) FanOut(ctx context.Context, ring *load.Ring, messages, subscribers int) (float64, error) {
	left := int64(subscribers)
	done := make(chan struct{})
	counts := make([]atomic.Int64, subscribers)
	for i := range subscribers {
		nc, err := nats.Connect(n.srv.ClientURL())
		if err != nil {
			return 0, err
		}
		defer nc.Close()
		sub, err := nc.Subscribe(subject, func(*nats.Msg) {
			if counts[i].Add(1) == int64(messages) && atomic.AddInt64(&left, -1) == 0 {
				close(done)
			}
		})
		if err != nil {
			return 0, err
		}
		if err := errors.Join(sub.SetPendingLimits(-1, -1), nc.Flush()); err != nil {
			return 0, err
		}
	}
	nc, err := nats.Connect(n.srv.ClientURL())
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	start := time.Now()
	for i := range messages {
		if err := nc.Publish(subject, ring.Payload(i)); err != nil {
			return 0, err
		}
	}
	if err := nc.Flush(); err != nil {
		return 0, err
	}
	select {
	case <-done:
		return float64(messages*subscribers) / time.Since(start).Seconds(), nil
	case <-time.After(time.Minute):
		return 0, errors.New("core NATS lost messages")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
