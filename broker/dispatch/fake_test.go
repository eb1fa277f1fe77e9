package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker/dispatch"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is a topic and a cursor in memory: what a dispatcher needs of storage.
type log struct {
	mu      sync.Mutex
	entries []storage.PendingEntry
	acked   map[wire.Position]bool
	mark    wire.Position
	reads   int
}

func newLog() *log {
	return &log{acked: make(map[wire.Position]bool), mark: wire.Position{Ledger: 1, Entry: -1}}
}

// message is one entry to be published.
type message struct {
	key   string
	batch int32
	at    time.Time // deliver then; zero = at once
}

func (l *log) publish(ms ...message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range ms {
		n := len(l.entries)
		meta := &pb.MessageMetadata{
			ProducerName: proto.String("p"), SequenceId: proto.Uint64(uint64(n)), PublishTime: proto.Uint64(1), PartitionKey: &m.key,
		}
		if !m.at.IsZero() {
			meta.DeliverAtTime = proto.Int64(m.at.UnixMilli())
		}
		e := storage.PendingEntry{Entry: storage.Entry{
			Position: wire.Position{Ledger: 1, Entry: int64(n)}, Data: wire.BuildEntry(meta, fmt.Append(nil, n)),
		}}
		e.Header.Messages = max(1, m.batch)
		l.entries = append(l.entries, e)
	}
}

func keys(ks ...string) (ms []message) {
	for _, k := range ks {
		ms = append(ms, message{key: k})
	}
	return ms
}

// Pending implements dispatch.Source.
func (l *log) Pending(_ context.Context, from wire.Position, n, _ int, dst []storage.PendingEntry) ([]storage.PendingEntry, wire.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	at := max(from.Entry, l.mark.Entry+1)
	for ; at < int64(len(l.entries)) && n > 0; at++ {
		if e := l.entries[at]; !l.acked[e.Position] {
			dst = append(dst, e)
			n--
		}
	}
	return dst, wire.Position{Ledger: 1, Entry: at}, nil
}

// PendingCompacted implements dispatch.Source: nothing was compacted.
func (l *log) PendingCompacted(ctx context.Context, from wire.Position, n, bytes int, dst []storage.PendingEntry) ([]storage.PendingEntry, wire.Position, error) {
	return l.Pending(ctx, from, n, bytes, dst)
}

// MarkDelete implements dispatch.Source.
func (l *log) MarkDelete() wire.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mark
}

// Acked implements dispatch.Source.
func (l *log) Acked(p wire.Position) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.mark.Less(p) || l.acked[p]
}

// ack acknowledges entries of a consumer, in the log and in the dispatcher.
func (l *log) ack(d dispatch.Dispatcher, c *dispatch.Consumer, entries ...int64) {
	var acks []dispatch.Acked
	l.mu.Lock()
	for _, e := range entries {
		p := wire.Position{Ledger: 1, Entry: e}
		l.acked[p] = true
		acks = append(acks, dispatch.Acked{Position: p, Messages: 1})
	}
	for l.acked[wire.Position{Ledger: 1, Entry: l.mark.Entry + 1}] {
		l.mark.Entry++
	}
	l.mu.Unlock()
	d.Acked(c, acks)
}

// sink is the client side of consumers: it remembers what each got.
type sink struct {
	t   *testing.T
	mu  sync.Mutex
	got map[uint64][]dispatch.Delivery
	// stuck makes the connection look full.
	stuck bool
	told  []string
}

func newSink(t *testing.T) *sink {
	return &sink{t: t, got: make(map[uint64][]dispatch.Delivery)}
}

func (s *sink) Writable() bool { s.mu.Lock(); defer s.mu.Unlock(); return !s.stuck }

func (s *sink) Overloaded() bool { return false }

func (s *sink) Deliver(batch []dispatch.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range batch {
		s.got[d.ConsumerID] = append(s.got[d.ConsumerID], d)
	}
}

func (s *sink) ActiveChange(id uint64, active bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprint(id, active))
}

func (s *sink) CloseConsumer(*dispatch.Consumer) {}

func (s *sink) ReachedEnd(uint64) {}

func (s *sink) setStuck(stuck bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = stuck
}

// entries lists what a consumer got, in order.
func (s *sink) entries(id uint64) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []int64{}
	for _, d := range s.got[id] {
		out = append(out, d.Position.Entry)
	}
	return out
}

// want waits until a consumer got exactly these entries.
func (s *sink) want(id uint64, entries ...int64) {
	s.t.Helper()
	if entries == nil {
		entries = []int64{}
	}
	deadline := time.Now().Add(5 * time.Second)
	for fmt.Sprint(s.entries(id)) != fmt.Sprint(entries) {
		if time.Now().After(deadline) {
			s.t.Fatalf("consumer %d got %v, want %v", id, s.entries(id), entries)
		}
		time.Sleep(time.Millisecond)
	}
}

// count waits until all consumers together got n entries.
func (s *sink) count(n int) {
	s.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		total := 0
		s.mu.Lock()
		for _, g := range s.got {
			total += len(g)
		}
		s.mu.Unlock()
		if total == n {
			return
		}
		if total > n || time.Now().After(deadline) {
			s.t.Fatalf("%d entries were sent, want %d", total, n)
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *sink) consumer(id uint64, change ...func(*dispatch.ConsumerOptions)) *dispatch.Consumer {
	o := dispatch.ConsumerOptions{ID: id, Name: fmt.Sprintf("c%d", id), Partition: -1, Outlet: s}
	for _, f := range change {
		f(&o)
	}
	return dispatch.NewConsumer(o)
}

func priority(p int32) func(*dispatch.ConsumerOptions) {
	return func(o *dispatch.ConsumerOptions) { o.Priority = p }
}

func newDispatcher(t *testing.T, typ pb.CommandSubscribe_SubType, l *log, change ...func(*dispatch.Options)) dispatch.Dispatcher {
	o := dispatch.Options{Type: typ, Source: l, Partition: -1, Meters: new(dispatch.Meters)}
	for _, f := range change {
		f(&o)
	}
	d := dispatch.New(o)
	t.Cleanup(d.Close)
	return d
}

func add(t *testing.T, d dispatch.Dispatcher, c *dispatch.Consumer) *dispatch.Consumer {
	t.Helper()
	if err := d.Add(c); err != nil {
		t.Fatal(err)
	}
	return c
}
