package inspect

import (
	"time"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// Bounds limit which entries of a topic are looked at. The zero value means
// all.
type Bounds struct {
	From, To     *wire.Position // both included; To may be wire.Latest()
	Since, Until time.Time      // publish time, Since included, Until not
}

// anyTime reports whether nothing is left out by publish time.
func (b Bounds) anyTime() bool { return b.Since.IsZero() && b.Until.IsZero() }

func (b Bounds) inTime(ms int64) bool {
	return (b.Since.IsZero() || ms >= b.Since.UnixMilli()) && (b.Until.IsZero() || ms < b.Until.UnixMilli())
}

// span is the stretch of positions [From, To) that the bounds leave.
func (b Bounds) span(t *storage.TopicView) span {
	sp := span{t.Ledgers.First(), t.Ledgers.Next(t.Ledgers.LastConfirmed())}
	if b.From != nil {
		sp.from = t.Ledgers.Normal(*b.From)
	}
	if b.To != nil && b.To.Less(sp.to) {
		sp.to = t.Ledgers.Next(*b.To)
	}
	return sp
}

// span is a stretch of positions; to is not included.
type span struct{ from, to wire.Position }

// spans are the stretches that may hold entries of the publish times asked
// for. Runs of entries of which all are older or newer are not read.
func (b Bounds) spans(t *storage.TopicView) (out []span) {
	all := b.span(t)
	if b.anyTime() {
		return []span{all}
	}
	for _, l := range t.Ledgers {
		for _, x := range runsOf(l) {
			if !b.mayHold(x.FirstPublish, x.LastPublish) {
				continue
			}
			sp := span{
				t.Ledgers.Normal(wire.Position{Ledger: l.ID, Entry: x.First}),
				t.Ledgers.Normal(wire.Position{Ledger: l.ID, Entry: min(x.End(), l.Entries)}),
			}
			if sp.from.Less(all.from) {
				sp.from = all.from
			}
			if all.to.Less(sp.to) {
				sp.to = all.to
			}
			switch n := len(out); {
			case !sp.from.Less(sp.to):
			case n > 0 && out[n-1].to == sp.from:
				out[n-1].to = sp.to
			default:
				out = append(out, sp)
			}
		}
	}
	return out
}

// runsOf are the ledger's extents; where its entries are in an object, all of
// them are one.
func runsOf(l *storage.Ledger) []record.Extent {
	if l.LocalDeleted {
		return []record.Extent{{Count: l.Entries, FirstPublish: l.FirstPublish, LastPublish: l.LastPublish}}
	}
	return l.Extents
}

// mayHold reports whether a run of entries published from first to last (ms;
// last 0 is not known) may hold one that is asked for.
func (b Bounds) mayHold(first, last int64) bool {
	if last == 0 {
		return true
	}
	return (b.Since.IsZero() || last >= b.Since.UnixMilli()) && (b.Until.IsZero() || first < b.Until.UnixMilli())
}

// count is how many entries lie in a span.
func (sp span) count(t *storage.TopicView) int64 {
	if !sp.from.Less(sp.to) {
		return 0
	}
	return t.Ledgers.Index(t.Ledgers.Prev(sp.to)) - t.Ledgers.Index(t.Ledgers.Prev(sp.from))
}
