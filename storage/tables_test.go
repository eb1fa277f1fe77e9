package storage_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/storagetest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestTablesHoldOneFamily fills many epochs with entries and cursor updates and checks what the layout stands on: no table
// holds two families, tables of entries do not overlap, and none of them was rewritten by a compaction.
func TestTablesHoldOneFamily(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	s := open(t, fs, func(o *storage.Options) { o.MemTableBytes = 256 << 10 })
	var topics []*storage.Topic
	sk := storagetest.NewSink()
	for i := range 20 {
		tp, err := s.CreateTopic(ctx, name(t, fmt.Sprint("t", i)), storage.TopicOptions{Sink: sk})
		if err != nil {
			t.Fatal(err)
		}
		cursor(t, tp, "slow")
		cursor(t, tp, "fast")
		topics = append(topics, tp)
	}
	data := make([]byte, 1000)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	n := 0
	for round := range 60 {
		for _, tp := range topics {
			for range 5 {
				if err := tp.Append(storage.Append{Data: data}); err != nil {
					t.Fatal(err)
				}
				n++
			}
		}
		sk.Wait(n)
		for _, tp := range topics {
			if err := tp.Cursor("fast").AckCumulative(storage.Ack{Position: tp.LastConfirmed()}, nil, nil); err != nil {
				t.Fatal(err)
			}
			if round%10 == 0 {
				if err := tp.Cursor("fast").Flush(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	m := s.Pebble()
	closeStore(t, s)

	ro, err := storage.OpenRead(storage.ReadOptions{Dir: "spool", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	levels, err := ro.DB().SSTables()
	if err != nil {
		t.Fatal(err)
	}
	var entryTables []pebble.SSTableInfo
	for level, tables := range levels {
		for _, tb := range tables {
			first, last := key.Family(tb.Smallest.UserKey[0]), key.Family(tb.Largest.UserKey[0])
			if last != first && !(tb.Largest.IsExclusiveSentinel() && len(tb.Largest.UserKey) == 1) {
				t.Errorf("L%d table %d spans %s to %s", level, tb.FileNum, key.Format(tb.Smallest.UserKey), key.Format(tb.Largest.UserKey))
			}
			if first == key.Entry {
				entryTables = append(entryTables, tb)
			}
		}
	}
	payload := uint64(n * len(data))
	if len(entryTables) < 10 {
		t.Errorf("only %d tables of entries: the test does not reach many epochs", len(entryTables))
	}
	slices.SortFunc(entryTables, func(a, b pebble.SSTableInfo) int { return bytes.Compare(a.Smallest.UserKey, b.Smallest.UserKey) })
	for i := 1; i < len(entryTables); i++ {
		if a, b := entryTables[i-1], entryTables[i]; bytes.Compare(a.Largest.UserKey, b.Smallest.UserKey) >= 0 {
			t.Errorf("tables of entries overlap: one ends at %s, the next starts at %s", key.Format(a.Largest.UserKey), key.Format(b.Smallest.UserKey))
		}
	}
	written := m.WAL.BytesWritten
	for _, l := range m.Levels {
		written += l.TableBytesFlushed + l.TableBytesCompacted
	}
	amplification := float64(written) / float64(payload)
	t.Logf("%d entry tables, %.2f bytes written per byte of payload", len(entryTables), amplification)
	if amplification > 2.8 { // performance.md row 9: log and flush once each, and the other families
		t.Errorf("%.2f bytes written per byte of payload: entries are being compacted", amplification)
	}
}
