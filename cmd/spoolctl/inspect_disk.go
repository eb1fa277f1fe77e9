package main

import (
	"context"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
)

func newInspectSizes(o *inspectOptions) *cobra.Command {
	var sel selector
	var ages bool
	by := "all"
	bounds := entryBounds{f: o.f}
	cmd := o.verb("sizes [TOPIC]...", "Count how large entries and messages are, or how old", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		z := inspect.SizesOptions{ByTopic: by == inspect.ByTopic}
		var err error
		if z.Selector, err = sel.selector(args); err != nil {
			return err
		}
		if z.Bounds, err = bounds.bounds(); err != nil {
			return err
		}
		got, err := s.Sizes(ctx, z)
		if err != nil {
			return err
		}
		if ages {
			return printList(o.f, got.Ages, format.ListOptions{})
		}
		return printList(o.f, got.Sizes, format.ListOptions{})
	})
	cmd.Example = "  spoolctl inspect sizes --by topic --spool ./spool -o wide"
	sel.flags(cmd)
	bounds.flags(cmd)
	cmd.Flags().Var(newChoice(&by, "all", inspect.ByTopic), "by", "one histogram, or one for each topic as well")
	cmd.Flags().BoolVar(&ages, "ages", false, "the time since publishing instead of sizes")
	return cmd
}

func newInspectDu(o *inspectOptions) *cobra.Command {
	by := inspect.ByFamily
	cmd := o.verb("du", "Show what takes the spool's space, and what of it is garbage", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		list, err := s.DiskUsage(ctx, by)
		if err != nil {
			return err
		}
		return printList(o.f, list.Rows, format.ListOptions{Summary: list.Totals})
	})
	cmd.Long = cmd.Short + ".\n\nHow much of a table is live is estimated from the number of its records. Names in brackets\nstand for what belongs to no table or no topic."
	cmd.Example = "  spoolctl inspect du --by topic --spool ./spool"
	cmd.Flags().Var(newChoice(&by, inspect.Groupings()...), "by", "what to group by")
	return cmd
}
