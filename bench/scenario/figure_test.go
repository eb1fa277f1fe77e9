package scenario

import (
	"math"
	"testing"

	"spoolctl/bench/peer"
)

func outcome(targets []Target, sides ...Measured) Outcome {
	s := Scenario{Name: "s", Targets: targets}
	for range sides {
		s.Sides = append(s.Sides, Side{Name: "side", Units: []string{"a", "b"}})
	}
	return Outcome{Scenario: s, Sides: sides}
}

func TestFigureIsTheMedianOfRatios(t *testing.T) {
	// The ratios of the rounds are 2, 0.5 and 3; the ratio of the medians would be 1.
	o := outcome([]Target{{To: &At{1, 0}, Must: 1, Goal: 2}},
		Measured{Rounds: [][]float64{{2, 0}, {1, 0}, {9, 0}}}, Measured{Rounds: [][]float64{{1, 0}, {2, 0}, {3, 0}}})
	f := o.Figures()[0]
	if f.Value != 2 || f.Least != 0.5 || f.Most != 3 || f.Verdict() != "goal" {
		t.Errorf("%+v %s", f, f.Verdict())
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		value, must, goal float64
		lower             bool
		want              string
	}{
		{0.8, 0.6, 0.8, false, "goal"},
		{0.7, 0.6, 0.8, false, "must"},
		{0.5, 0.6, 0.8, false, "missed"},
		{2.2, 2.5, 2.2, true, "goal"},
		{2.3, 2.5, 2.2, true, "must"},
		{2.6, 2.5, 2.2, true, "missed"},
		{1, 0, 0, false, ""},
		{math.NaN(), 2.5, 2.2, true, ""},
	} {
		f := outcome([]Target{{Lower: c.lower, Must: c.must, Goal: c.goal}}, Measured{Rounds: [][]float64{{c.value, 0}}}).Figures()[0]
		if got := f.Verdict(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestMissingIsNeverANumber(t *testing.T) {
	o := outcome([]Target{{To: &At{1, 0}, Must: 1, Goal: 2}, {Of: At{0, 1}, Must: 1, Goal: 2}},
		Measured{Rounds: [][]float64{{2, math.NaN()}}}, Measured{Missing: "not installed"})
	for i, want := range []string{"not installed", "unknown"} {
		if f := o.Figures()[i]; f.Missing != want || !math.IsNaN(f.Value) || f.Verdict() != "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestMemoryFigureIsTheLargest(t *testing.T) {
	f := MemoryFigure([]Outcome{{Usage: peer.Usage{PeakRSS: 3 << 20}}, {Usage: peer.Usage{PeakRSS: -1}}, {Usage: peer.Usage{PeakRSS: 301 << 20}}})
	if f.Value != 301 || f.Verdict() != "must" {
		t.Errorf("%+v", f)
	}
	if f := MemoryFigure(nil); !math.IsNaN(f.Value) || f.Verdict() != "" {
		t.Errorf("%+v", f)
	}
}

// A target that names a side or a value that is not there would only be seen at the end of a long run.
func TestTargetsNameValues(t *testing.T) {
	names := map[string]bool{}
	for _, s := range All() {
		if names[s.Name] {
			t.Errorf("two scenarios %s", s.Name)
		}
		names[s.Name] = true
		for _, target := range s.Targets {
			places := []At{target.Of}
			if target.To != nil {
				places = append(places, *target.To)
			}
			for _, at := range places {
				if at.Side >= len(s.Sides) || at.Value >= len(s.Sides[at.Side].Units) {
					t.Errorf("%s, row %s: nothing is at %+v", s.Name, target.Row, at)
				}
			}
			if target.Lower == (target.Must < target.Goal) && target.Must != target.Goal {
				t.Errorf("%s, row %s: the goal is easier than the must", s.Name, target.Row)
			}
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234: "1 234", 1234567: "1 234 567", math.NaN(): "–"} {
		if got := Number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
