package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// Cursor is a subscription's place in an open topic. A durable cursor is written when it changed: at the latest
// CursorFlushInterval later, at once when the caller waits for it.
type Cursor struct {
	t       *Topic
	durable bool

	mu      sync.Mutex // taken before the topic's lock; never held across I/O
	st      CursorState
	version uint64             // counts changes
	changed bool               // the head is not on its way to disk
	dirty   map[int64]struct{} // ledgers whose set is not on its way to disk
	listed  bool               // the flusher knows of it
	gone    bool               // deleted, or its topic is closed
	stored  wire.Position      // mark-delete position on disk

	mark func(ledger int64) // notes that a ledger's set changed; made once, as every acknowledgement needs it
}

// CursorOptions are for creating a cursor. MarkDelete is the last position that counts as acknowledged: wire.Latest() for
// "only what comes", wire.Earliest() for "all that is stored".
type CursorOptions struct {
	Name       string
	MarkDelete wire.Position
	Durable    bool // else it lives in memory only
	Properties map[string]string
}

func newCursor(t *Topic, st CursorState, durable bool) *Cursor {
	c := &Cursor{t: t, st: st, durable: durable, dirty: map[int64]struct{}{}, stored: st.MarkDelete}
	c.mark = c.markDirty
	return c
}

// CreateCursor makes a cursor; a durable one is on disk on return. It returns ErrCursorExists, ErrBadName, ErrClosed.
func (t *Topic) CreateCursor(ctx context.Context, o CursorOptions) (*Cursor, error) {
	if err := checkName(o.Name); err != nil {
		return nil, fmt.Errorf("%w: cursor %q", err, o.Name)
	}
	if t.Cursor(o.Name) != nil {
		return nil, fmt.Errorf("%w: %s of %s", ErrCursorExists, o.Name, t.full)
	}
	now := t.s.opt.Now()
	c := newCursor(t, CursorState{
		ID: t.s.ids.newCursor(), Name: o.Name, Acks: newAckSet(),
		Properties: maps.Clone(o.Properties), Created: now, LastActive: now,
	}, o.Durable)
	t.mu.RLock()
	c.st.MarkDelete = t.ledgers.Prev(after(o.MarkDelete))
	c.st.passLost(t.ledgers, func(int64) {})
	t.mu.RUnlock()
	consumed, err := c.st.Recount(t.cumulativeAt)
	if err != nil {
		return nil, err
	}
	c.st.Consumed = consumed
	c.stored = c.st.MarkDelete
	// From here on the trimmer sees it, so what it needs stays.
	t.mu.Lock()
	if t.cursors[o.Name] != nil {
		t.mu.Unlock()
		return nil, fmt.Errorf("%w: %s of %s", ErrCursorExists, o.Name, t.full)
	}
	t.cursors[o.Name] = c
	t.mu.Unlock()
	if !o.Durable {
		return c, nil
	}
	rec := c.st.record()
	err = t.s.control(ctx, func(b *batch) error {
		b.usesIDs = true
		return b.Set(key.ForCursor(t.id, c.st.ID), rec.Append(nil), nil)
	})
	if err != nil {
		t.mu.Lock()
		delete(t.cursors, o.Name)
		t.mu.Unlock()
		return nil, fmt.Errorf("create cursor %s of %s: %w", o.Name, t.full, err)
	}
	return c, nil
}

// after returns the position that follows p before it is fitted to the ledger list.
func after(p wire.Position) wire.Position {
	if p.Entry < 1<<62 {
		p.Entry++
	}
	return p
}

func (c *CursorState) record() record.Cursor {
	return record.Cursor{
		Name: c.Name, MarkDelete: c.MarkDelete, ConsumedMessages: c.Consumed.Messages, ConsumedBytes: c.Consumed.Bytes,
		Created: c.Created, LastActive: c.LastActive, Properties: c.Properties, Positions: c.Positions,
	}
}

// Cursor returns the cursor of that name, nil when there is none.
func (t *Topic) Cursor(name string) *Cursor {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.cursors[name]
}

// Cursors returns the topic's cursors by name.
func (t *Topic) Cursors() []*Cursor {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return byName(t.cursors)
}

