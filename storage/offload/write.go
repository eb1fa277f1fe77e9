package offload

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// Source gives the entries of a ledger to each, in order from entry 0 on, and returns the error that each returned. value
// is valid during the call only.
type Source func(ctx context.Context, each func(entry int64, value []byte) error) error

// WriteOptions say what is written where.
type WriteOptions struct {
	Bucket     Bucket
	Ledger     Ref
	Source     Source
	BlockBytes int // how many bytes of entries a block takes, unless one entry alone is larger; default 1 MiB
}

// Write makes an object of a ledger, and reads its end back. It holds one block and what the driver buffers. It may be
// repeated: every attempt has its own name, and one that fails leaves nothing, or an orphan when the store could not be
// reached any more. An error of the source wraps what the source returned; one that gives other entries than the ledger
// has is ErrSource.
func Write(ctx context.Context, o WriteOptions) (Object, error) {
	if err := o.Ledger.check(); err != nil {
		return Object{}, err
	}
	if o.BlockBytes <= 0 {
		o.BlockBytes = defaultBlockBytes
	}
	obj := Object{Ref: o.Ledger, Name: o.Ledger.newName()}
	err := o.Bucket.Put(ctx, obj.Name, func(w io.Writer) error {
		ow := objectWriter{w: w, blockBytes: min(o.BlockBytes, maxEntryBytes)}
		if err := o.Source(ctx, ow.add); err != nil {
			return err
		}
		if err := ow.finish(o.Ledger); err != nil {
			return err
		}
		obj.Size = ow.offset
		return nil
	})
	if err == nil {
		err = verify(ctx, o.Bucket, obj)
	}
	if err != nil {
		return Object{}, fmt.Errorf("offload ledger %d: %w", o.Ledger.Ledger, err)
	}
	return obj, nil
}

// cleanupTime is how long an object that cannot be read back may take to be deleted, also when the caller has gone.
const cleanupTime = 10 * time.Second

func verify(ctx context.Context, b Bucket, obj Object) error {
	r, err := Open(ctx, OpenOptions{Bucket: b, Object: obj})
	if err == nil {
		r.Close()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if derr := Delete(ctx, b, obj); derr != nil {
		return fmt.Errorf("%w; it stays as an orphan: %w", err, derr)
	}
	return err
}

// objectWriter streams an object.
type objectWriter struct {
	w          io.Writer
	blockBytes int
	block      []byte // the block that is being filled
	count      int    // entries in it
	next       int64  // entry id
	bytes      int64
	index      []byte
	offset     int64
}

func (w *objectWriter) add(entry int64, value []byte) error {
	if entry != w.next {
		return fmt.Errorf("%w: entry %d comes where %d should", ErrSource, entry, w.next)
	}
	if len(value) > maxEntryBytes {
		return fmt.Errorf("entry %d has %d bytes, the limit is %d", entry, len(value), maxEntryBytes)
	}
	if w.count > 0 && len(w.block)-blockHeaderLen+len(value) > w.blockBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.count == 0 {
		w.block = startBlock(w.block)
	}
	w.block = appendEntry(w.block, value)
	w.count++
	w.next++
	w.bytes += int64(len(value))
	return nil
}

func (w *objectWriter) flush() error {
	first := w.next - int64(w.count)
	if len(w.index) == maxIndexLen {
		return fmt.Errorf("the ledger is too large: its index would pass %d bytes", maxIndexLen)
	}
	w.index = binary.BigEndian.AppendUint64(w.index, uint64(w.offset))
	w.index = binary.BigEndian.AppendUint64(w.index, uint64(first))
	w.block = sealBlock(w.block, first, w.count)
	w.count = 0
	return w.write(w.block)
}

func (w *objectWriter) finish(ref Ref) error {
	if w.next != ref.Entries {
		return fmt.Errorf("%w: it ends after %d of %d entries", ErrSource, w.next, ref.Entries)
	}
	if err := w.flush(); err != nil {
		return err
	}
	f := footer{spool: ref.Spool, ledger: ref.Ledger, entries: w.next, bytes: w.bytes, indexOffset: w.offset,
		blocks: uint32(len(w.index) / indexEntryLen), indexSum: checksum(w.index)}
	return w.write(f.append(w.index))
}

func (w *objectWriter) write(b []byte) error {
	n, err := w.w.Write(b)
	w.offset += int64(n)
	return err
}
