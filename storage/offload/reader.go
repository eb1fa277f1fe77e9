package offload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"
)

// OpenOptions say which object is opened.
type OpenOptions struct {
	Bucket     Bucket
	Object     Object
	CacheBytes int64 // blocks kept in memory, besides those in use; default 4 MiB
}

// tailBytes is what Open reads at once: the footer, and in all but huge objects the index.
const tailBytes = 64 << 10

// Reader reads the entries of an object. It is safe for concurrent use. It holds the index (16 bytes a block), the cache,
// and one block for each Read that is running and one that is read ahead.
type Reader struct {
	bucket Bucket
	object Object
	index  []place // one more than there are blocks
	bytes  int64

	ctx    context.Context // of the fetches, which may outlive the Read that began them
	cancel context.CancelFunc
	wg     sync.WaitGroup
	cache  cache
}

// Open reads the end of an object, and compares it with what the spool knows of the ledger. Close must be called.
func Open(ctx context.Context, o OpenOptions) (*Reader, error) {
	if err := o.Object.check(); err != nil {
		return nil, err
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 4 << 20
	}
	r := &Reader{bucket: o.Bucket, object: o.Object, cache: cache{limit: o.CacheBytes, fetches: map[int]*fetch{}}}
	if err := r.readIndex(ctx); err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return r, nil
}

func (r *Reader) readIndex(ctx context.Context) error {
	o := r.object
	size := min(tailBytes, o.Size)
	damaged := func(offset int64, cause error) error {
		return &DamagedError{Object: o.Name, Offset: offset, Block: -1, Next: o.Entries, Cause: cause}
	}
	if size < footerLen {
		return damaged(0, fmt.Errorf("%d bytes are too few", o.Size))
	}
	tail := make([]byte, size)
	if err := r.readAt(ctx, tail, o.Size-size); err != nil {
		return eofIsDamage(err, damaged, o.Size-size)
	}
	f, err := parseFooter(tail[size-footerLen:], o)
	if err != nil {
		return damaged(o.Size-footerLen, err)
	}
	r.bytes = f.bytes
	index := make([]byte, int64(f.blocks)*indexEntryLen)
	if missing := o.Size - size - f.indexOffset; missing <= 0 {
		copy(index, tail[-missing:])
	} else if err := r.readAt(ctx, index, f.indexOffset); err != nil {
		return eofIsDamage(err, damaged, f.indexOffset)
	}
	if r.index, err = parseIndex(index, f); err != nil {
		return damaged(f.indexOffset, err)
	}
	return nil
}

func (r *Reader) readAt(ctx context.Context, p []byte, offset int64) error {
	if err := r.bucket.ReadAt(ctx, r.object.Name, p, offset); err != nil {
		return fmt.Errorf("read object %s at %d: %w", r.object.Name, offset, err)
	}
	return nil
}

// eofIsDamage makes damage of an object that is shorter than it was.
func eofIsDamage(err error, damaged func(int64, error) error, offset int64) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged(offset, err)
	}
	return err
}

// Close ends what is being fetched, waits for it, and makes every later Read fail with ErrClosed.
func (r *Reader) Close() {
	r.cache.close()
	r.cancel()
	r.wg.Wait()
}

// Object returns what the reader reads.
func (r *Reader) Object() Object { return r.object }

// Bytes returns how many bytes the entries have, their headers included.
func (r *Reader) Bytes() int64 { return r.bytes }

// Read gives at most maxEntries entries from `from` on to emit, until maxBytes of them are passed; an entry that alone is
// larger is given. It reads whole blocks. value must not be changed; it may be kept, and keeps its block in memory. Behind
// the last entry nothing is given. Read returns the error that emit returned, *DamagedError with the entries that cannot
// be read, or an error that wraps ErrMissing.
func (r *Reader) Read(ctx context.Context, from int64, maxEntries, maxBytes int, emit func(entry int64, value []byte) error) error {
	blocks := len(r.index) - 1
	i := sort.Search(blocks, func(i int) bool { return r.index[i+1].first > from })
	for from = max(from, 0); i < blocks && maxEntries > 0; i++ {
		f, known := r.start(i)
		if i+1 < blocks && (known || from == r.index[i].first) { // read in order, as it seems
			r.start(i + 1)
		}
		b, err := f.wait(ctx)
		if err != nil {
			return err
		}
		for ; from < b.next() && maxEntries > 0; from++ {
			value := b.value(from)
			if err := emit(from, value); err != nil {
				return err
			}
			maxEntries--
			if maxBytes -= len(value); maxBytes <= 0 {
				return nil
			}
		}
	}
	return nil
}

// start begins to fetch a block, if that is not done or going on already.
func (r *Reader) start(i int) (f *fetch, known bool) {
	f, known = r.cache.get(i, &r.wg)
	if !known {
		go func() {
			defer r.wg.Done()
			b, err := r.load(i)
			r.cache.finish(i, f, b, err)
		}()
	}
	return f, known
}

// load reads and checks a block.
func (r *Reader) load(i int) (block, error) {
	p, next := r.index[i], r.index[i+1]
	raw := make([]byte, next.offset-p.offset)
	damaged := func(offset int64, cause error) error {
		return &DamagedError{Object: r.object.Name, Offset: offset, Block: i, First: p.first, Next: next.first, Cause: cause}
	}
	if err := r.readAt(r.ctx, raw, p.offset); err != nil {
		return block{}, eofIsDamage(err, damaged, p.offset)
	}
	b, err := parseBlock(raw, p.first, next.first-p.first)
	if err != nil {
		return block{}, damaged(p.offset, err)
	}
	return b, nil
}
