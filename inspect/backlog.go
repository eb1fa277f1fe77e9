package inspect

import (
	"context"
	"slices"
	"time"

	"spoolctl/storage"
)

// Backlog is one line of `inspect backlog`.
type Backlog struct {
	Topic        string    `json:"topic" col:"TOPIC"`
	Subscription string    `json:"subscription" col:"SUBSCRIPTION,name"`
	Entries      int64     `json:"entries" col:"ENTRIES" fmt:"count"`
	Messages     int64     `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes        int64     `json:"bytes" col:"BYTES" fmt:"bytes"`
	Holes        int       `json:"holes" col:"HOLES" fmt:"count"`            // stretches with acknowledged entries behind them
	Partials     int64     `json:"partialBatches" col:"PARTIAL" fmt:"count"` // batches acknowledged in part
	Oldest       time.Time `json:"oldest" col:"OLDEST" fmt:"age"`            // publish time of the oldest message that waits
	MarkDelete   string    `json:"markDelete" col:"MARK_DELETE,wide"`
	PinnedLedger *int64    `json:"pinnedLedger" col:"PINS"`                     // the oldest ledger that this subscription still needs
	FreedBytes   int64     `json:"bytesFreedIfDeleted" col:"FREES" fmt:"bytes"` // ledgers that could go if it were deleted
	Explanation  []string  `json:"explanation" col:"EXPLANATION,wide"`          // with Explain: why it does not shrink, a sentence each
}

// BacklogOptions are for Session.Backlog.
type BacklogOptions struct {
	Selector
	Subscription string // only this one
	Explain      bool
}

// BacklogList is the answer of Session.Backlog.
type BacklogList struct {
	Backlogs []Backlog
	Totals   CursorTotals
}

// Backlog lists what the subscriptions of the chosen topics have not
// acknowledged, exactly and without reading payloads.
func (s *Session) Backlog(ctx context.Context, o BacklogOptions) (BacklogList, error) {
	return again(s, func() (out BacklogList, err error) {
		var names []string
		err = s.eachBrief(ctx, o.Selector, func(t *storage.TopicView) error {
			oldest := s.oldestOf(ctx, t)
			for _, c := range t.Cursors {
				if names = append(names, c.Name); o.Subscription != "" && c.Name != o.Subscription {
					continue
				}
				row, err := s.backlogRow(ctx, t, c, oldest, o.Explain)
				if err != nil {
					return err
				}
				out.Backlogs = append(out.Backlogs, row)
				out.Totals.add(t.Backlog(c))
			}
			return nil
		})
		if err == nil && o.Subscription != "" && len(out.Backlogs) == 0 {
			slices.Sort(names)
			names = slices.Compact(names)
			err = &NotFoundError{What: "subscription", Name: o.Subscription, Known: names[:min(5, len(names))]}
		}
		return out, err
	})
}

func (s *Session) backlogRow(ctx context.Context, t *storage.TopicView, c *storage.CursorState,
	oldest func(*storage.CursorState) (time.Time, error), explain bool) (Backlog, error) {
	b := t.Backlog(c)
	at, err := oldest(c)
	if err != nil {
		return Backlog{}, err
	}
	row := Backlog{
		Topic: t.Name, Subscription: c.Name, Entries: b.Entries, Messages: b.Messages, Bytes: b.Bytes,
		Holes: holes(t, c), Partials: c.Acks.Partials(), Oldest: at, MarkDelete: c.MarkDelete.String(),
	}
	if next := c.NextUnacked(t.Ledgers, c.MarkDelete); t.Ledgers.Has(next) {
		row.PinnedLedger = &next.Ledger
	}
	row.FreedBytes = s.freed(t, c)
	if explain {
		row.Explanation, err = s.explain(ctx, t, c, row)
	}
	return row, err
}

// holes counts the stretches, each inside one ledger, of unacknowledged
// entries that have acknowledged ones behind them.
func holes(t *storage.TopicView, c *storage.CursorState) (n int) {
	acked := c.Acks.Ranges(0)
	if len(acked) == 0 {
		return 0
	}
	cutEntries(t, c, acked, func(kind string, _, _, _ int64) {
		if kind == RangeHole {
			n++
		}
	})
	return n
}

// freed is how many payload bytes could be trimmed beyond what can be now, if
// c did not exist.
func (s *Session) freed(t *storage.TopicView, c *storage.CursorState) int64 {
	policy, now := s.retention(t), s.o.Now()
	without := *t
	without.Cursors = slices.DeleteFunc(slices.Clone(t.Cursors), func(o *storage.CursorState) bool { return o == c })
	had := t.Trimmable(policy, now)
	n := int64(0)
	for i, tr := range without.Trimmable(policy, now) {
		if tr.OK && !had[i].OK {
			n += t.Ledgers[i].Bytes
		}
	}
	return n
}
