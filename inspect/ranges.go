package inspect

import (
	"context"
	"errors"
	"iter"
	"math/bits"
	"slices"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// The kinds of a Range.
const (
	RangeAcked   = "acked"   // acknowledged above mark-delete
	RangeHole    = "hole"    // not acknowledged, with acknowledged entries behind it
	RangeTail    = "tail"    // not acknowledged, nothing acknowledged behind it
	RangePartial = "partial" // one batch of which a part is acknowledged
)

// Range is one line of `inspect ranges`: (Lower..Upper] of one ledger.
type Range struct {
	Kind      string    `json:"kind" col:"KIND"`
	Lower     string    `json:"lower" col:"LOWER"` // the position before the first entry
	Upper     string    `json:"upper" col:"UPPER"` // the last entry
	Entries   int64     `json:"entries" col:"ENTRIES" fmt:"count"`
	Unacked   []int32   `json:"unackedIndexes" col:"UNACKED_INDEXES"` // of a partial batch
	BatchSize *int32    `json:"batchSize" col:"BATCH"`                // of a partial batch
	Published time.Time `json:"published" col:"AGE" fmt:"age"`        // of the first entry, for what is not acknowledged

	first wire.Position
}

// LedgerMap is what the one-line map of a ledger is drawn from.
type LedgerMap struct {
	Ledger   int64
	Entries  int64
	Partials []int64    // entries of which a part is acknowledged, rising
	Runs     [][2]int64 // acknowledged entries, first and last of each run
}

// Ranges is the answer of Session.Ranges.
type Ranges struct {
	Topic        string `json:"topic" col:"TOPIC"`
	Subscription string `json:"subscription" col:"SUBSCRIPTION"`
	MarkDelete   string `json:"markDelete" col:"MARK_DELETE"`
	Ranges       int    `json:"ranges" col:"RANGES" fmt:"count"`
	Holes        int    `json:"holes" col:"HOLES" fmt:"count"`
	HoleEntries  int64  `json:"holeEntries" col:"HOLE_ENTRIES" fmt:"count"`
	TailEntries  int64  `json:"tailEntries" col:"TAIL_ENTRIES" fmt:"count"`
	Partials     int64  `json:"partialBatches" col:"PARTIAL" fmt:"count"`

	Ledgers []LedgerMap             `json:"-"` // those that are not wholly acknowledged, for drawing
	Rows    iter.Seq2[Range, error] `json:"-"` // in the order asked for
	Total   int                     `json:"-"` // number of rows
}

// RangesOptions are for Session.Ranges.
type RangesOptions struct {
	Topic, Subscription string
	// By lists only what is not acknowledged: "size" the largest first, "age"
	// the oldest first. Empty lists everything by position.
	By string
}

// Ranges shows what a subscription has acknowledged above its mark-delete
// position and what is missing between.
func (s *Session) Ranges(ctx context.Context, o RangesOptions) (*Ranges, error) {
	return again(s, func() (*Ranges, error) {
		t, err := s.oneTopic(ctx, o.Topic)
		if err != nil {
			return nil, err
		}
		c, err := cursorOf(t, o.Subscription)
		if err != nil {
			return nil, err
		}
		out := &Ranges{Topic: t.Name, Subscription: c.Name, MarkDelete: c.MarkDelete.String(), Partials: c.Acks.Partials()}
		rows := rangeRows(t, c)
		for _, r := range rows {
			switch r.Kind {
			case RangeAcked:
				out.Ranges++
			case RangeHole:
				out.Holes++
				out.HoleEntries += r.Entries
			case RangeTail:
				out.TailEntries += r.Entries
			}
		}
		if o.By != "" {
			rows = slices.DeleteFunc(rows, func(r Range) bool { return r.Kind == RangeAcked })
		}
		if o.By == "size" {
			slices.SortStableFunc(rows, func(a, b Range) int { return int(b.Entries - a.Entries) })
		}
		out.Ledgers, out.Total = ledgerMaps(t, c), len(rows)
		out.Rows = s.datedRows(ctx, t, rows)
		return out, nil
	})
}

// cutEntries cuts the stored entries behind mark-delete into stretches inside
// one ledger, by position, and calls each with their first and last entry.
func cutEntries(t *storage.TopicView, c *storage.CursorState, acked []storage.Range, each func(kind string, ledger, first, last int64)) {
	var lastAcked wire.Position
	if n := len(acked); n > 0 {
		lastAcked = acked[n-1].Upper
	}
	unacked := func(ledger, first, last int64) {
		switch {
		case first > last:
		case (wire.Position{Ledger: ledger, Entry: last}).Less(lastAcked):
			each(RangeHole, ledger, first, last)
		default:
			each(RangeTail, ledger, first, last)
		}
	}
	for _, l := range t.Ledgers {
		if l.ID < c.MarkDelete.Ledger || l.Entries == 0 {
			continue
		}
		at := int64(0)
		if l.ID == c.MarkDelete.Ledger {
			at = c.MarkDelete.Entry + 1
		}
		for len(acked) > 0 && acked[0].Upper.Ledger < l.ID {
			acked = acked[1:]
		}
		for ; len(acked) > 0 && acked[0].Upper.Ledger == l.ID; acked = acked[1:] {
			first := acked[0].Lower.Entry + 1
			unacked(l.ID, at, first-1)
			each(RangeAcked, l.ID, first, acked[0].Upper.Entry)
			at = acked[0].Upper.Entry + 1
		}
		unacked(l.ID, at, l.Entries-1)
	}
}

// rangeRows lists all stretches and the partly acknowledged batches.
func rangeRows(t *storage.TopicView, c *storage.CursorState) (rows []Range) {
	cutEntries(t, c, c.Acks.Ranges(0), func(kind string, ledger, first, last int64) {
		rows = append(rows, Range{Kind: kind, Entries: last - first + 1,
			Lower: wire.Position{Ledger: ledger, Entry: first - 1}.String(), Upper: wire.Position{Ledger: ledger, Entry: last}.String(),
			first: wire.Position{Ledger: ledger, Entry: first}})
	})
	return withPartials(rows, c)
}

// withPartials adds a row for each partly acknowledged batch, behind the row
// that it is a part of.
func withPartials(rows []Range, c *storage.CursorState) []Range {
	var parts []Range
	for _, id := range c.Acks.Ledgers() {
		h := c.Acks.Holes(id)
		for _, e := range sortedKeys(h.Partials) {
			p := h.Partials[e]
			at := wire.Position{Ledger: id, Entry: int64(e)}
			parts = append(parts, Range{Kind: RangePartial, Entries: 1, Unacked: indexes(p), BatchSize: &p.Size,
				Lower: wire.Position{Ledger: id, Entry: int64(e) - 1}.String(), Upper: at.String(), first: at})
		}
	}
	if len(parts) == 0 {
		return rows
	}
	rows = append(rows, parts...)
	slices.SortStableFunc(rows, func(a, b Range) int { return a.first.Compare(b.first) })
	return rows
}

// indexes lists the messages of a batch that are not acknowledged.
func indexes(p record.Partial) (out []int32) {
	for i, w := range p.Words {
		for ; w != 0; w &= w - 1 {
			out = append(out, int32(64*i+bits.TrailingZeros64(w)))
		}
	}
	return out
}

func ledgerMaps(t *storage.TopicView, c *storage.CursorState) (out []LedgerMap) {
	ranges := c.Acks.Ranges(0)
	for _, l := range t.Ledgers {
		if l.Entries == 0 || !c.MarkDelete.Less(wire.Position{Ledger: l.ID, Entry: l.Entries - 1}) {
			continue
		}
		m := LedgerMap{Ledger: l.ID, Entries: l.Entries}
		if l.ID == c.MarkDelete.Ledger && c.MarkDelete.Entry >= 0 {
			m.Runs = append(m.Runs, [2]int64{0, c.MarkDelete.Entry})
		}
		for ; len(ranges) > 0 && ranges[0].Upper.Ledger <= l.ID; ranges = ranges[1:] {
			if r := ranges[0]; r.Upper.Ledger == l.ID {
				m.Runs = append(m.Runs, [2]int64{r.Lower.Entry + 1, r.Upper.Entry})
			}
		}
		if h := c.Acks.Holes(l.ID); h != nil {
			for _, e := range sortedKeys(h.Partials) {
				m.Partials = append(m.Partials, int64(e))
			}
		}
		out = append(out, m)
	}
	return out
}

// datedRows adds publish times as rows are asked for: each costs a read.
func (s *Session) datedRows(ctx context.Context, t *storage.TopicView, rows []Range) iter.Seq2[Range, error] {
	return func(yield func(Range, error) bool) {
		for _, r := range rows {
			if r.Kind != RangeAcked {
				h, err := s.headerAt(ctx, t, r.first)
				switch {
				case err == nil:
					r.Published = fromMillis(h.PublishTime)
				case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
					yield(r, err)
					return
				default:
					s.skip(t, r.first, err)
				}
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}
