package inspect

import (
	"context"
	"fmt"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// explain says in words why a backlog is there and does not shrink.
func (s *Session) explain(ctx context.Context, t *storage.TopicView, c *storage.CursorState, b Backlog) ([]string, error) {
	if t.Ledgers.End().Entries == t.Ledgers.Start().Entries {
		return []string{"nothing is waiting: the topic has no entries"}, nil
	}
	if b.Messages == 0 && b.Entries == 0 {
		return []string{"nothing is waiting: everything is acknowledged up to " + t.Ledgers.LastConfirmed().String()}, nil
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	next := c.NextUnacked(t.Ledgers, wire.Earliest())
	last := t.Ledgers.LastConfirmed()
	above := c.Acks.Entries()
	switch {
	case above == 0 && b.Partials == 0:
		say("it is behind the tail: everything from %s to the last entry %s waits (%s), nothing behind mark-delete is acknowledged", next, last, plural(b.Entries, "entry", "entries"))
	case b.Holes > 0:
		say("%s not acknowledged, with %s behind: mark-delete stays at %s until %s is acknowledged",
			plural(int64(b.Holes), "stretch is", "stretches are"), plural(above, "acknowledged entry", "acknowledged entries"), c.MarkDelete, next)
		if tail := tailEntries(t, c); tail > 0 {
			say("%s behind the last acknowledged one", plural(tail, "entry waits", "entries wait"))
		}
	}
	if b.Partials > 0 {
		id := c.Acks.Ledgers()
		for _, l := range id {
			parts := c.Acks.Holes(l).Partials
			if len(parts) == 0 {
				continue
			}
			e := sortedKeys(parts)[0]
			p := parts[e]
			say("%s acknowledged in part, the first at %s: %d of its %d messages are left; a batch counts as one entry until all of it is acknowledged",
				plural(b.Partials, "batch is", "batches are"), wire.Position{Ledger: l, Entry: int64(e)}, p.Left(), p.Size)
			break
		}
	}
	if err := s.explainNext(ctx, t, next, say); err != nil {
		return nil, err
	}
	if b.PinnedLedger != nil {
		if b.FreedBytes > 0 {
			say("it keeps ledger %d and later ones on disk: %d bytes could be freed if it were deleted", *b.PinnedLedger, b.FreedBytes)
		} else {
			say("it needs ledger %d and later ones, but deleting it would free nothing: the newest ledger, another subscription or retention keeps them", *b.PinnedLedger)
		}
	}
	if !c.LastActive.IsZero() {
		say("its position was last stored at %s", c.LastActive.UTC().Format(time.RFC3339))
	}
	return out, nil
}

// explainNext looks into the next entry for reasons to hold it back.
func (s *Session) explainNext(ctx context.Context, t *storage.TopicView, next wire.Position, say func(string, ...any)) error {
	e, err := s.readAt(ctx, t, next)
	if err != nil {
		return ctx.Err() // already a problem of the answer
	}
	parts, err := wire.SplitEntry(e.Data)
	if err != nil {
		say("the next entry %s is not a message that a client can read: %v", next, err)
		return nil
	}
	m, err := wire.ParseMetadata(parts.Metadata)
	if err != nil {
		say("the next entry %s is not a message that a client can read: %v", next, err)
		return nil
	}
	if at := fromMillis(m.DeliverAt); m.DeliverAt > 0 && at.After(s.o.Now()) {
		say("the next entry %s is delayed until %s", next, at.Format(time.RFC3339))
	}
	if m.HasTxn {
		say("the next entry %s belongs to transaction %d:%d and waits for its end", next, m.TxnMost, m.TxnLeast)
	}
	if m.Encrypted {
		say("the next entry %s is encrypted: a consumer without the key cannot acknowledge it", next)
	}
	if parts.Verify() != nil {
		say("the next entry %s fails its checksum: clients discard it and ask again", next)
	}
	return nil
}

// tailEntries counts the entries behind the last acknowledged one.
func tailEntries(t *storage.TopicView, c *storage.CursorState) int64 {
	at := c.MarkDelete
	if r := c.Acks.Ranges(0); len(r) > 0 {
		at = r[len(r)-1].Upper
	}
	return t.Ledgers.End().Entries - t.Ledgers.Index(at)
}

// plural is a number with the right form of what is counted.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
