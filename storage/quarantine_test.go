package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestQuarantine damages a block of entries: readers get everything else in order, the damage is counted and stays in the
// backlog, and reading it by position says that it is damaged.
func TestQuarantine(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	small := func(o *storage.Options) { o.MemTableBytes = 128 << 10 }
	s := open(t, fs, small)
	tp, sk := create(t, s, "persistent://public/default/q")
	cursor(t, tp, "sub")
	rng := rand.NewChaCha8([32]byte{})
	const n = 600
	for i := range n {
		data := make([]byte, 1024)
		_, _ = rng.Read(data) // never fails
		copy(data, fmt.Sprintf("%08d", i))
		if err := tp.Append(storage.Append{Data: data}); err != nil {
			t.Fatal(err)
		}
		sk.Wait(i + 1)
	}
	closeStore(t, s)
	damageLargestTable(t, fs)

	var ahead atomic.Int64
	s = open(t, fs, small, func(o *storage.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	tp, _ = reopen(t, s, "persistent://public/default/q")
	for range 2 { // the second time the damage is known
		last, read := -1, 0
		for from := wire.Earliest(); ; {
			got, err := tp.Read(ctx, from, 50, 1<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 {
				break
			}
			for _, e := range got {
				var i int
				if _, err := fmt.Sscanf(string(e.Data[:8]), "%d", &i); err != nil || i <= last {
					t.Fatalf("entry %d after %d, %v", i, last, err)
				}
				last, from = i, tp.Next(e.Position)
				read++
			}
		}
		bad := s.Stats().QuarantinedEntries
		if bad == 0 || bad > 64 || read+int(bad) != n || last != n-1 {
			t.Errorf("%d read, the last is %d, %d damaged", read, last, bad)
		}
	}
	ranges := tp.Quarantined()
	if len(ranges) != 1 {
		t.Fatalf("damaged: %v", ranges)
	}
	var bad *storage.CorruptError
	if _, err := tp.ReadAt(ctx, ranges[0].Upper); !errors.As(err, &bad) {
		t.Errorf("reading a damaged entry: %v", err)
	}
	if b := tp.Cursor("sub").Backlog(); b.Entries != n {
		t.Errorf("backlog %+v", b)
	}
	if s.Health() == nil {
		t.Error("the store is well although it is damaged")
	}
	ahead.Store(int64(5 * time.Minute))
	if err := s.Health(); err != nil {
		t.Errorf("five minutes after the last damage was read: %v", err)
	}
	counted := s.Stats().QuarantinedEntries
	closeStore(t, s)

	// Whoever comes upon the damage in its middle does not hide its beginning.
	s = open(t, fs, small)
	defer closeStore(t, s)
	tp, _ = reopen(t, s, "persistent://public/default/q")
	middle := ranges[0].Upper
	middle.Entry -= ranges[0].Entries() / 2
	for _, from := range []wire.Position{middle, wire.Earliest()} {
		for {
			got, err := tp.Read(ctx, from, 50, 1<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 {
				break
			}
			from = tp.Next(got[len(got)-1].Position)
		}
	}
	if got := fmt.Sprint(tp.Quarantined(), s.Stats().QuarantinedEntries); got != fmt.Sprint(ranges, counted) {
		t.Errorf("damaged: %s, want %v %d", got, ranges, counted)
	}
}

// damageLargestTable flips a byte in the middle of the largest table.
func damageLargestTable(t *testing.T, fs vfs.FS) {
	t.Helper()
	dir := filepath.Join("spool", storage.StoreDir)
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var largest string
	var content []byte
	for _, n := range names {
		if !strings.HasSuffix(n, ".sst") {
			continue
		}
		f, err := fs.Open(filepath.Join(dir, n))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		if len(b) > len(content) {
			largest, content = filepath.Join(dir, n), b
		}
	}
	content[len(content)/2] ^= 1
	f, err := fs.Create(largest, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}
