package offload_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sync"
	"testing"

	"spoolctl/storage/offload"
)

// TestReadErrors checks that an error in the middle comes with what was read before it, is not remembered, and that a
// reader whose context ends does not wait.
func TestReadErrors(t *testing.T) {
	errBoom := errors.New("boom")
	values := entries(40)
	b := newBucket()
	r := openObject(t, b, write(t, b, values), 0)
	b.onRead = func(_ context.Context, offset int64) error {
		if offset > 400 {
			return errBoom
		}
		return nil
	}
	n, err := readAll(r, 0, values)
	if n == 0 || n == len(values) || !errors.Is(err, errBoom) {
		t.Fatalf("%d entries, %v", n, err)
	}
	b.mu.Lock()
	b.onRead = nil
	b.mu.Unlock()
	if rest, err := readAll(r, int64(n), values); n+rest != len(values) || err != nil {
		t.Fatalf("%d entries, %v", rest, err)
	}

	stop := errors.New("stop")
	if err := r.Read(context.Background(), 3, 9, 999, func(int64, []byte) error { return stop }); err != stop {
		t.Error("emit's error became", err)
	}

	b.mu.Lock()
	began := make(chan bool, len(values))
	b.onRead = func(ctx context.Context, _ int64) error { began <- true; <-ctx.Done(); return ctx.Err() } // a store that hangs
	b.mu.Unlock()
	hung := openObjectWith(t, b, r.Object())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := hung.Read(ctx, 0, 1, 1, nil); !errors.Is(err, context.Canceled) {
		t.Error("a cancelled read:", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := readAll(hung, 0, values); !errors.Is(err, offload.ErrClosed) {
			t.Error("a read when the reader is closed:", err)
		}
	})
	<-began
	<-began // the read that was cancelled read ahead, or this one does
	hung.Close()
	wg.Wait()
	if _, err := readAll(hung, 0, values); !errors.Is(err, offload.ErrClosed) {
		t.Error("a read after Close:", err)
	}
}

// openObjectWith opens an object while onRead would block.
func openObjectWith(t *testing.T, b *fakeBucket, o offload.Object) *offload.Reader {
	t.Helper()
	block := b.onRead
	b.onRead = nil
	r := openObject(t, b, o, 0)
	b.onRead = block
	return r
}

// TestReadsAhead checks that reading in order fetches every block once, one ahead, that a look at one entry fetches one
// block, and that a cache that is too small does not keep the blocks.
func TestReadsAhead(t *testing.T) {
	values := entries(40)
	b := newBucket()
	o := write(t, b, values)
	r := openObject(t, b, o, 1<<20)
	b.reads = nil
	ahead := make(chan bool, len(values))
	b.onRead = func(_ context.Context, offset int64) error {
		if offset > 0 {
			ahead <- true
		}
		return nil
	}
	if err := r.Read(context.Background(), 0, 1, 1<<30, func(int64, []byte) error { <-ahead; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(r, 0, values); err != nil {
		t.Fatal(err)
	}
	b.onRead = nil
	slices.Sort(b.reads)
	if blocks := len(slices.Compact(slices.Clone(b.reads))); blocks != len(b.reads) || blocks < 5 {
		t.Errorf("reads at %v", b.reads)
	}
	r.Close()

	one := openObject(t, b, o, 1<<20)
	b.reads = nil
	if err := one.Read(context.Background(), 21, 1, 1, func(e int64, v []byte) error {
		if e != 21 || !bytes.Equal(v, values[21]) {
			t.Errorf("entry %d: %x", e, v)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	one.Close() // waits for what was begun
	if len(b.reads) != 1 {
		t.Errorf("one entry took %d reads", len(b.reads))
	}

	small := openObject(t, b, o, 1)
	b.reads = nil
	for range 2 {
		if _, err := readAll(small, 0, values); err != nil {
			t.Fatal(err)
		}
	}
	small.Close()
	if once := len(slices.Compact(slices.Sorted(slices.Values(b.reads)))); len(b.reads) < 2*once-2 {
		t.Errorf("%d blocks were read %d times: a cache of one block keeps more", once, len(b.reads))
	}
}

// TestManyReaders lets several goroutines read one object through a cache of one block.
func TestManyReaders(t *testing.T) {
	values := entries(60)
	b := newBucket()
	r := openObject(t, b, write(t, b, values), 1)
	var wg sync.WaitGroup
	for from := range int64(8) {
		wg.Go(func() {
			if n, err := readAll(r, from*5, values); n != len(values)-int(from*5) || err != nil {
				t.Errorf("from %d: %d entries, %v", from*5, n, err)
			}
		})
	}
	wg.Wait()
}

// TestLargeIndex reads an object whose index does not come with the footer.
func TestLargeIndex(t *testing.T) {
	values := make([][]byte, 5000)
	for i := range values {
		values[i] = bytes.Repeat([]byte{byte(i)}, 101)
	}
	b := newBucket()
	r := openObject(t, b, write(t, b, values), 0)
	if n, err := readAll(r, 4990, values); n != 10 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
}

// FuzzObject opens any bytes as an object; with seal its checksums are made right first, so that what they protect is
// reached. Nothing may panic, and what is read must be entries in order.
func FuzzObject(f *testing.F) {
	b := newBucket()
	o := write(f, b, entries(20))
	f.Add(b.objects[o.Name], true)
	f.Add(b.objects[o.Name], false)
	f.Add([]byte("SPLEDGER"), true)
	f.Fuzz(func(t *testing.T, object []byte, seal bool) {
		object = slices.Clone(object)
		if seal {
			sealAll(object)
		}
		b, o := newBucket(), o
		o.Size = int64(len(object))
		b.objects[o.Name] = object
		r, err := offload.Open(context.Background(), offload.OpenOptions{Bucket: b, Object: o})
		if err != nil {
			return
		}
		defer r.Close()
		var next int64
		for next < o.Entries {
			err := r.Read(context.Background(), next, 1<<30, 1<<30, func(entry int64, _ []byte) error {
				if entry != next || entry >= o.Entries {
					t.Fatalf("entry %d comes where %d should", entry, next)
				}
				next++
				return nil
			})
			var damage *offload.DamagedError
			if err == nil {
				break
			}
			if !errors.As(err, &damage) || damage.First != next || damage.Next <= next {
				t.Fatalf("at %d: %v", next, err)
			}
			next = damage.Next
		}
		if next != o.Entries {
			t.Fatalf("the object ends at entry %d", next)
		}
	})
}

// sealAll makes the checksums of an object right, as far as its footer can be followed.
func sealAll(o []byte) {
	const footerLen = 92
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	if len(o) < footerLen {
		return
	}
	footer := o[len(o)-footerLen:]
	at, blocks := binary.BigEndian.Uint64(footer[72:]), uint64(binary.BigEndian.Uint32(footer[80:]))
	if end := uint64(len(o) - footerLen); at <= end && blocks*16 <= end-at {
		index := o[at : at+blocks*16]
		binary.BigEndian.PutUint32(footer[84:], sum(index))
		for i := range blocks {
			start, next := binary.BigEndian.Uint64(index[i*16:]), at
			if i+1 < blocks {
				next = binary.BigEndian.Uint64(index[i*16+16:])
			}
			if next <= at && start < next && next-start >= 4 {
				binary.BigEndian.PutUint32(o[next-4:], sum(o[start:next-4]))
			}
		}
	}
	binary.BigEndian.PutUint32(footer[88:], sum(footer[:88]))
}
