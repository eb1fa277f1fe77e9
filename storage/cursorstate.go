package storage

import (
	"slices"
	"time"

	"spoolctl/storage/record"
	"spoolctl/wire"
)

// CursorState is what a cursor knows: the same in the running broker's memory and when read from a stopped spool. Its
// methods are pure; the ledger list they take must be the topic's own.
//
// Consumed is the key to exact backlogs without reading entries: entry headers count the topic's messages and bytes
// cumulatively, and the cursor counts what it has consumed on the same scale, so backlog = topic's total - consumed.
type CursorState struct {
	ID         uint64
	Name       string
	MarkDelete wire.Position
	Acks       AckSet
	Consumed   Consumed
	Properties map[string]string
	Positions  map[string]int64 // properties left with the mark-delete position
	Created    time.Time
	LastActive time.Time
}

// Consumed counts messages and payload bytes, on the scale of the topic's cumulative totals.
type Consumed struct{ Messages, Bytes int64 }

// Backlog is what a cursor has not acknowledged yet.
type Backlog struct {
	Entries  int64 `json:"entries"`
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
}

// Backlog returns the backlog exactly, without reading any entry.
func (c *CursorState) Backlog(ls Ledgers) Backlog {
	end := ls.End()
	return Backlog{
		Entries:  max(0, end.Entries-ls.Index(c.MarkDelete)-c.Acks.Entries()),
		Messages: max(0, end.Messages-c.Consumed.Messages),
		Bytes:    max(0, end.Bytes-c.Consumed.Bytes),
	}
}

// Acked reports whether the entry at p is wholly acknowledged.
func (c *CursorState) Acked(p wire.Position) bool {
	return !c.MarkDelete.Less(p) || c.Acks.Has(p)
}

// NextUnacked returns the smallest normal position >= p that is not wholly acknowledged; it may be after the last entry.
func (c *CursorState) NextUnacked(ls Ledgers, p wire.Position) wire.Position {
	if !c.MarkDelete.Less(p) {
		p = wire.Position{Ledger: c.MarkDelete.Ledger, Entry: c.MarkDelete.Entry + 1}
	}
	for {
		p = ls.Normal(p)
		next := c.Acks.firstAbsent(p.Ledger, p.Entry)
		if next == p.Entry {
			return p
		}
		p.Entry = next
	}
}

// runLength counts the unacknowledged entries in a row from p on, p being unacknowledged, at most limit and at most to
// the ledger's end.
func (c *CursorState) runLength(p wire.Position, limit int64) int64 {
	if next, ok := c.Acks.firstPresent(p.Ledger, p.Entry); ok {
		return min(limit, next-p.Entry)
	}
	return limit
}

// ack acknowledges the whole entry at p, which holds messages and bytes, and moves the mark-delete position as far as it
// can go. It reports the ledgers whose set changed through dirty, and whether anything changed.
func (c *CursorState) ack(ls Ledgers, p wire.Position, messages int32, bytes int64, dirty func(ledger int64)) bool {
	if c.Acked(p) || !ls.Has(p) {
		return false
	}
	left := int64(messages)
	if part, ok := c.Acks.Partial(p); ok {
		left = int64(part.Left())
		delete(c.Acks.ledgers[p.Ledger].Partials, uint32(p.Entry))
		dirty(p.Ledger)
	}
	c.Consumed.Messages += left
	c.Consumed.Bytes += bytes
	if ls.Next(c.MarkDelete) == p { // the usual case, in order: no bitmap is touched
		c.moved(ls, p, dirty)
		return true
	}
	c.Acks.ledger(p.Ledger).Acked.Add(uint32(p.Entry))
	dirty(p.Ledger)
	return true
}

// ackPart acknowledges the messages of a batch whose bit in remaining is clear. size is the batch's message count.
func (c *CursorState) ackPart(ls Ledgers, p wire.Position, remaining []uint64, size int32, bytes int64, dirty func(ledger int64)) bool {
	if c.Acked(p) || !ls.Has(p) || size <= 0 {
		return false
	}
	h := c.Acks.ledger(p.Ledger)
	part, ok := h.Partials[uint32(p.Entry)]
	if !ok {
		part = record.Partial{Size: size, Words: fullWords(size)}
	}
	before := part.Left()
	words := slices.Clone(part.Words)
	for i := range words {
		if i < len(remaining) {
			words[i] &= remaining[i]
		} else {
			words[i] = 0
		}
	}
	part.Words = words
	switch left := part.Left(); {
	case left == before:
		if len(h.Partials) == 0 && h.Acked.IsEmpty() {
			delete(c.Acks.ledgers, p.Ledger)
		}
		return false
	case left == 0:
		return c.ack(ls, p, before, bytes, dirty)
	default:
		if h.Partials == nil {
			h.Partials = map[uint32]record.Partial{}
		}
		h.Partials[uint32(p.Entry)] = part
		c.Consumed.Messages += int64(before - left)
		dirty(p.Ledger)
		return true
	}
}

// moved sets the mark-delete position to p, moves it on over acknowledged ranges that touch it, a range in one step, and
// forgets what it passed.
func (c *CursorState) moved(ls Ledgers, p wire.Position, dirty func(ledger int64)) {
	old := c.MarkDelete
	c.MarkDelete = p
	for len(c.Acks.ledgers) > 0 {
		next := ls.Next(c.MarkDelete)
		end := c.Acks.firstAbsent(next.Ledger, next.Entry)
		if end == next.Entry {
			break
		}
		c.MarkDelete = wire.Position{Ledger: next.Ledger, Entry: end - 1}
	}
	for id, h := range c.Acks.ledgers {
		switch {
		case id < c.MarkDelete.Ledger:
			delete(c.Acks.ledgers, id)
			dirty(id)
		case id == c.MarkDelete.Ledger:
			if dropUpTo(h, old, c.MarkDelete) {
				dirty(id)
			}
			if h.Acked.IsEmpty() && len(h.Partials) == 0 {
				delete(c.Acks.ledgers, id)
			}
		}
	}
}

// dropUpTo forgets the entries of h up to and including p, given that nothing up to old is left. It reports whether
// anything was there.
func dropUpTo(h *record.Holes, old, p wire.Position) (changed bool) {
	if first := h.Acked.NextValue(0); first >= 0 && first <= p.Entry {
		h.Acked.RemoveRange(0, uint64(p.Entry)+1)
		changed = true
	}
	from := int64(0)
	if old.Ledger == p.Ledger {
		from = old.Entry + 1
	}
	if p.Entry-from < int64(len(h.Partials)) {
		for e := from; e <= p.Entry; e++ {
			if _, ok := h.Partials[uint32(e)]; ok {
				delete(h.Partials, uint32(e))
				changed = true
			}
		}
		return changed
	}
	for e := range h.Partials {
		if int64(e) <= p.Entry {
			delete(h.Partials, e)
			changed = true
		}
	}
	return changed
}

// fullWords returns a batch-index set with all size bits set.
func fullWords(size int32) []uint64 {
	w := make([]uint64, (size+63)/64)
	for i := range w {
		w[i] = ^uint64(0)
	}
	if r := size % 64; r != 0 {
		w[len(w)-1] = 1<<r - 1
	}
	return w
}
