package scenario

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
)

// Env is what scenarios run with.
type Env struct {
	Spoold string  // path of the program
	Dir    string  // folder for spools, logs and peers' files
	Scale  float64 // of the number of messages; 1 = the default
}

// messages scales a number of messages.
func (e Env) messages(n int) int { return max(1000, int(float64(n)*e.Scale)) }

// Scenario compares spoold with one or several others.
type Scenario struct {
	Name  string
	Row   string // of the table of targets
	What  string
	Unit  string
	Sides []Side // the first is spoold
	Must  []float64
	Goal  []float64 // least ratio of the first side to each other one
}

// Side is one of the compared.
type Side struct {
	Name string
	Run  func(ctx context.Context, e Env) (float64, error)
}

// Ratio is the median of a side's ratios over the rounds.
type Ratio struct {
	Against               string
	Ratio, Must, Goal     float64
	Ours, Theirs          float64 // medians
	LeastRatio, MostRatio float64
}

// Run runs the rounds and returns a ratio for each other side.
func (s Scenario) Run(ctx context.Context, e Env, rounds int, progress func(string)) ([]Ratio, error) {
	values := make([][]float64, len(s.Sides))
	for r := range rounds {
		for i, side := range s.Sides {
			v, err := side.Run(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", s.Name, side.Name, err)
			}
			values[i] = append(values[i], v)
			progress(fmt.Sprintf("%s round %d: %s %.0f %s", s.Name, r+1, side.Name, v, s.Unit))
		}
	}
	var out []Ratio
	for i := 1; i < len(s.Sides); i++ {
		ratios := make([]float64, rounds)
		for r := range rounds {
			ratios[r] = values[0][r] / values[i][r]
		}
		out = append(out, Ratio{
			Against: s.Sides[i].Name, Ratio: median(ratios), Must: at(s.Must, i-1), Goal: at(s.Goal, i-1),
			Ours: median(values[0]), Theirs: median(values[i]), LeastRatio: slices.Min(ratios), MostRatio: slices.Max(ratios),
		})
	}
	return out, nil
}

func at(v []float64, i int) float64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// payload returns n random bytes, which do not compress.
func payload(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

const window = 8192

// publish runs spoold and publishes to some topics with a subscription on each, so that nothing is trimmed.
func publish(ctx context.Context, e Env, topics, messages, size int) (float64, error) {
	s, err := peer.StartSpoold(ctx, e.Spoold, e.Dir)
	if err != nil {
		return 0, err
	}
	names := topicNames(topics)
	res, err := load.Publish{Addr: s.Addr, Topics: names, Payload: payload(size), Messages: messages, Window: window}.Run(ctx)
	if serr := s.Stop(); err == nil {
		err = serr
	}
	return res.PerSecond(), err
}

func topicNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("persistent://public/default/bench-%d", i)
	}
	return out
}
