package inspect

import (
	"context"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// Bounds limit which entries of a topic are looked at. The zero value means
// all.
type Bounds struct {
	From, To     *wire.Position // both included; To may be wire.Latest()
	Since, Until time.Time      // publish time, Since included, Until not
}

// all reports whether nothing is left out by publish time.
func (b Bounds) anyTime() bool { return b.Since.IsZero() && b.Until.IsZero() }

func (b Bounds) inTime(ms int64) bool {
	return (b.Since.IsZero() || ms >= b.Since.UnixMilli()) && (b.Until.IsZero() || ms < b.Until.UnixMilli())
}

// span is the stretch of positions [from, to) that the bounds leave. Blocks of
// entries that are too old are not read.
func (b Bounds) span(ctx context.Context, t *storage.TopicView) (from, to wire.Position) {
	from, to = t.Ledgers.First(), t.Ledgers.Next(t.Ledgers.LastConfirmed())
	if b.From != nil {
		from = t.Ledgers.Normal(*b.From)
	}
	if b.To != nil && b.To.Less(to) {
		to = t.Ledgers.Next(*b.To)
	}
	if !b.Since.IsZero() {
		// Damage here only costs time: the walk finds and notes it.
		if at, err := t.SeekTime(ctx, b.Since.UnixMilli()); err == nil && from.Less(at) {
			from = at
		}
	}
	return from, to
}

// count is how many entries the positions alone leave.
func (b Bounds) count(t *storage.TopicView, from, to wire.Position) int64 {
	if !from.Less(to) {
		return 0
	}
	return t.Ledgers.Index(t.Ledgers.Prev(to)) - t.Ledgers.Index(t.Ledgers.Prev(from))
}
