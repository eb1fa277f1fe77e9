package scrape

import (
	"encoding/json"
	"math"
)

// Value is a number that may be unknown. The zero Value is unknown.
type Value struct {
	v     float64
	known bool
}

// Known is a known value; NaN and infinities are unknown.
func Known(v float64) Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Value{}
	}
	return Value{v: v, known: true}
}

// Get gives the number and whether it is known.
func (v Value) Get() (float64, bool) { return v.v, v.known }

// Known reports whether there is a number.
func (v Value) Known() bool { return v.known }

// Or gives the number, or def when it is unknown.
func (v Value) Or(def float64) float64 {
	if v.known {
		return v.v
	}
	return def
}

// Add sums two values; an unknown one adds nothing, two give unknown.
func (v Value) Add(w Value) Value {
	switch {
	case !v.known:
		return w
	case !w.known:
		return v
	}
	return Known(v.v + w.v)
}

// MarshalJSON writes null for unknown.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.known {
		return []byte("null"), nil
	}
	return json.Marshal(v.v)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(b []byte) error {
	var f *float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*v = Value{}
	if f != nil {
		*v = Known(*f)
	}
	return nil
}
