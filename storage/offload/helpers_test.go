package offload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spoolctl/storage/offload"
)

const spool = "0f8fad5b-d9cb-469f-a165-70867728950e"

// fakeBucket is a bucket in memory whose operations can be made to fail or wait.
type fakeBucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	reads   []int64 // offsets
	onRead  func(ctx context.Context, offset int64) error
	onWrite func(written int) error
	onPut   func(name string) // after the object is there
}

func newBucket() *fakeBucket { return &fakeBucket{objects: map[string][]byte{}} }

func (b *fakeBucket) Put(ctx context.Context, name string, content func(io.Writer) error) error {
	w := &fakeWriter{b: b}
	if err := content(w); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	b.objects[name] = w.Bytes()
	b.mu.Unlock()
	if b.onPut != nil {
		b.onPut(name)
	}
	return nil
}

type fakeWriter struct {
	bytes.Buffer
	b *fakeBucket
}

func (w *fakeWriter) Write(p []byte) (int, error) {
	if w.b.onWrite != nil {
		if err := w.b.onWrite(w.Len()); err != nil {
			return 0, err
		}
	}
	return w.Buffer.Write(p)
}

func (b *fakeBucket) ReadAt(ctx context.Context, name string, p []byte, offset int64) error {
	b.mu.Lock()
	b.reads = append(b.reads, offset)
	o, ok := b.objects[name]
	onRead := b.onRead
	b.mu.Unlock()
	if onRead != nil {
		if err := onRead(ctx, offset); err != nil {
			return err
		}
	}
	if !ok {
		return offload.ErrMissing
	}
	if offset > int64(len(o)) || copy(p, o[offset:]) < len(p) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (b *fakeBucket) Delete(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.objects[name]; !ok {
		return offload.ErrMissing
	}
	delete(b.objects, name)
	return nil
}

func (b *fakeBucket) List(_ context.Context, prefix string) iter.Seq2[offload.Listed, error] {
	b.mu.Lock()
	names := slices.Sorted(maps.Keys(b.objects))
	b.mu.Unlock()
	return func(yield func(offload.Listed, error) bool) {
		for _, n := range names {
			if strings.HasPrefix(n, prefix) && !yield(offload.Listed{Name: n, Modified: time.UnixMilli(1)}, nil) {
				return
			}
		}
	}
}

// entries is a source of n entries of differing sizes.
func entries(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = bytes.Repeat([]byte{byte(i)}, i*7%50)
	}
	return out
}

func source(values [][]byte) offload.Source {
	return func(ctx context.Context, each func(int64, []byte) error) error {
		for i, v := range values {
			if err := errors.Join(ctx.Err(), each(int64(i), v)); err != nil {
				return err
			}
		}
		return nil
	}
}

func write(t testing.TB, b offload.Bucket, values [][]byte) offload.Object {
	t.Helper()
	o, err := offload.Write(context.Background(), offload.WriteOptions{Bucket: b, Source: source(values), BlockBytes: 100,
		Ledger: offload.Ref{Spool: spool, Ledger: 7, Entries: int64(len(values))}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func openObject(t testing.TB, b offload.Bucket, o offload.Object, cache int64) *offload.Reader {
	t.Helper()
	r, err := offload.Open(context.Background(), offload.OpenOptions{Bucket: b, Object: o, CacheBytes: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// readAll reads from an entry on and compares what comes with want.
func readAll(r *offload.Reader, from int64, want [][]byte) (n int, err error) {
	err = r.Read(context.Background(), from, 1<<30, 1<<30, func(entry int64, value []byte) error {
		if entry != from+int64(n) || entry >= int64(len(want)) || !bytes.Equal(value, want[entry]) {
			return fmt.Errorf("entry %d is %x", entry, value)
		}
		n++
		return nil
	})
	return n, err
}
