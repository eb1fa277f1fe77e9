package inspect

import (
	"errors"
	"fmt"
	"math/bits"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// eachTopic checks every topic with its ledgers, cursors and entries.
func (v *verifier) eachTopic() error {
	heads, err := v.s.heads(v.ctx)
	if err != nil {
		return err
	}
	names := map[string]uint64{}
	for _, h := range heads {
		if other, twice := names[h.Name]; twice {
			v.find(CheckTopics, h.Name, "", "topics %d and %d have the same name", other, h.ID)
		}
		names[h.Name] = h.ID
		if n, err := wire.ParseTopic(h.Name); err != nil || n.String() != h.Name {
			v.find(CheckTopics, h.Name, "", "topic %d has a name that no client can use", h.ID)
		}
		v.topics[h.ID] = h.Name
	}
	var views []*storage.TopicView
	for _, h := range heads {
		t, err := v.s.spool.Topic(h.ID)
		if err != nil {
			if err = v.s.degrade(v.ctx, err); errors.Is(err, errAgain) || !isDamage(err) {
				return err
			}
			v.find(CheckTopics, h.Name, "", "the topic cannot be loaded: %s", firstLine(err))
			continue
		}
		v.out.Topics++
		v.topicLedgers(t)
		if err := v.topicCursors(t); err != nil {
			return err
		}
		views = append(views, t)
	}
	if v.o.Fast {
		return nil
	}
	if views, err = v.scanEntries(views); err != nil {
		return err
	}
	for _, t := range views {
		if err := v.topicEntries(t); err != nil {
			return err
		}
	}
	return nil
}

// topicLedgers checks what the ledgers' records say about each other.
func (v *verifier) topicLedgers(t *storage.TopicView) {
	at := func(l *storage.Ledger) string { return wire.Position{Ledger: l.ID, Entry: -1}.String() }
	for i, l := range t.Ledgers {
		v.out.Ledgers++
		if l.State == record.LedgerOpen && i < len(t.Ledgers)-1 {
			v.find(CheckLedgers, t.Name, at(l), "ledger %d is open and not the last", l.ID)
		}
		if l.State == record.LedgerClosed && l.Closed.Before(l.Created) {
			v.find(CheckLedgers, t.Name, at(l), "ledger %d was closed before it was created", l.ID)
		}
		if l.LocalDeleted {
			v.out.Offloaded += l.Entries
			continue
		}
		have := int64(0)
		for _, x := range l.Extents {
			if x.First != have {
				v.find(CheckExtents, t.Name, at(l), "ledger %d: an extent starts at entry %d, %d was expected", l.ID, x.First, have)
			}
			have = x.End()
		}
		if have != l.Entries {
			v.find(CheckExtents, t.Name, at(l), "ledger %d has %d entries, its extents cover %d", l.ID, l.Entries, have)
		}
		if i == 0 {
			continue
		}
		p := t.Ledgers[i-1]
		if l.StartEntries != p.StartEntries+p.Entries || l.StartMessages != p.StartMessages+p.Messages || l.StartBytes != p.StartBytes+p.Bytes {
			v.find(CheckLedgers, t.Name, at(l), "ledger %d starts at %d entries, %d messages, %d bytes; the one before it ends at %d, %d, %d", l.ID,
				l.StartEntries, l.StartMessages, l.StartBytes, p.StartEntries+p.Entries, p.StartMessages+p.Messages, p.StartBytes+p.Bytes)
		}
	}
	// Behind a truncation or a trim, the last entry lies before the first ledger that is left.
	if trimmed := t.Last.Ledger < t.Ledgers[0].ID; t.Terminated && !trimmed && t.Last != t.Ledgers.LastConfirmed() {
		v.find(CheckTopics, t.Name, t.Last.String(), "the topic was terminated at %s, its last entry is %s", t.Last, t.Ledgers.LastConfirmed())
	}
}

func (v *verifier) topicCursors(t *storage.TopicView) error {
	names := map[string]bool{}
	for _, c := range t.Cursors {
		v.out.Cursors++
		if names[c.Name] {
			v.find(CheckCursors, t.Name, "", "two cursors are named %s", c.Name)
		}
		names[c.Name] = true
		v.markDelete(t, c)
		v.acked(t, c)
		if err := v.partials(t, c); err != nil {
			return err
		}
		want, err := c.Recount(t.Cumulative)
		switch {
		case v.ctx.Err() != nil:
			return v.ctx.Err()
		case errors.As(err, new(*storage.OffloadedError)): // not looked at, as the ledger's entries
		case err != nil:
			v.find(CheckBacklog, t.Name, c.MarkDelete.String(), "the backlog of %s cannot be counted again: %s", c.Name, firstLine(err))
		case want != c.Consumed:
			v.find(CheckBacklog, t.Name, c.MarkDelete.String(), "%s has consumed %d messages and %d bytes by its counters, %d and %d by the entries",
				c.Name, c.Consumed.Messages, c.Consumed.Bytes, want.Messages, want.Bytes)
		}
		if b := t.Backlog(c); b.Entries != t.Ledgers.End().Entries-t.Ledgers.Index(c.MarkDelete)-c.Acks.Entries() {
			v.find(CheckBacklog, t.Name, c.MarkDelete.String(), "%s has acknowledged more entries than there are", c.Name)
		}
	}
	return nil
}

// markDelete must be one of the entries, or the place before the first of the
// topic or of a ledger. It may be in a ledger that was trimmed since.
func (v *verifier) markDelete(t *storage.TopicView, c *storage.CursorState) {
	p := c.MarkDelete
	switch first := t.Ledgers[0].ID; {
	case p.Ledger < first:
	case t.Ledgers.LastConfirmed().Less(p) && p.Entry >= 0:
		v.find(CheckCursors, t.Name, p.String(), "mark-delete of %s is behind the last entry %s", c.Name, t.Ledgers.LastConfirmed())
	case p.Entry < -1 || (p.Entry >= 0 && !t.Ledgers.Has(p)):
		v.find(CheckCursors, t.Name, p.String(), "mark-delete of %s is not the position of an entry", c.Name)
	}
}

func (v *verifier) acked(t *storage.TopicView, c *storage.CursorState) {
	for _, r := range c.Acks.Ranges(0) {
		first := wire.Position{Ledger: r.Lower.Ledger, Entry: r.Lower.Entry + 1}
		switch {
		case !c.MarkDelete.Less(first):
			v.find(CheckCursors, t.Name, first.String(), "%s has the range (%s..%s], which is not above its mark-delete %s", c.Name, r.Lower, r.Upper, c.MarkDelete)
		case !t.Ledgers.Has(r.Upper):
			v.find(CheckCursors, t.Name, r.Upper.String(), "%s has the range (%s..%s], where there are no entries", c.Name, r.Lower, r.Upper)
		case t.Ledgers.Next(c.MarkDelete) == first:
			v.find(CheckCursors, t.Name, first.String(), "%s has the range (%s..%s], which its mark-delete should have passed", c.Name, r.Lower, r.Upper)
		}
	}
}

func (v *verifier) partials(t *storage.TopicView, c *storage.CursorState) error {
	for _, id := range c.Acks.Ledgers() {
		h := c.Acks.Holes(id)
		for _, e := range sortedKeys(h.Partials) {
			p, at := h.Partials[e], wire.Position{Ledger: id, Entry: int64(e)}
			if bad := partialFault(t, c, h, at, p); bad != "" {
				v.find(CheckCursors, t.Name, at.String(), "%s: %s", c.Name, bad)
				continue
			}
			head, err := v.s.headerAt(v.ctx, t, at)
			if v.ctx.Err() != nil {
				return v.ctx.Err()
			}
			if err == nil && head.Messages != p.Size {
				v.find(CheckCursors, t.Name, at.String(), "%s has a batch-index set for %d messages, the batch has %d", c.Name, p.Size, head.Messages)
			}
		}
	}
	return nil
}

func partialFault(t *storage.TopicView, c *storage.CursorState, h *record.Holes, at wire.Position, p record.Partial) string {
	switch {
	case !c.MarkDelete.Less(at):
		return "a batch-index set is not above mark-delete"
	case !t.Ledgers.Has(at):
		return "a batch-index set is where there is no entry"
	case h.Acked.Contains(uint32(at.Entry)):
		return "a batch is acknowledged in full and in part"
	case p.Left() == 0 || p.Left() >= p.Size:
		return fmt.Sprintf("a batch-index set leaves %d of %d messages", p.Left(), p.Size)
	case len(p.Words) > 0 && 64*(len(p.Words)-1)+bits.Len64(p.Words[len(p.Words)-1]) > int(p.Size):
		return fmt.Sprintf("a batch-index set is wider than its batch of %d messages", p.Size)
	}
	return ""
}
