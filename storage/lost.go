package storage

import "errors"

// Lost entries: what a salvage or an import found missing is noted in the ledger's record. It was stored once, so positions
// and counts keep it, but nobody can deliver it: readers step over it, and every cursor has it acknowledged.

// passLost counts the lost entries as acknowledged. It reports whether there are any above the mark-delete position;
// Consumed must be counted again then.
func (c *CursorState) passLost(ls Ledgers, dirty func(ledger int64)) (found bool) {
	for _, l := range ls {
		for _, r := range l.Lost {
			first := r.First
			if l.ID == c.MarkDelete.Ledger {
				first = max(first, c.MarkDelete.Entry+1)
			}
			if l.ID < c.MarkDelete.Ledger || first > r.Last {
				continue
			}
			h := c.Acks.ledger(l.ID)
			h.Acked.AddRange(uint64(first), uint64(r.Last)+1)
			for e := range h.Partials {
				if first <= int64(e) && int64(e) <= r.Last {
					delete(h.Partials, e)
				}
			}
			dirty(l.ID)
			found = true
		}
	}
	if found {
		c.moved(ls, c.MarkDelete, dirty)
	}
	return found
}

// passLost makes the loaded cursors pass what is lost. Nothing of it is stored: it is found again with the next load.
func (t *TopicState) passLost(at cumulative) error {
	if !t.Ledgers.anyLost() {
		return nil
	}
	for _, c := range t.Cursors {
		if !c.passLost(t.Ledgers, func(int64) {}) {
			continue
		}
		consumed, err := c.Recount(at)
		switch {
		case err == nil:
			c.Consumed = consumed
		case !errors.As(err, new(*CorruptError)) && !errors.As(err, new(*OffloadedError)): // else what was counted last stays
			return err
		}
	}
	return nil
}
