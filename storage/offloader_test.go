package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/offload"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// offloading is a store with ten ledgers and an object store.
type offloading struct {
	*testing.T
	fs     *vfs.MemFS
	clock  *clock
	bucket *storagetest.Bucket
	s      *storage.Store
	tp     *storage.Topic
}

func newOffloading(t *testing.T) *offloading {
	o := &offloading{T: t, fs: vfs.NewMem(), clock: newClock(), bucket: storagetest.NewBucket(nil)}
	o.open(o.bucket)
	tp, sk := create(t, o.s, "a")
	for _, c := range []string{"s", "t"} {
		cursor(t, tp, c)
	}
	fill(t, tp, sk, "x", 95, 2)
	o.tp = tp
	return o
}

func (o *offloading) open(b offload.Bucket) {
	o.s = open(o.T, o.fs, func(opt *storage.Options) {
		opt.Now, opt.Bucket, opt.OffloadInterval = o.clock.now, b, time.Millisecond
		opt.Ledger.MaxEntries, opt.TailCacheBytes, opt.MemTableBytes, opt.Ledger.MaxAge = 10, 1, 64<<10, 1<<60
	})
}

func (o *offloading) reopen(b offload.Bucket) {
	closeStore(o.T, o.s)
	o.open(b)
	o.tp, _ = reopen(o.T, o.s, "a")
}

// until waits for something that background work does.
func (o *offloading) until(ok func() bool) {
	o.Helper()
	for looks := 0; !ok(); looks++ {
		if looks == 10_000 {
			o.Fatal("it does not happen")
		}
		<-o.clock.read
	}
}

// offload puts all closed ledgers into the object store.
func (o *offloading) offload() {
	o.Helper()
	if err := o.tp.Offload(wire.Latest()); err != nil {
		o.Fatal(err)
	}
	o.until(func() bool { return !o.tp.OffloadStatus().Running })
	if err := o.tp.OffloadStatus().Last; err != nil {
		o.Fatal(err)
	}
	o.until(func() bool {
		return !slices.ContainsFunc(o.tp.Ledgers()[:9], func(l storage.LedgerInfo) bool { return !l.LocalDeleted })
	})
}

