package damage

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
)

// deletes answers which keys are deleted by ranges: the key space cut at every
// bound, and for each piece the newest range over it.
type deletes struct {
	starts [][]byte // start of each piece, rising
	seqs   []uint64 // newest range over the piece, 0 = none
}

func newDeletes(ranges []rangeDel) *deletes {
	d := &deletes{}
	if len(ranges) == 0 {
		return d
	}
	bounds := make([][]byte, 0, 2*len(ranges))
	for _, r := range ranges {
		bounds = append(bounds, r.start, r.end)
	}
	slices.SortFunc(bounds, bytes.Compare)
	bounds = slices.CompactFunc(bounds, bytes.Equal)
	slices.SortFunc(ranges, func(a, b rangeDel) int {
		return cmp.Or(bytes.Compare(a.start, b.start), cmp.Compare(a.seq, b.seq))
	})
	var open newestFirst
	next := 0
	for _, at := range bounds {
		for ; next < len(ranges) && bytes.Compare(ranges[next].start, at) <= 0; next++ {
			heap.Push(&open, ranges[next])
		}
		for len(open) > 0 && bytes.Compare(open[0].end, at) <= 0 {
			heap.Pop(&open)
		}
		seq := uint64(0)
		if len(open) > 0 {
			seq = open[0].seq
		}
		d.starts, d.seqs = append(d.starts, at), append(d.seqs, seq)
	}
	return d
}

// covers reports whether a version of k is deleted.
func (d *deletes) covers(k []byte, seq uint64) bool {
	i, exact := slices.BinarySearchFunc(d.starts, k, bytes.Compare)
	if !exact {
		i--
	}
	return i >= 0 && d.seqs[i] > seq
}

// newestFirst is a heap of ranges by falling sequence number.
type newestFirst []rangeDel

func (h newestFirst) Len() int           { return len(h) }
func (h newestFirst) Less(i, j int) bool { return h[i].seq > h[j].seq }
func (h newestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *newestFirst) Push(x any) { *h = append(*h, x.(rangeDel)) }

// Pop implements heap.Interface.
func (h *newestFirst) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
