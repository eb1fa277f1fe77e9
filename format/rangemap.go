package format

import (
	"slices"
	"strings"
)

// The cells of a RangeMap.
const (
	cellAcked   = '█'
	cellUnacked = '░'
	cellPartial = '▒'
	cellMixed   = '▓'
)

// Interval is a stretch of entries, both ends included.
type Interval struct{ First, Last int64 }

// RangeMap draws the entries of one ledger in one line of at most width cells:
// █ all acknowledged, ░ none, ▒ part of a batch is acknowledged, ▓ a cell that
// stands for several entries, some acknowledged and some not. A hole never
// vanishes by scaling: a cell is █ only if every entry in it is acknowledged.
// acked must be sorted and disjoint; partial lists entries (sorted) of which
// some batch indexes are acknowledged. An empty ledger gives "".
func RangeMap(ledger Interval, acked []Interval, partial []int64, width int) string {
	if ledger.Last < ledger.First || width <= 0 {
		return ""
	}
	count := uint64(ledger.Last-ledger.First) + 1
	cells := min(uint64(width), count)
	var b strings.Builder
	for c := range cells {
		lo := ledger.First + int64(scale(c, count, cells))
		hi := ledger.First + int64(scale(c+1, count, cells)) - 1
		b.WriteRune(cellOf(lo, hi, acked, partial))
	}
	return b.String()
}

// scale is c*count/cells without overflow.
func scale(c, count, cells uint64) uint64 {
	return c*(count/cells) + c*(count%cells)/cells
}

func cellOf(lo, hi int64, acked []Interval, partial []int64) rune {
	var covered uint64
	i, _ := slices.BinarySearchFunc(acked, lo, func(r Interval, at int64) int {
		if r.Last < at {
			return -1
		}
		return 1
	})
	for ; i < len(acked) && acked[i].First <= hi; i++ {
		covered += uint64(min(acked[i].Last, hi)-max(acked[i].First, lo)) + 1
	}
	p, _ := slices.BinarySearch(partial, lo)
	hasPartial := p < len(partial) && partial[p] <= hi
	switch {
	case covered == uint64(hi-lo)+1:
		return cellAcked
	case covered > 0:
		return cellMixed
	case hasPartial:
		return cellPartial
	}
	return cellUnacked
}

// RangeLegend explains the cells that occur in a map, in a fixed order.
func RangeLegend(maps ...string) string {
	all := strings.Join(maps, "")
	var out []string
	for _, c := range []struct {
		cell rune
		text string
	}{
		{cellAcked, "acked"},
		{cellUnacked, "unacked"},
		{cellPartial, "part of a batch"},
		{cellMixed, "some of each"},
	} {
		if strings.ContainsRune(all, c.cell) {
			out = append(out, string(c.cell)+" "+c.text)
		}
	}
	return strings.Join(out, "  ")
}
