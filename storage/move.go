package storage

import (
	"context"
	"maps"
	"math/bits"
	"slices"

	"spoolctl/wire"
)

// cumulative returns the topic's counts of messages and bytes, ever, up to and including the entry at a position.
type cumulative func(p wire.Position) (Consumed, error)

// known returns the cumulative counts at p when the ledger list alone tells them; else they stand in the entry's header.
func (ls Ledgers) known(p wire.Position) (c Consumed, known bool) {
	i := ls.find(p.Ledger)
	switch {
	case i == len(ls):
		end := ls.End()
		return Consumed{end.Messages, end.Bytes}, true
	case ls[i].ID > p.Ledger || p.Entry < 0:
		return Consumed{ls[i].StartMessages, ls[i].StartBytes}, true
	case p.Entry >= ls[i].Entries-1:
		return Consumed{ls[i].StartMessages + ls[i].Messages, ls[i].StartBytes + ls[i].Bytes}, true
	}
	return Consumed{}, false
}

// cumulativeAt implements cumulative for an open topic. No lock is held while a header is read.
func (t *Topic) cumulativeAt(p wire.Position) (Consumed, error) {
	t.mu.RLock()
	p, lost := t.ledgers.lostUpTo(p)
	c, known := t.ledgers.known(p)
	t.mu.RUnlock()
	if known {
		return c, nil
	}
	return readCumulative(p, lost, t.headerAt)
}

// readCumulative reads the cumulative counts at p from headers. A run of lost entries that ends at p has the counts from
// before the entry that follows.
func readCumulative(p wire.Position, lost bool, header func(wire.Position) (EntryHeader, int, error)) (Consumed, error) {
	if lost {
		p.Entry++
	}
	h, size, err := header(p)
	c := Consumed{h.TotalMessages, h.TotalBytes}
	if lost {
		c.Messages -= int64(h.Messages)
		c.Bytes -= int64(size)
	}
	return c, err
}

// countAcked returns the messages and bytes that ranges and partial batches above p have acknowledged: two headers a range
// at the most.
func countAcked(a AckSet, p wire.Position, at cumulative) (sum Consumed, err error) {
	a.each(func(r Range) bool {
		if !p.Less(r.Upper) {
			return true
		}
		lower := r.Lower
		if lower.Less(p) {
			lower = p
		}
		var lo, hi Consumed
		if lo, err = at(lower); err == nil {
			hi, err = at(r.Upper)
		}
		sum.Messages += hi.Messages - lo.Messages
		sum.Bytes += hi.Bytes - lo.Bytes
		return err == nil
	})
	for id, h := range a.ledgers {
		for e, part := range h.Partials {
			if p.Less(wire.Position{Ledger: id, Entry: int64(e)}) {
				sum.Messages += int64(part.Size - part.Left())
			}
		}
	}
	return sum, err
}

// Recount computes what a cursor has consumed from the entries' headers: what its Consumed must be. It costs at most two
// header reads for each range.
func (c *CursorState) Recount(at func(p wire.Position) (Consumed, error)) (Consumed, error) {
	sum, err := at(c.MarkDelete)
	if err != nil {
		return sum, err
	}
	above, err := countAcked(c.Acks, c.MarkDelete, at)
	return Consumed{sum.Messages + above.Messages, sum.Bytes + above.Bytes}, err
}

// move sets the mark-delete position to target, keeping what is acknowledged above it unless reset. extra, which may be
// nil, changes more in the same step. Headers are read without a lock; the step is tried again when the cursor changed
// meanwhile.
func (c *Cursor) move(target wire.Position, reset bool, done func(error), extra func(ls Ledgers, dirty func(int64))) error {
	for {
		var version uint64
		will := CursorState{MarkDelete: target, Acks: newAckSet()}
		c.mu.Lock()
		version = c.version
		if !reset {
			for id, h := range c.st.Acks.ledgers {
				if id >= target.Ledger {
					will.Acks.ledgers[id] = h
				}
			}
			will.Acks = will.Acks.clone()
		}
		c.mu.Unlock()
		if reset {
			c.t.mu.RLock()
			will.passLost(c.t.ledgers, func(int64) {})
			c.t.mu.RUnlock()
		}
		consumed, err := will.Recount(c.t.cumulativeAt)
		if err != nil {
			return err
		}
		again := false
		report := done
		if done != nil {
			report = func(err error) {
				if !again {
					done(err)
				}
			}
		}
		err = c.change(report, func(ls Ledgers, dirty func(int64)) bool {
			if c.version != version {
				again = true
				return false
			}
			if reset {
				for id := range c.st.Acks.ledgers {
					dirty(id)
				}
				clear(c.st.Acks.ledgers)
			}
			c.st.Consumed = consumed
			c.st.moved(ls, target, dirty)
			if reset {
				c.st.passLost(ls, dirty)
			}
			if extra != nil {
				extra(ls, dirty)
			}
			return true
		})
		if err != nil || !again {
			return err
		}
	}
}

