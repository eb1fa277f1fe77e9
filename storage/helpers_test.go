package storage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func create(t *testing.T, s *storage.Store, topic string) (*storage.Topic, *storagetest.Sink) {
	t.Helper()
	sk := storagetest.NewSink()
	tp, err := s.CreateTopic(context.Background(), name(t, topic), storage.TopicOptions{Sink: sk})
	if err != nil {
		t.Fatal(err)
	}
	return tp, sk
}

func reopen(t *testing.T, s *storage.Store, topic string) (*storage.Topic, *storagetest.Sink) {
	t.Helper()
	sk := storagetest.NewSink()
	tp, err := s.OpenTopic(context.Background(), name(t, topic), sk)
	if err != nil {
		t.Fatal(err)
	}
	return tp, sk
}

// fill appends n entries "PREFIX-i" of the given number of messages each and waits for them.
func fill(t *testing.T, tp *storage.Topic, sk *storagetest.Sink, prefix string, n int, messages int32) {
	t.Helper()
	stored, refused := sk.Results()
	for i := range n {
		if err := tp.Append(storage.Append{Data: fmt.Appendf(nil, "%s-%d", prefix, i), PublishTime: int64(1000 + i), Messages: messages}); err != nil {
			t.Fatal(err)
		}
	}
	sk.Wait(stored + refused + n)
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
