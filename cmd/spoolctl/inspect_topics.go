package main

import (
	"context"
	"regexp"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
)

// selector reads topic patterns and --regex.
type selector struct{ regex string }

func (o *selector) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.regex, "regex", "", "only topics whose full name matches")
}

func (o *selector) selector(globs []string) (inspect.Selector, error) {
	sel := inspect.Selector{Globs: globs}
	var err error
	sel.Regex, err = expression("--regex", o.regex)
	return sel, err
}

// expression compiles the regular expression of a flag; empty is nil.
func expression(flag, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, &format.Error{Kind: format.ErrUsage, Msg: flag, Err: err}
	}
	return re, nil
}

func newInspectSummary(o *inspectOptions) *cobra.Command {
	return o.verb("summary", "Show what is in the spool, and its state", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		sum, err := s.Summary(ctx)
		if err != nil {
			return err
		}
		return o.f.print(sum)
	})
}

func newInspectTopics(o *inspectOptions) *cobra.Command {
	var sel selector
	var producers bool
	cmd := o.verb("topics [TOPIC]...", "List topics with sizes and largest backlog", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		chosen, err := sel.selector(args)
		if err != nil {
			return err
		}
		list, err := s.Topics(ctx, inspect.TopicsOptions{Selector: chosen, Producers: producers})
		if err != nil {
			return err
		}
		return printList(o.f, list.Topics, format.ListOptions{Summary: list.Totals})
	})
	sel.flags(cmd)
	cmd.Flags().BoolVar(&producers, "producers", false, "read all entries for the names of their producers")
	return cmd
}

func newInspectLedgers(o *inspectOptions) *cobra.Command {
	var sel selector
	cmd := o.verb("ledgers TOPIC...", "List ledgers, who still needs them, and whether they may be trimmed", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		chosen, err := sel.selector(args)
		if err != nil {
			return err
		}
		list, err := s.Ledgers(ctx, chosen)
		if err != nil {
			return err
		}
		return printList(o.f, list.Ledgers, format.ListOptions{Summary: list.Totals})
	})
	sel.flags(cmd)
	return cmd
}

func newInspectCursors(o *inspectOptions) *cobra.Command {
	var sel selector
	cmd := o.verb("cursors [TOPIC]...", "List subscriptions with their durable position", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		chosen, err := sel.selector(args)
		if err != nil {
			return err
		}
		list, err := s.Cursors(ctx, chosen)
		if err != nil {
			return err
		}
		return printList(o.f, list.Cursors, format.ListOptions{Summary: list.Totals})
	})
	sel.flags(cmd)
	return cmd
}
