package storage_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink collects the results of appends and lets tests wait for them.
type sink struct {
	mu   sync.Mutex
	cond sync.Cond
	ok   []storage.Appended
	bad  []storage.Appended
}

func newSink() *sink {
	s := &sink{}
	s.cond.L = &s.mu
	return s
}

// Committed implements storage.Sink.
func (s *sink) Committed(entries []storage.Appended, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.bad = append(s.bad, entries...)
	} else {
		s.ok = append(s.ok, entries...)
	}
	s.cond.Broadcast()
}

// wait blocks until n appends have a result and returns those that are stored.
func (s *sink) wait(n int) []storage.Appended {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ok)+len(s.bad) < n {
		s.cond.Wait()
	}
	return append([]storage.Appended(nil), s.ok...)
}

func open(t *testing.T, fs vfs.FS, change ...func(*storage.Options)) *storage.Store {
	t.Helper()
	o := storage.Options{Dir: "spool", FS: fs, CursorFlushInterval: time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	s, err := storage.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *storage.Store) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func name(t *testing.T, s string) wire.TopicName {
	t.Helper()
	n, err := wire.ParseTopic(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func create(t *testing.T, s *storage.Store, topic string) (*storage.Topic, *sink) {
	t.Helper()
	sk := newSink()
	tp, err := s.CreateTopic(context.Background(), name(t, topic), storage.TopicOptions{Sink: sk})
	if err != nil {
		t.Fatal(err)
	}
	return tp, sk
}

func reopen(t *testing.T, s *storage.Store, topic string) (*storage.Topic, *sink) {
	t.Helper()
	sk := newSink()
	tp, err := s.OpenTopic(context.Background(), name(t, topic), sk)
	if err != nil {
		t.Fatal(err)
	}
	return tp, sk
}

// fill appends n entries "PREFIX-i" of the given number of messages each and waits for them.
func fill(t *testing.T, tp *storage.Topic, sk *sink, prefix string, n int, messages int32) {
	t.Helper()
	sk.mu.Lock()
	before := len(sk.ok) + len(sk.bad)
	sk.mu.Unlock()
	for i := range n {
		if err := tp.Append(storage.Append{Data: fmt.Appendf(nil, "%s-%d", prefix, i), PublishTime: int64(1000 + i), Messages: messages}); err != nil {
			t.Fatal(err)
		}
	}
	sk.wait(before + n)
}

func readAll(t *testing.T, tp *storage.Topic) []string {
	t.Helper()
	var out []string
	from := wire.Earliest()
	for {
		got, err := tp.Read(context.Background(), from, 100, 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return out
		}
		for _, e := range got {
			out = append(out, string(e.Data))
			from = tp.Next(e.Position)
		}
	}
}

// cursor makes a durable cursor at the topic's start.
func cursor(t *testing.T, tp *storage.Topic, name string) *storage.Cursor {
	t.Helper()
	c, err := tp.CreateCursor(context.Background(), storage.CursorOptions{Name: name, MarkDelete: wire.Earliest(), Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
