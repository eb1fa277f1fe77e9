package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"spoolctl/storage/offload"
)

// Bucket is an object store in memory. It is safe for concurrent use.
type Bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	fail    func() error
}

var _ offload.Bucket = (*Bucket)(nil)

// NewBucket returns a store with a copy of objects, which may be nil; their contents are shared.
func NewBucket(objects map[string][]byte) *Bucket {
	b := &Bucket{objects: map[string][]byte{}}
	maps.Copy(b.objects, objects)
	return b
}

// Fail has each operation from now on ask fail for its error; nil: none fails.
func (b *Bucket) Fail(fail func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fail
}

// Set makes an object, or removes it when content is nil.
func (b *Bucket) Set(name string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if content == nil {
		delete(b.objects, name)
		return
	}
	b.objects[name] = content
}

// All returns the objects by name; the contents are shared.
func (b *Bucket) All() map[string][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.objects)
}

// Names returns the objects' names, sorted.
func (b *Bucket) Names() []string { return slices.Sorted(maps.Keys(b.All())) }

// begin locks b and says whether the operation fails.
func (b *Bucket) begin() error {
	b.mu.Lock()
	if b.fail == nil {
		return nil
	}
	return b.fail()
}

// Put implements offload.Bucket.
func (b *Bucket) Put(_ context.Context, name string, content func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := content(&buf); err != nil {
		return err
	}
	err := b.begin()
	defer b.mu.Unlock()
	if err == nil {
		b.objects[name] = buf.Bytes()
	}
	return err
}

// ReadAt implements offload.Bucket.
func (b *Bucket) ReadAt(_ context.Context, name string, p []byte, offset int64) error {
	err := b.begin()
	defer b.mu.Unlock()
	o, ok := b.objects[name]
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%w: %s", offload.ErrMissing, name)
	case offset > int64(len(o)) || copy(p, o[offset:]) < len(p):
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Delete implements offload.Bucket.
func (b *Bucket) Delete(_ context.Context, name string) error {
	err := b.begin()
	defer b.mu.Unlock()
	if _, ok := b.objects[name]; err == nil && !ok {
		err = fmt.Errorf("%w: %s", offload.ErrMissing, name)
	}
	if err == nil {
		delete(b.objects, name)
	}
	return err
}

// List implements offload.Bucket.
func (b *Bucket) List(_ context.Context, prefix string) iter.Seq2[offload.Listed, error] {
	return func(yield func(offload.Listed, error) bool) {
		err := b.begin()
		b.mu.Unlock()
		if err != nil {
			yield(offload.Listed{}, err)
			return
		}
		all := b.All()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if strings.HasPrefix(name, prefix) && !yield(offload.Listed{Name: name, Size: int64(len(all[name]))}, nil) {
				return
			}
		}
	}
}
