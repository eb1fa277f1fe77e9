package storage_test

import (
	"context"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestRest: a store that nothing is asked of brings what it has in memory into tables, if that is much; a little stays.
func TestRest(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries int
		flushes bool
	}{{"much", 300, true}, {"little", 4, false}} {
		t.Run(c.name, func(t *testing.T) {
			now := newClock()
			s := open(t, vfs.NewMem(), func(o *storage.Options) {
				o.Now, o.MemTableBytes, o.CursorFlushInterval = now.now, 1<<20, time.Millisecond
			})
			defer closeStore(t, s)
			sink := storagetest.NewSink()
			tp, err := s.CreateTopic(context.Background(), name(t, "t"), storage.TopicOptions{Sink: sink})
			if err != nil {
				t.Fatal(err)
			}
			for range c.entries {
				if err := tp.Append(storage.Append{Data: make([]byte, 1000), Messages: 1}); err != nil {
					t.Fatal(err)
				}
			}
			sink.Wait(c.entries)
			before := s.Pebble().Flush.Count
			now.advance()
			flushed := func() bool { return s.Pebble().Flush.Count > before }
			if c.flushes {
				for !flushed() {
					<-now.read
				}
				return
			}
			for range 100 {
				<-now.read
			}
			if flushed() {
				t.Error("a few entries were brought into a table of their own")
			}
		})
	}
}
