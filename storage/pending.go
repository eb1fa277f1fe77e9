package storage

import (
	"context"
	"sync"

	"spoolctl/wire"
)

// PendingEntry is an entry that a cursor has not wholly acknowledged.
type PendingEntry struct {
	Entry
	Remaining []uint64 // messages of the batch not acknowledged (bit i of word i/64), nil = none of it is acknowledged
}

// pendingSource is a cursor with its topic: an open one, or one read from a stopped spool.
type pendingSource interface {
	// lock gives the states, which stand still until unlock.
	lock() (*CursorState, Ledgers)
	unlock()
	// caughtUp is told when there is nothing more to read.
	caughtUp()
	read(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error)
}

// pendingRun is how many entries are read at a time.
const pendingRun = 1024

// entryBuffers holds memory for runs that are being read, so that a reader of few entries at a time allocates none.
type entryBuffers struct{ free sync.Pool }

func (b *entryBuffers) get() *[]Entry {
	if buf, ok := b.free.Get().(*[]Entry); ok {
		return buf
	}
	return new([]Entry)
}

func (b *entryBuffers) put(buf *[]Entry) {
	clear(*buf)
	*buf = (*buf)[:0]
	b.free.Put(buf)
}

// pending is the one implementation of "which entries come next": the entries from `from` on that are not acknowledged, in
// order, holes honoured. next is where to go on. It appends at most maxEntries to dst, and no more once maxBytes of payload
// are passed, but at least one when there is any.
func pending(ctx context.Context, src pendingSource, buf *[]Entry, from wire.Position, maxEntries, maxBytes int, dst []PendingEntry) (out []PendingEntry, next wire.Position, err error) {
	for maxEntries > 0 && maxBytes > 0 {
		var run int64
		c, ls := src.lock()
		from = c.NextUnacked(ls, from)
		stored := ls.Has(from)
		if stored {
			// Not beyond the ledger: what is acknowledged there is not read, as it may be damaged.
			run = min(c.runLength(from, int64(min(maxEntries, pendingRun))), ls.byID(from.Ledger).Entries-from.Entry)
		}
		src.unlock()
		if !stored {
			src.caughtUp()
			return dst, from, nil
		}
		entries, err := src.read(ctx, from, int(run), maxBytes, (*buf)[:0])
		*buf = entries
		if err != nil {
			return dst, from, err
		}
		if len(entries) == 0 {
			return dst, from, nil
		}
		c, ls = src.lock()
		for i := range entries {
			e := &entries[i]
			from = after(e.Position)
			if c.Acked(e.Position) {
				continue // acknowledged since
			}
			part, _ := c.Acks.Partial(e.Position)
			dst = append(dst, PendingEntry{*e, part.Words})
			maxEntries--
			maxBytes -= len(e.Data)
		}
		from = ls.Normal(from)
		src.unlock()
		clear(entries)
	}
	return dst, from, nil
}

func (c *Cursor) lock() (*CursorState, Ledgers) {
	c.mu.Lock()
	c.t.mu.RLock()
	return &c.st, c.t.ledgers
}

func (c *Cursor) unlock() {
	c.t.mu.RUnlock()
	c.mu.Unlock()
}

func (c *Cursor) caughtUp() { c.t.atTail() }

func (c *Cursor) read(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	return c.t.Read(ctx, from, maxEntries, maxBytes, dst)
}

// Pending returns the entries from `from` on that the cursor has not acknowledged, in order: at most maxEntries, no more
// once maxBytes of payload are passed, but at least one when there is any. Entries that the cursor has in part carry what
// remains. next is the position to go on from.
func (c *Cursor) Pending(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []PendingEntry) (out []PendingEntry, next wire.Position, err error) {
	buf := c.t.s.entries.get()
	defer c.t.s.entries.put(buf)
	return pending(ctx, c, buf, from, maxEntries, maxBytes, dst)
}
