package storage

import (
	"maps"
	"slices"

	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/RoaringBitmap/roaring/v2"
)

// AckSet holds the acknowledged entries of a cursor above its mark-delete position, by ledger id. Memory and disk are in
// proportion to the number of ranges, not of entries. The zero value is not usable; see newAckSet.
type AckSet struct{ ledgers map[int64]*record.Holes }

func newAckSet() AckSet { return AckSet{ledgers: map[int64]*record.Holes{}} }

// Has reports whether the entry at p is wholly acknowledged.
func (a AckSet) Has(p wire.Position) bool {
	h := a.ledgers[p.Ledger]
	return h != nil && p.Entry >= 0 && h.Acked.Contains(uint32(p.Entry))
}

// Partial returns what is left of the batch at p, or false when nothing of it is acknowledged (or all of it).
func (a AckSet) Partial(p wire.Position) (record.Partial, bool) {
	h := a.ledgers[p.Ledger]
	if h == nil || p.Entry < 0 {
		return record.Partial{}, false
	}
	part, ok := h.Partials[uint32(p.Entry)]
	return part, ok
}

// Entries counts the wholly acknowledged entries.
func (a AckSet) Entries() (n int64) {
	for _, h := range a.ledgers {
		n += int64(h.Acked.GetCardinality())
	}
	return n
}

// Partials counts the partly acknowledged batches.
func (a AckSet) Partials() (n int64) {
	for _, h := range a.ledgers {
		n += int64(len(h.Partials))
	}
	return n
}

// Ledgers returns the ids of the ledgers that have anything acknowledged, rising.
func (a AckSet) Ledgers() []int64 { return slices.Sorted(maps.Keys(a.ledgers)) }

// Holes returns what is acknowledged in one ledger, nil when nothing is. The caller must not change it.
func (a AckSet) Holes(ledger int64) *record.Holes { return a.ledgers[ledger] }

// ledger returns the set of one ledger, making it when needed.
func (a AckSet) ledger(id int64) *record.Holes {
	h := a.ledgers[id]
	if h == nil {
		h = &record.Holes{Acked: roaring.New()}
		a.ledgers[id] = h
	}
	return h
}

// firstAbsent returns the smallest entry id >= from that is not acknowledged in the ledger.
func (a AckSet) firstAbsent(ledger, from int64) int64 {
	h := a.ledgers[ledger]
	if h == nil {
		return from
	}
	if n := h.Acked.NextAbsentValue(uint32(from)); n >= 0 {
		return n
	}
	return 1 << 32
}

// firstPresent returns the smallest entry id >= from that is acknowledged in the ledger, or false.
func (a AckSet) firstPresent(ledger, from int64) (int64, bool) {
	h := a.ledgers[ledger]
	if h == nil {
		return 0, false
	}
	n := h.Acked.NextValue(uint32(from))
	return n, n >= 0
}

// Range is a run of acknowledged entries above the mark-delete position, written (Lower..Upper]: Lower is the position
// before the first of them, in the same ledger.
type Range struct{ Lower, Upper wire.Position }

// Entries counts the entries of the range.
func (r Range) Entries() int64 { return r.Upper.Entry - r.Lower.Entry }

// each calls yield for every range by rising position until it returns false.
func (a AckSet) each(yield func(Range) bool) {
	for _, id := range a.Ledgers() {
		from := int64(0)
		for {
			start, ok := a.firstPresent(id, from)
			if !ok {
				break
			}
			end := a.firstAbsent(id, start)
			if !yield(Range{wire.Position{Ledger: id, Entry: start - 1}, wire.Position{Ledger: id, Entry: end - 1}}) {
				return
			}
			if from = end; from > 1<<32-1 {
				break
			}
		}
	}
}

// Ranges returns at most limit ranges (0 = all) by rising position.
func (a AckSet) Ranges(limit int) (out []Range) {
	a.each(func(r Range) bool {
		out = append(out, r)
		return limit == 0 || len(out) < limit
	})
	return out
}

// Count returns the number of ranges.
func (a AckSet) Count() (n int) {
	a.each(func(Range) bool { n++; return true })
	return n
}

// clone returns a deep copy.
func (a AckSet) clone() AckSet {
	c := newAckSet()
	for id, h := range a.ledgers {
		n := &record.Holes{Acked: h.Acked.Clone()}
		if len(h.Partials) > 0 {
			n.Partials = make(map[uint32]record.Partial, len(h.Partials))
			for e, p := range h.Partials {
				n.Partials[e] = record.Partial{Size: p.Size, Words: slices.Clone(p.Words)}
			}
		}
		c.ledgers[id] = n
	}
	return c
}
