package broker_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"spoolctl/broker/conn"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// gate holds back fsyncs while it is shut.
type gate struct{ shut atomic.Pointer[chan struct{}] }

func (g *gate) String() string { return "gate" }

// MaybeError implements errorfs.Injector.
func (g *gate) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if c := g.shut.Load(); c != nil {
			<-*c
		}
	}
	return nil
}

func (g *gate) close() { c := make(chan struct{}); g.shut.Store(&c) }
func (g *gate) open() {
	if c := g.shut.Swap(nil); c != nil {
		close(*c)
	}
}

// served is the binary protocol over a store with options of a test's own.
type served struct {
	t        *testing.T
	store    *storage.Store
	registry *topic.Registry
	address  string
}

func serve(t *testing.T, o storage.Options, d topic.Defaults) *served {
	t.Helper()
	ctx := context.Background()
	o.Dir = t.TempDir()
	store, err := storage.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := topic.New(ctx, topic.Options{Store: store, Defaults: d})
	if err != nil {
		t.Fatal(err)
	}
	server := conn.NewServer(conn.Options{Registry: registry})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		for _, end := range []func(context.Context) error{registry.Close, server.Close, func(context.Context) error { return <-done }, store.Close} {
			if err := end(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	return &served{t, store, registry, l.Addr().String()}
}

// raw connects a client that ends with the test.
func (x *served) raw() *raw {
	x.t.Helper()
	nc, err := net.Dial("tcp4", x.address)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		x.t.Fatal(err)
	}
	return &raw{x.t, nc, wire.NewFrameReader(nc, 10<<20)}
}

// TestStuckDisk: what a disk that does not answer keeps waiting for too long is refused so that the client tries again, and
// nothing is lost or out of order then.
func TestStuckDisk(t *testing.T) {
	g := &gate{}
	x := serve(t, storage.Options{FS: errorfs.Wrap(vfs.Default, g), QueueOps: 4, StoreDeadline: 50 * time.Millisecond}, topic.Defaults{AutoCreateTopics: true, Deduplicate: true})
	t.Cleanup(g.open) // before the store is closed
	r := x.raw()
	r.connect()
	name := newTopic()
	r.last(name, "p")
	const n = 60
	g.close()
	for i := range uint64(n) {
		r.send(i, i, []byte("x"))
	}
	var got uint64
	for done := false; !done; {
		switch c := r.read(); c.GetType() {
		case pb.BaseCommand_SEND_RECEIPT: // of what was on its way
			got++
		case pb.BaseCommand_CLOSE_PRODUCER:
			done = true
		default:
			t.Fatalf("%v", c)
		}
	}
	if got == n {
		t.Fatal("nothing was refused")
	}
	g.open()
	// What has no receipt is sent again, as clients do; deduplication tells what was stored all the same.
	for r.last(name, "p"); got < n; {
		r.send(got, got, []byte("x"))
		switch c := r.read(); c.GetType() {
		case pb.BaseCommand_SEND_RECEIPT:
			got++
		case pb.BaseCommand_CLOSE_PRODUCER:
			r.last(name, "p")
		default:
			t.Fatalf("%v", c)
		}
	}
	tp, err := x.registry.Get(context.Background(), mustTopic(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if stored := tp.Storage().Stats().Entries; stored != n {
		t.Errorf("%d entries stored, want each of %d once", stored, n)
	}
}
