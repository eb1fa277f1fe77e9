package scenario

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Figure is what came out for a target.
type Figure struct {
	Target
	Scenario    string
	Name        string // what was measured, with its unit
	Against     string // what it is a ratio to; empty for a limit
	Value       float64
	Least, Most float64 // over the rounds
	Missing     string  // why Value is NaN
}

// Figures computes a figure for each target.
func (o Outcome) Figures() []Figure {
	var out []Figure
	for _, t := range o.Scenario.Targets {
		f := Figure{Target: t, Scenario: o.Scenario.Name, Name: o.name(t.Of)}
		of := o.Sides[t.Of.Side]
		f.Missing = of.Missing
		var to Measured
		if t.To != nil {
			f.Against = o.name(*t.To)
			if to = o.Sides[t.To.Side]; to.Missing != "" {
				f.Missing = to.Missing
			}
		}
		var v []float64
		for r := range of.Rounds {
			x := of.Rounds[r][t.Of.Value]
			if t.To != nil {
				if r >= len(to.Rounds) {
					continue
				}
				x /= to.Rounds[r][t.To.Value]
			}
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				v = append(v, x)
			}
		}
		f.Value, f.Least, f.Most = math.NaN(), math.NaN(), math.NaN()
		switch {
		case len(v) > 0:
			f.Value, f.Least, f.Most = median(v), slices.Min(v), slices.Max(v)
		case f.Missing == "" && o.Err != nil:
			f.Missing = "failed"
		case f.Missing == "":
			f.Missing = "unknown"
		}
		out = append(out, f)
	}
	return out
}

// name says what a value is.
func (o Outcome) name(at At) string {
	s := o.Scenario.Sides[at.Side]
	return s.Name + ", " + s.Units[at.Value]
}

// Verdict is goal, must or missed; empty when nothing was asked for or nothing is known.
func (f Figure) Verdict() string {
	within := func(limit float64) bool {
		if f.Lower {
			return f.Value <= limit
		}
		return f.Value >= limit
	}
	switch {
	case f.Must == 0 || math.IsNaN(f.Value):
		return ""
	case within(f.Goal):
		return "goal"
	case within(f.Must):
		return "must"
	}
	return "missed"
}

// MemoryFigure is the largest resident memory of a broker over all outcomes, in MiB (row 16).
func MemoryFigure(all []Outcome) Figure {
	const mib = 1 << 20
	f := Figure{
		Target: Target{Row: "16", Lower: true, Must: 512, Goal: 300}, Scenario: "all that ran", Name: "spoold, largest resident MiB",
		Value: math.NaN(), Least: math.NaN(), Most: math.NaN(), Missing: "unknown",
	}
	for _, o := range all {
		if v := float64(o.Usage.PeakRSS) / mib; v > 0 && !(v <= f.Value) {
			f.Value, f.Least, f.Most, f.Missing = v, v, v, ""
			f.Scenario = o.Scenario.Name
		}
	}
	return f
}

// Number writes a value with about three digits; a dash when it is unknown.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) >= 1000:
		digits := strconv.FormatFloat(v, 'f', 0, 64)
		var groups []string
		for len(digits) > 3 {
			groups = append([]string{digits[len(digits)-3:]}, groups...)
			digits = digits[:len(digits)-3]
		}
		return strings.Join(append([]string{digits}, groups...), " ")
	case math.Abs(v) >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
