package storage_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSpaceOfConsumedEntriesComesBack publishes many times what the spool may hold while a consumer keeps up: the disk must
// not grow, entries must not be rewritten, and nothing may be left noted as garbage after a restart.
func TestSpaceOfConsumedEntriesComesBack(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	change := func(o *storage.Options) {
		o.MemTableBytes = 256 << 10
		o.Ledger.MaxEntries = 100
	}
	s := open(t, fs, change)
	tp, sk := create(t, s, "a")
	c := cursor(t, tp, "keeps up")
	pool := make([]byte, 1<<20)
	if _, err := rand.Read(pool); err != nil {
		t.Fatal(err)
	}
	const entries, size = 20_000, 1000
	for i := range entries {
		at := i * 13 % (len(pool) - size)
		if err := tp.Append(storage.Append{Data: pool[at : at+size]}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 99 {
			sk.Wait(i + 1)
			if err := c.Clear(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	used := func() uint64 { return s.Pebble().DiskSpaceUsage() }
	for deadline := time.Now().Add(20 * time.Second); used() > entries*size/5; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes on disk after %d bytes were published and consumed:\n%s", used(), entries*size, s.Pebble())
		}
	}
	rewritten := uint64(0)
	for _, l := range s.Pebble().Levels {
		rewritten += l.TableBytesCompacted
	}
	if rewritten > entries*size/10 {
		t.Errorf("%d bytes were rewritten by compactions", rewritten)
	}
	closeStore(t, s)

	s = open(t, fs, change) // everything is in tables now, so what is left of the garbage may go
	reopen(t, s, "a")
	deadline := time.Now().Add(20 * time.Second)
	for {
		if dead := garbage(t, s, fs); dead == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d runs of garbage are left", dead)
		}
	}
	closeStore(t, s)
}

// garbage counts what a checkpoint of the store has noted as garbage.
func garbage(t *testing.T, s *storage.Store, fs vfs.FS) int {
	t.Helper()
	if err := fs.RemoveAll("copy"); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(context.Background(), "copy"); err != nil {
		t.Fatal(err)
	}
	ro, err := storage.OpenRead(storage.ReadOptions{Dir: "copy", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	n := len(ro.Meta().Garbage)
	if err := ro.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}
