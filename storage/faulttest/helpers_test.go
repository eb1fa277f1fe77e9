package faulttest_test

import (
	"context"
	"sync"
	"testing"

	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sink collects the results of appends.
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

func topicName(t *testing.T) wire.TopicName {
	t.Helper()
	n, err := wire.ParseTopic("a")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func options(fs vfs.FS) storage.Options {
	return storage.Options{Dir: "spool", FS: fs, MemTableBytes: 64 << 10, Ledger: storage.LedgerLimits{MaxEntries: 50}}
}

// entries opens the spool and returns what its topic holds; found is false when the topic does not exist.
func entries(t *testing.T, fs vfs.FS) (out []string, found bool) {
	t.Helper()
	ctx := context.Background()
	s, err := storage.Open(ctx, options(fs))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	if !s.HasTopic(topicName(t)) {
		return nil, false
	}
	tp, err := s.OpenTopic(ctx, topicName(t), newSink())
	if err != nil {
		t.Fatal(err)
	}
	for from := wire.Earliest(); ; {
		got, err := tp.Read(ctx, from, 100, 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return out, true
		}
		for _, e := range got {
			out = append(out, string(e.Data))
			from = tp.Next(e.Position)
		}
	}
}