// byName returns a map's values in the order of their names.
func byName[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// DeleteCursor deletes a cursor; durable on return. It returns ErrCursorNotFound.
func (t *Topic) DeleteCursor(ctx context.Context, name string) error {
	c := t.Cursor(name)
	if c == nil {
		return fmt.Errorf("%w: %s of %s", ErrCursorNotFound, name, t.full)
	}
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	if c.durable {
		err := t.s.control(ctx, func(b *batch) error {
			lower, upper := key.ForHolesOf(t.id, c.st.ID)
			return firstError(b.Delete(key.ForCursor(t.id, c.st.ID), nil), b.DeleteRange(lower, upper, nil))
		})
		if err != nil {
			return fmt.Errorf("delete cursor %s of %s: %w", name, t.full, err)
		}
	}
	t.mu.Lock()
	if t.cursors[name] == c {
		delete(t.cursors, name)
	}
	t.mu.Unlock()
	t.s.flusher.trim(t)
	return nil
}

// Ack is one acknowledgement.
type Ack struct {
	Position  wire.Position
	Remaining []uint64 // batch index: bit i set = message i is not acknowledged; nil = the whole entry
	Messages  int32    // messages of the entry, with Bytes
	Bytes     int64    // payload bytes of the entry, when the caller knows them from its header; 0 = look them up
}

// Ack acknowledges single entries or parts of batches; positions that are not stored are passed over. done, when not nil,
// is called once the change is durable (at once for a cursor in memory); it must not block. It returns ErrClosed.
func (c *Cursor) Ack(acks []Ack, done func(error)) error {
	for i := range acks {
		if err := c.complete(&acks[i]); err != nil {
			return err
		}
	}
	return c.change(done, func(ls Ledgers, dirty func(int64)) (changed bool) {
		for i := range acks {
			a := &acks[i]
			if a.Remaining != nil {
				changed = c.st.ackPart(ls, a.Position, a.Remaining, a.Messages, a.Bytes, dirty) || changed
			} else {
				changed = c.st.ack(ls, a.Position, a.Messages, a.Bytes, dirty) || changed
			}
		}
		return changed
	})
}

// complete fills in the size of the entry that a is about, unless the caller knew it or it does not matter.
func (c *Cursor) complete(a *Ack) error {
	if a.Bytes != 0 || c.Acked(a.Position) {
		return nil
	}
	h, size, err := c.t.headerAt(a.Position)
	if errors.Is(err, ErrEntryNotFound) {
		return nil // it is passed over
	}
	a.Messages, a.Bytes = h.Messages, int64(size)
	return err
}

// change runs f with the cursor's and the topic's state locked and sees to it that the change becomes durable.
func (c *Cursor) change(done func(error), f func(ls Ledgers, dirty func(ledger int64)) bool) error {
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return ErrClosed
	}
	c.t.mu.RLock()
	changed := f(c.t.ledgers, c.mark)
	c.t.mu.RUnlock()
	enlist := false
	if changed {
		c.version++
		c.st.LastActive = c.t.s.opt.Now()
		if c.durable {
			c.changed = true
			enlist = done == nil && !c.listed
			c.listed = c.listed || enlist
		} else {
			c.stored = c.st.MarkDelete
		}
	}
	c.mu.Unlock()
	switch {
	case !c.durable:
		if changed {
			c.t.s.flusher.trim(c.t)
		}
		if done != nil {
			done(nil)
		}
	case done != nil:
		return c.t.s.queue.push(op{kind: opCursor, cursor: c, done: done})
	case enlist:
		c.t.s.flusher.cursor(c)
	}
	return nil
}

func (c *Cursor) markDirty(ledger int64) {
	if c.durable {
		c.dirty[ledger] = struct{}{}
	}
}

