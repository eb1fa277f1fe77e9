package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"spoolctl/bench/report"
	"spoolctl/bench/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run measures the named scenarios, or all of them.
func run(ctx context.Context, args []string) error {
	var o options
	chosen, err := o.parse(args)
	if err != nil {
		return err
	}
	e, err := o.env(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(programs(e)) }() // what stays is in the way of nobody
	if len(chosen) == 0 {
		spool, err := scenario.BigSpool(ctx, e)
		if err != nil {
			return err
		}
		fmt.Println(spool)
		return nil
	}
	r := report.Report{Machine: report.ThisMachine(), Rounds: o.rounds, Scale: o.scale, Limits: o.limitsText()}
	var failed []error
	for _, s := range chosen {
		out := s.Run(ctx, e, o.rounds, func(line string) { fmt.Fprintln(os.Stderr, line) })
		r.Outcomes = append(r.Outcomes, out)
		if out.Err != nil {
			fmt.Fprintln(os.Stderr, "failed:", out.Err)
			failed = append(failed, out.Err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintln(os.Stderr, "logs:", e.Logs())
	if err := r.Text(os.Stdout); err != nil {
		return err
	}
	if o.write != "" && ctx.Err() == nil {
		failed = append(failed, writePage(o.write, r))
	}
	return errors.Join(failed...)
}

func writePage(name string, r report.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(r.Markdown(f), f.Close())
}

// bigSpool is named in place of scenarios to make the large spool of the scenario inspect, and keep it.
const bigSpool = "big-spool"

// parse reads flags and names, in any order. No scenario means bigSpool.
func (o *options) parse(args []string) ([]scenario.Scenario, error) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	o.register(fs)
	fs.Usage = func() { usage(fs) }
	var names []string
	for rest := args; ; rest = fs.Args()[1:] {
		if err := fs.Parse(rest); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			break
		}
		names = append(names, fs.Arg(0))
	}
	if o.rounds < 1 || o.scale <= 0 {
		return nil, errors.New("--rounds and --scale must be above 0")
	}
	if len(names) > 0 && names[0] == "run" {
		names = names[1:]
	}
	if slices.Equal(names, []string{bigSpool}) {
		return nil, nil
	}
	return choose(names)
}

func usage(fs *flag.FlagSet) {
	fmt.Fprintln(fs.Output(), "usage: bench [run] all|SCENARIO… [flags]\n       bench big-spool --dir DIR [flags]: a spool of 10 GiB to try the inspector on; its folder is printed\n\nscenarios:")
	for _, s := range scenario.All() {
		fmt.Fprintf(fs.Output(), "  %-16s %s%s\n", s.Name, s.What, rows(s))
	}
	fmt.Fprintln(fs.Output(), "\nflags:")
	fs.PrintDefaults()
}

// rows names the rows of the table of targets that a scenario is about.
func rows(s scenario.Scenario) string {
	var out []string
	for _, t := range s.Targets {
		if t.Row != "" && !slices.Contains(out, t.Row) {
			out = append(out, t.Row)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (row " + strings.Join(out, ", ") + ")"
}

func choose(names []string) ([]scenario.Scenario, error) {
	all := scenario.All()
	if len(names) == 0 {
		return nil, errors.New("name scenarios, or all; see --help")
	}
	if slices.Equal(names, []string{"all"}) {
		return all, nil
	}
	var out []scenario.Scenario
	for _, n := range names {
		i := slices.IndexFunc(all, func(s scenario.Scenario) bool { return s.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q; see --help", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}
