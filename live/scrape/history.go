package scrape

import "time"

// Point is one attempt to scrape.
type Point struct {
	At time.Time
	// Snapshot is nil for a failed attempt: a gap.
	Snapshot *Snapshot
	// Rates against the last good scrape before; empty at the first.
	Rates Rates
	Err   error
}

// History keeps the last attempts. It is not safe for concurrent use.
type History struct {
	points []Point // oldest first
	limit  int
	last   *Snapshot // the last good one
}

// NewHistory keeps up to limit points; at least two.
func NewHistory(limit int) *History { return &History{limit: max(limit, 2)} }

// Add records an attempt and gives its point. A partial snapshot counts: what
// is missing in it is unknown. After a gap the rates cover the time since the
// last good scrape.
func (h *History) Add(at time.Time, s *Snapshot, err error) Point {
	p := Point{At: at, Snapshot: s, Err: err}
	if s != nil {
		p.Rates = RatesBetween(h.last, s)
		h.last = s
	}
	if len(h.points) == h.limit {
		copy(h.points, h.points[1:])
		h.points = h.points[:h.limit-1]
	}
	h.points = append(h.points, p)
	return p
}

// Points are the kept attempts, oldest first. The slice is valid until Add.
func (h *History) Points() []Point { return h.points }

// Last is the last good snapshot, nil before the first.
func (h *History) Last() *Snapshot { return h.last }

// Series picks one number of each point; gaps are unknown.
func (h *History) Series(pick func(Point) Value) []Value {
	out := make([]Value, len(h.points))
	for i, p := range h.points {
		if p.Snapshot != nil {
			out[i] = pick(p)
		}
	}
	return out
}