// changeWait is change for callers that wait until it is durable.
func (c *Cursor) changeWait(ctx context.Context, f func(ls Ledgers, dirty func(ledger int64)) bool) error {
	result := make(chan error, 1)
	if err := c.change(func(err error) { result <- err }, f); err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Flush makes the cursor durable.
func (c *Cursor) Flush(ctx context.Context) error {
	return c.changeWait(ctx, func(Ledgers, func(int64)) bool { return false })
}

// close makes the cursor durable and refuses later changes.
func (c *Cursor) close(ctx context.Context) error {
	err := c.Flush(ctx)
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// cursorFlush is what a batch writes of a cursor.
type cursorFlush struct {
	cursor  *Cursor
	ledgers []int64
	mark    wire.Position
}

// flushInto adds what changed to b: the head, and the sets of the ledgers that changed, not of the others. It is called by
// the committer only.
func (c *Cursor) flushInto(b *pebble.Batch) (cursorFlush, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || !c.changed {
		return cursorFlush{}, nil
	}
	f := cursorFlush{cursor: c, mark: c.st.MarkDelete}
	rec := c.st.record()
	if err := b.Set(key.ForCursor(c.t.id, c.st.ID), rec.Append(nil), nil); err != nil {
		return f, err
	}
	for id := range c.dirty {
		f.ledgers = append(f.ledgers, id)
		k := key.ForHoles(c.t.id, c.st.ID, id)
		h := c.st.Acks.ledgers[id]
		if h == nil {
			if err := b.Delete(k, nil); err != nil {
				return f, err
			}
			continue
		}
		v, err := h.Append(nil)
		if err != nil {
			return f, err
		}
		if err := b.Set(k, v, nil); err != nil {
			return f, err
		}
	}
	c.changed = false
	clear(c.dirty)
	return f, nil
}

// flushed takes the result of a flush.
func (c *Cursor) flushed(f cursorFlush, err error) {
	c.mu.Lock()
	if err != nil {
		c.changed = true
		for _, id := range f.ledgers {
			c.dirty[id] = struct{}{}
		}
		c.mu.Unlock()
		return
	}
	passed := c.stored.Ledger != f.mark.Ledger
	c.stored = f.mark
	c.mu.Unlock()
	if passed {
		c.t.s.flusher.trim(c.t)
	}
}

// view runs f with the cursor's and the topic's state locked for reading.
func (c *Cursor) view(f func(st *CursorState, ls Ledgers)) {
	st, ls := c.lock()
	defer c.unlock()
	f(st, ls)
}

// Name returns the subscription's name.
func (c *Cursor) Name() string { return c.st.Name }

// Durable reports whether the cursor is kept on disk.
func (c *Cursor) Durable() bool { return c.durable }

// Properties returns a copy of the subscription's properties.
func (c *Cursor) Properties() (p map[string]string) {
	c.view(func(st *CursorState, _ Ledgers) { p = maps.Clone(st.Properties) })
	return p
}

// SetProperties replaces the subscription's properties; durable on return.
func (c *Cursor) SetProperties(ctx context.Context, p map[string]string) error {
	return c.changeWait(ctx, func(Ledgers, func(int64)) bool {
		c.st.Properties = maps.Clone(p)
		return true
	})
}

// State returns a copy of what the cursor knows now.
func (c *Cursor) State() (out CursorState) {
	c.view(func(st *CursorState, _ Ledgers) {
		out = *st
		out.Acks = st.Acks.clone()
		out.Properties, out.Positions = maps.Clone(st.Properties), maps.Clone(st.Positions)
	})
	return out
}

// MarkDelete returns the position up to which everything is acknowledged, as known in memory.
func (c *Cursor) MarkDelete() (p wire.Position) {
	c.view(func(st *CursorState, _ Ledgers) { p = st.MarkDelete })
	return p
}

// DurableMarkDelete returns the mark-delete position that is on disk.
func (c *Cursor) DurableMarkDelete() wire.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored
}

// Acked reports whether the entry at p is wholly acknowledged.
func (c *Cursor) Acked(p wire.Position) (acked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st.Acked(p)
}

// Remaining returns the messages of the batch at p that are not acknowledged (bit i of word i/64), nil when none of it is
// acknowledged, or all. The slice must not be changed.
func (c *Cursor) Remaining(p wire.Position) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	part, _ := c.st.Acks.Partial(p)
	return part.Words
}

// NextUnacked returns the smallest position >= p that is not wholly acknowledged; it may be after the last entry.
func (c *Cursor) NextUnacked(p wire.Position) (next wire.Position) {
	c.view(func(st *CursorState, ls Ledgers) { next = st.NextUnacked(ls, p) })
	return next
}

// Backlog returns what is not acknowledged, exactly and without reading entries.
func (c *Cursor) Backlog() (b Backlog) {
	c.view(func(st *CursorState, ls Ledgers) { b = st.Backlog(ls) })
	return b
}

// Ranges returns at most limit (0 = all) ranges acknowledged above the mark-delete position.
func (c *Cursor) Ranges(limit int) (out []Range) {
	c.view(func(st *CursorState, _ Ledgers) { out = st.Acks.Ranges(limit) })
	return out
}

// RangeCount returns the number of such ranges.
func (c *Cursor) RangeCount() (n int) {
	c.view(func(st *CursorState, _ Ledgers) { n = st.Acks.Count() })
	return n
}

// OldestUnacked returns the header and position of the first stored entry that is not wholly acknowledged; ok is false when
// there is no backlog.
func (c *Cursor) OldestUnacked() (h EntryHeader, p wire.Position, ok bool, err error) {
	c.view(func(st *CursorState, ls Ledgers) {
		p = st.NextUnacked(ls, st.MarkDelete)
		ok = ls.Has(p)
	})
	if ok {
		h, _, err = c.t.headerAt(p)
	}
	return h, p, ok, err
}
