package frame

import (
	"encoding/json"
	"math"

	"spoolctl/live/scrape"
)

// seriesPoints is how many values a trend keeps.
const seriesPoints = 60

// Series is a trend, from old to new; NaN is a gap.
type Series []float64

// MarshalJSON writes gaps as null.
func (s Series) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(s))
	for i := range s {
		if !math.IsNaN(s[i]) {
			out[i] = &s[i]
		}
	}
	return json.Marshal(out)
}

// ring keeps the newest seriesPoints values of many things under one clock. The zero value is empty and ready.
type ring struct {
	rows map[string]*[seriesPoints]float64
	at   int // of the newest value
	n    int // values kept
}

// advance opens a new point, a gap for everybody.
func (r *ring) advance() {
	r.at = (r.at + 1) % seriesPoints
	r.n = min(r.n+1, seriesPoints)
	for _, row := range r.rows {
		row[r.at] = math.NaN()
	}
}

// set fills the newest point of one thing, which may be new.
func (r *ring) set(name string, v scrape.Value) {
	row := r.rows[name]
	if row == nil {
		row = new([seriesPoints]float64)
		for i := range row {
			row[i] = math.NaN()
		}
		if r.rows == nil {
			r.rows = map[string]*[seriesPoints]float64{}
		}
		r.rows[name] = row
	}
	row[r.at] = v.Or(math.NaN())
}

// keep forgets what keep does not want.
func (r *ring) keep(keep func(name string) bool) {
	for name := range r.rows {
		if !keep(name) {
			delete(r.rows, name)
		}
	}
}

// appendTo copies a trend to the end of space, which has room for it, and returns both.
func (r *ring) appendTo(space []float64, name string) (Series, []float64) {
	start := len(space)
	row := r.rows[name]
	for i := r.n - 1; i >= 0; i-- {
		v := math.NaN()
		if row != nil {
			v = row[(r.at-i+seriesPoints)%seriesPoints]
		}
		space = append(space, v)
	}
	return Series(space[start:len(space):len(space)]), space
}

func (r *ring) series(name string) Series {
	s, _ := r.appendTo(make([]float64, 0, r.n), name)
	return s
}