// AckCumulative acknowledges everything up to and including a.Position, or up to the messages that a.Remaining clears in
// that batch. Positions at or before the mark-delete position change nothing; one after the last entry counts as the last.
// properties, when not nil, stay with the mark-delete position. done: see Ack.
func (c *Cursor) AckCumulative(a Ack, properties map[string]int64, done func(error)) error {
	if a.Remaining != nil {
		if err := c.complete(&a); err != nil {
			return err
		}
	}
	c.t.mu.RLock()
	target := a.Position
	if last := c.t.ledgers.LastConfirmed(); last.Less(target) {
		target, a.Remaining = last, nil
	}
	part := a.Remaining != nil && !allClear(a.Remaining)
	if part {
		target = c.t.ledgers.Prev(target)
	} else {
		target = c.t.ledgers.Prev(after(target))
	}
	c.t.mu.RUnlock()
	ackPart := func(ls Ledgers, dirty func(int64)) bool {
		return part && c.st.ackPart(ls, a.Position, a.Remaining, a.Messages, a.Bytes, dirty)
	}
	if !c.MarkDelete().Less(target) {
		return c.change(done, ackPart)
	}
	return c.move(target, false, done, func(ls Ledgers, dirty func(int64)) {
		if properties != nil {
			c.st.Positions = maps.Clone(properties)
		}
		ackPart(ls, dirty)
	})
}

func allClear(words []uint64) bool {
	return !slices.ContainsFunc(words, func(w uint64) bool { return w != 0 })
}

// Seek moves the cursor so that the next entry to be delivered is the first one at or after p, and forgets what was
// acknowledged beyond; durable on return.
func (c *Cursor) Seek(ctx context.Context, p wire.Position) error {
	c.t.mu.RLock()
	target := c.t.ledgers.Prev(p)
	c.t.mu.RUnlock()
	return c.moveWait(ctx, target, true)
}

// Clear acknowledges everything that is stored; durable on return.
func (c *Cursor) Clear(ctx context.Context) error {
	return c.moveWait(ctx, c.t.LastConfirmed(), true)
}

func (c *Cursor) moveWait(ctx context.Context, target wire.Position, reset bool) error {
	result := make(chan error, 1)
	if err := c.move(target, reset, func(err error) { result <- err }, nil); err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Skip acknowledges the next messages, counting only unacknowledged ones, and returns how many there were; durable on
// return. A batch may be skipped in part.
func (c *Cursor) Skip(ctx context.Context, messages int64) (skipped int64, err error) {
	from := c.MarkDelete()
	from.Entry++
	for skipped < messages {
		pending, next, err := c.Pending(ctx, from, 1000, 1<<20, nil)
		if err != nil {
			return skipped, err
		}
		if len(pending) == 0 {
			break
		}
		var acks []Ack
		for _, e := range pending {
			words := e.Remaining
			if words == nil {
				words = fullWords(e.Header.Messages)
			}
			a := Ack{Position: e.Position, Messages: e.Header.Messages, Bytes: int64(len(e.Data))}
			n := int64(0)
			for _, w := range words {
				n += int64(bits.OnesCount64(w))
			}
			if want := messages - skipped; n > want {
				a.Remaining = clearLowest(words, want)
				n = want
			}
			acks = append(acks, a)
			if skipped += n; skipped == messages {
				break
			}
		}
		if err := c.Ack(acks, nil); err != nil {
			return skipped, err
		}
		from = next
	}
	return skipped, c.Flush(ctx)
}

// clearLowest returns words with the n lowest set bits cleared.
func clearLowest(words []uint64, n int64) []uint64 {
	out := slices.Clone(words)
	for i := range out {
		for out[i] != 0 && n > 0 {
			out[i] &= out[i] - 1
			n--
		}
	}
	return out
}
