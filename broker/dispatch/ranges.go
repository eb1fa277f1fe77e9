package dispatch

import (
	"slices"

	"spoolctl/broker/fault"
)

// ranges says which consumer owns which key hashes. Auto-split divides the largest
// range for each newcomer; sticky consumers bring their own.
type ranges struct {
	sticky bool
	parts  []part // auto-split: ordered, covering everything; sticky: ordered, disjoint
}

type part struct {
	KeyRange
	owner *Consumer
}

// add gives a consumer its part. Sticky ranges must not overlap, in themselves or
// with those of others.
func (r *ranges) add(c *Consumer) error {
	if len(r.parts) > 0 && r.sticky != c.Sticky {
		return fault.New(fault.ConsumerAssign, "the subscription's consumers use another key_shared mode; use the same one for all")
	}
	r.sticky = c.Sticky
	if c.Sticky {
		return r.addSticky(c)
	}
	if len(r.parts) == 0 {
		r.parts = []part{{KeyRange{0, hashSpace - 1}, c}}
		return nil
	}
	big := 0
	for i, p := range r.parts {
		if p.End-p.Start > r.parts[big].End-r.parts[big].Start {
			big = i
		}
	}
	p := &r.parts[big]
	if p.Start == p.End {
		return fault.New(fault.ConsumerAssign, "every key hash has a consumer of its own; no more consumers fit")
	}
	low := part{KeyRange{p.Start, p.Start + (p.End-p.Start)/2}, c}
	p.Start = low.End + 1
	r.parts = slices.Insert(r.parts, big, low)
	return nil
}

func (r *ranges) addSticky(c *Consumer) error {
	if len(c.Ranges) == 0 {
		return fault.New(fault.ConsumerAssign, "a sticky key_shared consumer needs at least one hash range")
	}
	all := slices.Clone(r.parts)
	for _, k := range c.Ranges {
		if k.Start < 0 || k.End < k.Start || k.End >= hashSpace {
			return fault.New(fault.ConsumerAssign, "hash range %d..%d is not within 0..%d", k.Start, k.End, hashSpace-1)
		}
		all = append(all, part{k, c})
	}
	slices.SortFunc(all, func(a, b part) int { return int(a.Start - b.Start) })
	for i := 1; i < len(all); i++ {
		if all[i].Start <= all[i-1].End {
			return fault.New(fault.ConsumerAssign, "hash range %d..%d of consumer %q overlaps %d..%d of consumer %q",
				all[i].Start, all[i].End, all[i].owner.Name, all[i-1].Start, all[i-1].End, all[i-1].owner.Name)
		}
	}
	r.parts = all
	return nil
}

// remove gives a consumer's parts to the neighbour above, or below for the last one.
func (r *ranges) remove(c *Consumer) {
	if r.sticky {
		r.parts = slices.DeleteFunc(r.parts, func(p part) bool { return p.owner == c })
		return
	}
	for i := 0; i < len(r.parts); {
		if r.parts[i].owner != c {
			i++
			continue
		}
		switch {
		case i+1 < len(r.parts):
			r.parts[i+1].Start = r.parts[i].Start
		case i > 0:
			r.parts[i-1].End = r.parts[i].End
		}
		r.parts = slices.Delete(r.parts, i, i+1)
	}
}

// owner finds whose a key hash is; nil when nobody's.
func (r *ranges) owner(hash uint16) *Consumer {
	h := int32(hash)
	i, _ := slices.BinarySearchFunc(r.parts, h, func(p part, h int32) int {
		switch {
		case p.End < h:
			return -1
		case p.Start > h:
			return 1
		}
		return 0
	})
	if i < len(r.parts) && r.parts[i].Start <= h && h <= r.parts[i].End {
		return r.parts[i].owner
	}
	return nil
}

// of lists a consumer's ranges.
func (r *ranges) of(c *Consumer) []KeyRange {
	var out []KeyRange
	for _, p := range r.parts {
		if p.owner == c {
			out = append(out, p.KeyRange)
		}
	}
	return out
}
