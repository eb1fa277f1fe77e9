package storage

import (
	"context"

	"spoolctl/wire"
)

// PendingEntry is an entry that a cursor has not wholly acknowledged.
type PendingEntry struct {
	Entry
	Remaining []uint64 // messages of the batch not acknowledged (bit i of word i/64), nil = none of it is acknowledged
}

// pendingSource is a cursor with its topic: an open one, or one read from a stopped spool.
type pendingSource interface {
	view(func(c *CursorState, ls Ledgers))
	read(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error)
}

// pending is the one implementation of "which entries come next": the entries from `from` on that are not acknowledged, in
// order, holes honoured. next is where to go on. It appends at most maxEntries to dst, and no more once maxBytes of payload
// are passed, but at least one when there is any.
func pending(ctx context.Context, src pendingSource, from wire.Position, maxEntries, maxBytes int, dst []PendingEntry) (out []PendingEntry, next wire.Position, err error) {
	var buf [64]Entry
	for maxEntries > 0 && maxBytes > 0 {
		var run int64
		var stored bool
		src.view(func(c *CursorState, ls Ledgers) {
			from = c.NextUnacked(ls, from)
			if stored = ls.Has(from); stored {
				run = c.runLength(from, int64(min(maxEntries, len(buf))))
			}
		})
		if !stored {
			return dst, from, nil
		}
		entries, err := src.read(ctx, from, int(run), maxBytes, buf[:0])
		if err != nil {
			return dst, from, err
		}
		if len(entries) == 0 {
			return dst, from, nil
		}
		src.view(func(c *CursorState, ls Ledgers) {
			for _, e := range entries {
				from = after(e.Position)
				if c.Acked(e.Position) {
					continue // acknowledged since, or a hole in another ledger of the run
				}
				part, _ := c.Acks.Partial(e.Position)
				dst = append(dst, PendingEntry{e, part.Words})
				maxEntries--
				maxBytes -= len(e.Data)
			}
			from = ls.Normal(from)
		})
		clear(buf[:len(entries)])
	}
	return dst, from, nil
}

func (c *Cursor) read(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	return c.t.Read(ctx, from, maxEntries, maxBytes, dst)
}

// Pending returns the entries from `from` on that the cursor has not acknowledged, in order: at most maxEntries, no more
// once maxBytes of payload are passed, but at least one when there is any. Entries that the cursor has in part carry what
// remains. next is the position to go on from.
func (c *Cursor) Pending(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []PendingEntry) (out []PendingEntry, next wire.Position, err error) {
	return pending(ctx, c, from, maxEntries, maxBytes, dst)
}
