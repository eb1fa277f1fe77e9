package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
)

func newInspectBacklog(o *inspectOptions) *cobra.Command {
	var sel selector
	b := inspect.BacklogOptions{}
	cmd := o.verb("backlog [TOPIC]...", "Show what each subscription has not acknowledged, and why", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		var err error
		if b.Selector, err = sel.selector(args); err != nil {
			return err
		}
		list, err := s.Backlog(ctx, b)
		if err != nil {
			return err
		}
		if err := printList(o.f, list.Backlogs, format.ListOptions{Summary: list.Totals}); err != nil {
			return err
		}
		return o.explanations(list.Backlogs, b.Explain)
	})
	sel.flags(cmd)
	cmd.Flags().StringVar(&b.Subscription, "subscription", "", "only this subscription")
	cmd.Flags().BoolVar(&b.Explain, "explain", false, "say in words why a backlog does not shrink")
	return cmd
}

// explanations writes below a table what other formats have in a field.
func (o *inspectOptions) explanations(rows []inspect.Backlog, explain bool) error {
	p, err := o.f.printer()
	if err != nil || !explain || !p.Human() {
		return err
	}
	if n := p.Limit(); n > 0 && n < len(rows) {
		rows = rows[:n]
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(o.f.io.out, "\n%s %s:\n", format.Clean(r.Topic), format.Clean(r.Subscription)); err != nil {
			return format.OutputError(err)
		}
		for _, line := range r.Explanation {
			if _, err := fmt.Fprintf(o.f.io.out, "  - %s\n", format.Clean(line)); err != nil {
				return format.OutputError(err)
			}
		}
	}
	return nil
}

func newInspectRanges(o *inspectOptions) *cobra.Command {
	r := inspect.RangesOptions{}
	holes := false
	by := "position"
	cmd := o.verb("ranges TOPIC SUBSCRIPTION", "Show what a subscription has acknowledged, and the holes", 2, 2, func(ctx context.Context, s *inspect.Session, args []string) error {
		r.Topic, r.Subscription = args[0], args[1]
		switch {
		case by != "position":
			r.By = by
		case holes:
			r.By = "age"
		}
		got, err := s.Ranges(ctx, r)
		if err != nil {
			return err
		}
		if err := o.maps(got); err != nil {
			return err
		}
		return printStream(o.f, got.Rows, format.ListOptions{Total: got.Total, Summary: got})
	})
	cmd.Flags().BoolVar(&holes, "holes", false, "only what is not acknowledged")
	cmd.Flags().Var(newChoice(&by, "position", "size", "age"), "by", "order; size and age list only what is not acknowledged")
	return cmd
}

const (
	mapWidth = 80 // of a map where the terminal's is not known
	mostMaps = 20 // drawn above a table
)

// maps draws each ledger in one line above a table.
func (o *inspectOptions) maps(r *inspect.Ranges) error {
	p, err := o.f.printer()
	if err != nil || !p.Human() {
		return err
	}
	width := mapWidth
	if o.f.io.width != nil && o.f.io.width() > 0 {
		width = o.f.io.width()
	}
	var drawn []string
	for _, l := range r.Ledgers[:min(mostMaps, len(r.Ledgers))] {
		runs := make([]format.Interval, len(l.Runs))
		for i, run := range l.Runs {
			runs[i] = format.Interval{First: run[0], Last: run[1]}
		}
		label := fmt.Sprintf("%-8d ", l.Ledger)
		line := format.RangeMap(format.Interval{Last: l.Entries - 1}, runs, l.Partials, max(10, width-len(label)))
		drawn = append(drawn, line)
		if _, err := fmt.Fprintln(o.f.io.out, label+line); err != nil {
			return format.OutputError(err)
		}
	}
	if n := len(r.Ledgers) - len(drawn); n > 0 {
		if _, err := fmt.Fprintf(o.f.io.out, "%d more ledgers\n", n); err != nil {
			return format.OutputError(err)
		}
	}
	if len(drawn) > 0 {
		_, err = fmt.Fprintf(o.f.io.out, "%s\n\n", format.RangeLegend(drawn...))
	}
	return format.OutputError(err)
}
