package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"spoolctl/bench/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run measures the named scenarios, or all of them.
func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	rounds := fs.Int("rounds", 3, "rounds; in each, every side runs once")
	scale := fs.Float64("scale", 1, "of the number of messages")
	dir := fs.String("dir", "", "folder for spools and logs (default: a temporary one)")
	spoold := fs.String("spoold", "", "the spoold program (default: built from this checkout)")
	fs.Usage = func() { usage(fs) }
	names, rest := []string{}, args
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		names, rest = append(names, rest[0]), rest[1:]
	}
	if err := fs.Parse(rest); err != nil {
		return err
	}
	chosen, err := choose(append(names, fs.Args()...))
	if err != nil {
		return err
	}
	e := scenario.Env{Spoold: *spoold, Dir: *dir, Scale: *scale}
	if e.Dir == "" {
		if e.Dir, err = os.MkdirTemp("", "spoolctl-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(e.Dir)
	}
	if e.Spoold == "" {
		e.Spoold = filepath.Join(e.Dir, "spoold")
		build := exec.CommandContext(ctx, "go", "build", "-o", e.Spoold, "./cmd/spoold")
		build.Dir, build.Stderr = "..", os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build spoold: %w", err)
		}
	}
	return measure(ctx, e, chosen, *rounds)
}

func usage(fs *flag.FlagSet) {
	fmt.Fprintln(fs.Output(), "usage: bench all|SCENARIO… [flags]\n\nscenarios:")
	for _, s := range scenario.All() {
		fmt.Fprintf(fs.Output(), "  %-16s %s\n", s.Name, s.What)
	}
	fmt.Fprintln(fs.Output(), "\nflags:")
	fs.PrintDefaults()
}

func choose(names []string) ([]scenario.Scenario, error) {
	all := scenario.All()
	if len(names) == 0 {
		return nil, errors.New("name scenarios, or all; see -help")
	}
	if slices.Equal(names, []string{"all"}) {
		return all, nil
	}
	var out []scenario.Scenario
	for _, n := range names {
		i := slices.IndexFunc(all, func(s scenario.Scenario) bool { return s.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q; see -help", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func measure(ctx context.Context, e scenario.Env, chosen []scenario.Scenario, rounds int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ROW\tSCENARIO\tAGAINST\tRATIO\tLEAST..MOST\tMUST\tGOAL\tRESULT\tSPOOLD\tOTHER\tUNIT")
	for _, s := range chosen {
		ratios, err := s.Run(ctx, e, rounds, func(line string) { fmt.Fprintln(os.Stderr, line) })
		if err != nil {
			return err
		}
		for _, r := range ratios {
			verdict := "missed"
			switch {
			case r.Ratio >= r.Goal:
				verdict = "goal"
			case r.Ratio >= r.Must:
				verdict = "must"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.2f..%.2f\t%.2f\t%.2f\t%s\t%.0f\t%.0f\t%s\n",
				s.Row, s.Name, r.Against, r.Ratio, r.LeastRatio, r.MostRatio, r.Must, r.Goal, verdict, r.Ours, r.Theirs, s.Unit)
		}
	}
	return w.Flush()
}