// Entries that are in objects only are read, sought, acknowledged and counted as those that are here, also after a restart.
func TestOffload(t *testing.T) {
	ctx := context.Background()
	o := newOffloading(t)
	all := readAll(t, o.tp)
	o.offload()
	if n := len(o.bucket.Names()); n != 9 {
		t.Fatalf("%d objects", n)
	}
	for range 2 {
		if diff := cmp.Diff(all, readAll(t, o.tp)); diff != "" {
			t.Fatal(diff)
		}
		for i, ms := range []int64{0, 1000, 1037, 1089, 1094, 2000} {
			p, err := o.tp.SeekTime(ctx, ms)
			if err != nil {
				t.Fatal(err)
			}
			want := []int{0, 0, 37, 89, 94, -1}[i]
			if want < 0 {
				if p != o.tp.Next(o.tp.LastConfirmed()) {
					t.Errorf("time %d is at %v", ms, p)
				}
				continue
			}
			if e, err := o.tp.ReadAt(ctx, p); err != nil || string(e.Data) != all[want] {
				t.Errorf("time %d is %q, %v", ms, e.Data, err)
			}
		}
		o.reopen(o.bucket)
	}
	c := o.tp.Cursor("s")
	first := o.tp.Ledgers()[0].ID
	for i := range int64(20) { // every second of the first two ledgers, and a part of a batch; their sizes are looked up
		if err := c.Ack([]storage.Ack{{Position: wire.Position{Ledger: first + i/10, Entry: i % 10 / 2 * 2}}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Ack([]storage.Ack{{Position: wire.Position{Ledger: first, Entry: 1}, Remaining: []uint64{1}}}, nil); err != nil {
		t.Fatal(err)
	}
	want := storage.Backlog{Entries: 85, Messages: 169}
	for i, s := range all {
		if i >= 20 || i%2 == 1 {
			want.Bytes += int64(len(s))
		}
	}
	if b := c.Backlog(); b != want {
		t.Errorf("backlog %+v, want %+v", b, want)
	}
	got, _, err := c.Pending(ctx, wire.Earliest(), 1000, 1<<20, nil)
	if err != nil || len(got) != 85 || string(got[0].Data) != all[1] || fmt.Sprint(got[0].Remaining) != "[1]" {
		t.Errorf("pending: %d, %v", len(got), err)
	}
	// What nobody needs any more goes, here and there.
	for _, name := range []string{"s", "t"} {
		if err := o.tp.Cursor(name).Clear(ctx); err != nil {
			t.Fatal(err)
		}
	}
	o.until(func() bool { return len(o.bucket.Names()) == 0 })
	closeStore(t, o.s)
}

// Without the object store, what is in it is not answered with nothing.
func TestOffloadedWithoutBucket(t *testing.T) {
	ctx := context.Background()
	o := newOffloading(t)
	o.offload()
	o.reopen(nil)
	var away *storage.OffloadedError
	if got, err := o.tp.Read(ctx, wire.Earliest(), 10, 1<<20, nil); !errors.As(err, &away) || len(got) != 0 {
		t.Errorf("read %d entries, %v", len(got), err)
	}
	if err := o.tp.Offload(wire.Latest()); !errors.Is(err, storage.ErrNoBucket) {
		t.Errorf("offloading: %v", err)
	}
	if b := o.tp.Cursor("s").Backlog(); b.Entries != 95 {
		t.Errorf("backlog %+v", b)
	}
	closeStore(t, o.s)
	s, err := storage.OpenRead(storage.ReadOptions{Dir: "spool", FS: o.fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tp, err := s.TopicByName(name(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := tp.Pending(ctx, tp.Cursor("s"), wire.Earliest(), 10, 1<<20, nil); !errors.As(err, &away) || len(got) != 0 {
		t.Errorf("stopped spool: %d entries pending, %v", len(got), err)
	}
}

// The policy moves the oldest ledgers above a threshold, and keeps them here for a while.
func TestOffloadPolicy(t *testing.T) {
	o := newOffloading(t)
	defer func() { closeStore(t, o.s) }()
	st := o.tp.Stats()
	o.tp.SetOffloadPolicy(storage.OffloadPolicy{Threshold: st.Bytes / 2, DeletionLag: 30 * time.Minute})
	o.until(func() bool { return o.tp.Ledgers()[4].Object != "" })
	for i, l := range o.tp.Ledgers() {
		if l.LocalDeleted || (l.Object != "") != (i < 5) {
			t.Errorf("ledger %d: %+v", i, l)
		}
	}
	o.clock.advance()
	o.until(func() bool { return o.tp.Ledgers()[4].LocalDeleted })
	if got := len(readAll(t, o.tp)); got != 95 {
		t.Errorf("read %d entries", got)
	}
}

// What fails is said, changes nothing, and is tried again; what an attempt left is removed.
func TestOffloadFailures(t *testing.T) {
	o := newOffloading(t)
	broken := errors.New("the store is down")
	o.bucket.Fail(func() error { return broken })
	if err := o.tp.Offload(wire.Latest()); err != nil {
		t.Fatal(err)
	}
	o.until(func() bool { return !o.tp.OffloadStatus().Running })
	if st := o.tp.OffloadStatus(); !errors.Is(st.Last, broken) || st.FirstUnoffloaded != (wire.Position{Ledger: o.tp.Ledgers()[0].ID}) || st.Failed.IsZero() {
		t.Errorf("status %+v", st)
	}
	o.bucket.Fail(nil)
	o.offload()
	orphan := strings.Replace(o.bucket.Names()[0], "ledger-", "ledger-9", 1)
	for _, name := range []string{orphan, "someone else's"} {
		o.bucket.Set(name, []byte{})
	}
	o.reopen(o.bucket)
	o.until(func() bool { return !slices.Contains(o.bucket.Names(), orphan) })
	if n := len(o.bucket.Names()); n != 10 {
		t.Errorf("%d objects are left, want 9 and a stranger's", n)
	}
	// A damaged object: its entries are passed over and counted, the rest is read.
	for name, value := range o.bucket.All() {
		if strings.Contains(name, fmt.Sprintf("ledger-%d-", o.tp.Ledgers()[2].ID)) {
			value = bytes.Clone(value)
			value[50] ^= 1
			o.bucket.Set(name, value)
		}
	}
	o.reopen(o.bucket)
	if got, bad := len(readAll(t, o.tp)), o.s.Stats().QuarantinedEntries; got != 85 || bad != 10 {
		t.Errorf("%d entries read, %d quarantined", got, bad)
	}
	closeStore(t, o.s)
}
