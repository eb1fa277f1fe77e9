package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"spoolctl/bench/scenario"
)

// Report is a whole run.
type Report struct {
	Machine  Machine
	Rounds   int
	Scale    float64
	Limits   string // what the brokers were held to; empty = nothing
	Outcomes []scenario.Outcome
}

// figures are in the order of the table of targets; those without a row come last.
func (r Report) figures() []scenario.Figure {
	var out []scenario.Figure
	for _, o := range r.Outcomes {
		out = append(out, o.Figures()...)
	}
	out = append(out, scenario.MemoryFigure(r.Outcomes))
	row := func(f scenario.Figure) int {
		if n, err := strconv.Atoi(f.Row); err == nil {
			return n
		}
		return math.MaxInt
	}
	slices.SortStableFunc(out, func(a, b scenario.Figure) int { return cmp.Compare(row(a), row(b)) })
	return out
}

func targetHead() []string {
	return []string{"ROW", "SCENARIO", "MEASURED", "DIVIDED BY", "FIGURE", "LEAST..MOST", "MUST", "GOAL", "RESULT"}
}

func targetLine(f scenario.Figure) []string {
	against, figure, spread, must, goal, verdict := f.Against, scenario.Number(f.Value), "–", "–", "–", f.Verdict()
	if against == "" {
		against = "(a limit)"
	}
	if f.Missing != "" {
		figure = f.Missing
	} else {
		spread = scenario.Number(f.Least) + ".." + scenario.Number(f.Most)
	}
	if f.Must != 0 {
		sign := "≥ "
		if f.Lower {
			sign = "≤ "
		}
		must, goal = sign+scenario.Number(f.Must), sign+scenario.Number(f.Goal)
	}
	return []string{cmp.Or(f.Row, "–"), f.Scenario, f.Name, against, figure, spread, must, goal, cmp.Or(verdict, "–")}
}

func valueHead() []string { return []string{"SCENARIO", "SIDE", "MEDIAN", "UNIT", "ROUNDS"} }

func (r Report) valueLines() [][]string {
	var out [][]string
	for _, o := range r.Outcomes {
		for i, s := range o.Scenario.Sides {
			m := o.Sides[i]
			for v, unit := range s.Units {
				median := scenario.Number(m.Value(v))
				if m.Missing != "" {
					median = m.Missing
				} else if len(m.Rounds) == 0 {
					median = "failed"
				}
				out = append(out, []string{o.Scenario.Name, s.Name, median, unit, strconv.Itoa(len(m.Rounds))})
			}
		}
	}
	return out
}

func usageHead() []string {
	return []string{"SCENARIO", "CPU s", "OF s", "PEAK RSS MiB", "CGROUP ANON MiB", "CGROUP FILE MiB"}
}

func (r Report) usageLines() [][]string {
	var out [][]string
	for _, o := range r.Outcomes {
		if u := o.Usage; u.Wall > 0 {
			out = append(out, []string{
				o.Scenario.Name, scenario.Number(u.CPU.Seconds()), scenario.Number(u.Wall.Seconds()),
				mib(u.PeakRSS), mib(u.Anon), mib(u.File),
			})
		}
	}
	return out
}

func mib(bytes int64) string {
	if bytes < 0 {
		return "–"
	}
	return scenario.Number(float64(bytes) / (1 << 20))
}

// Text writes the tables for a terminal.
func (r Report) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var targets [][]string
	for _, f := range r.figures() {
		targets = append(targets, targetLine(f))
	}
	for _, t := range []struct {
		head  []string
		lines [][]string
	}{{targetHead(), targets}, {valueHead(), r.valueLines()}, {usageHead(), r.usageLines()}} {
		fmt.Fprintln(w, strings.Join(t.head, "\t"))
		for _, l := range t.lines {
			fmt.Fprintln(w, strings.Join(l, "\t"))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
