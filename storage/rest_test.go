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
			now, fs := newClock(), vfs.NewCrashableMem()
			s := open(t, fs, func(o *storage.Options) {
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
			} else {
				for range 100 {
					<-now.read
				}
				if flushed() {
					t.Error("a few entries were brought into a table of their own")
				}
			}

			// What comes afterwards is as safe as ever.
			if err := tp.Append(storage.Append{Data: []byte("last"), Messages: 1}); err != nil {
				t.Fatal(err)
			}
			sink.Wait(c.entries + 1)
			after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
			defer closeStore(t, after)
			tp, _ = reopen(t, after, "t")
			if n := tp.Stats().Entries; n != int64(c.entries)+1 {
				t.Errorf("%d entries after a power loss, want %d", n, c.entries+1)
			}
		})
	}
}
