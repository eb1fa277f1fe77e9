package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"spoolctl/bench/peer"
)

// Scenario is a measurement.
type Scenario struct {
	Name    string
	What    string
	Sides   []Side
	Targets []Target
	// Prepare makes what all rounds use; nil = nothing.
	Prepare func(ctx context.Context, e *Env) error
	// LeastRounds and MostRounds bound the rounds that were asked for; 0 = no bound.
	LeastRounds, MostRounds int
}

// Side is one of the compared.
type Side struct {
	Name  string
	Units []string // of the values that Run returns
	// Run measures once. A value that cannot be known is NaN.
	Run func(ctx context.Context, e *Env) ([]float64, error)
}

// At is one value of one side.
type At struct{ Side, Value int }

// Target is a row of the table of targets.
type Target struct {
	Row        string
	Of         At
	To         *At  // what the figure is a ratio to; nil = the value itself is the figure
	Lower      bool // lower is better
	Must, Goal float64
}

// Outcome is what a scenario has measured.
type Outcome struct {
	Scenario Scenario
	Rounds   int
	Sides    []Measured // one for each side of the scenario
	Usage    peer.Usage // of the brokers that were started; times are sums, bytes the most of one
	Err      error      // why it ended early
}

// Measured is what a side has measured.
type Measured struct {
	Rounds  [][]float64 // values by round
	Missing string      // why there are none
}

// Value is the median of a value over the rounds; NaN = unknown.
func (m Measured) Value(i int) float64 {
	var v []float64
	for _, r := range m.Rounds {
		v = append(v, r[i])
	}
	return median(v)
}

// Run runs the rounds. What went wrong is in the outcome.
func (s Scenario) Run(ctx context.Context, e *Env, rounds int, progress func(string)) Outcome {
	if s.MostRounds > 0 {
		rounds = min(rounds, s.MostRounds)
	}
	o := Outcome{Scenario: s, Rounds: max(rounds, s.LeastRounds), Sides: make([]Measured, len(s.Sides))}
	e.begin(s.Name)
	o.Err = s.run(ctx, e, &o, progress)
	o.Usage = e.usage
	o.Err = errors.Join(o.Err, e.wipe())
	return o
}

func (s Scenario) run(ctx context.Context, e *Env, o *Outcome, progress func(string)) error {
	if s.Prepare != nil {
		progress(s.Name + ": preparing")
		switch err := s.Prepare(ctx, e); {
		case errors.Is(err, peer.ErrExternal):
			for i := range o.Sides {
				o.Sides[i].Missing = peer.ErrExternal.Error()
			}
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	for r := range o.Rounds {
		for i, side := range s.Sides {
			m := &o.Sides[i]
			if m.Missing != "" {
				continue
			}
			v, err := side.Run(ctx, e)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, peer.ErrMissing):
				m.Missing = peer.ErrMissing.Error()
			case errors.Is(err, peer.ErrExternal):
				m.Missing = peer.ErrExternal.Error()
			case err != nil:
				return fmt.Errorf("%s, %s: %w", s.Name, side.Name, err)
			default:
				m.Rounds = append(m.Rounds, v)
			}
			progress(fmt.Sprintf("%s round %d of %d: %s: %s", s.Name, r+1, o.Rounds, side.Name, side.text(v, m.Missing)))
		}
	}
	return nil
}

func (s Side) text(v []float64, missing string) string {
	if missing != "" {
		return missing
	}
	out := ""
	for i := range v {
		if i > 0 {
			out += ", "
		}
		out += Number(v[i]) + " " + s.Units[i]
	}
	return out
}

// median of the known values; NaN when there are none.
func median(v []float64) float64 {
	v = slices.DeleteFunc(slices.Clone(v), math.IsNaN)
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
