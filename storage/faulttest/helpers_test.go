package faulttest_test

import (
	"context"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func topicName(t *testing.T) wire.TopicName {
	t.Helper()
	n, err := wire.ParseTopic("a")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func options(fs vfs.FS) storage.Options {
	return storage.Options{Dir: "spool", FS: fs, MemTableBytes: 64 << 10, Ledger: storage.LedgerLimits{MaxEntries: 50},
		BackgroundDeadline: 300 * time.Millisecond}
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
	tp, err := s.OpenTopic(ctx, topicName(t), storagetest.NewSink())
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
