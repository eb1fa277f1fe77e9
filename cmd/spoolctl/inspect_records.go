package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
)

func newInspectProducers(o *inspectOptions) *cobra.Command {
	var sel selector
	bounds := entryBounds{f: o.f}
	cmd := o.verb("producers [TOPIC]...", "Show who published the stored entries", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		p := inspect.ProducersOptions{}
		var err error
		if p.Selector, err = sel.selector(args); err != nil {
			return err
		}
		if p.Bounds, err = bounds.bounds(); err != nil {
			return err
		}
		list, err := s.Producers(ctx, p)
		if err != nil {
			return err
		}
		return printList(o.f, list.Producers, format.ListOptions{Summary: list.Totals})
	})
	cmd.Example = "  spoolctl inspect producers orders --spool ./spool --since 1h"
	sel.flags(cmd)
	bounds.flags(cmd)
	return cmd
}

func newInspectSchemas(o *inspectOptions) *cobra.Command {
	var sel selector
	cmd := o.verb("schemas [TOPIC]...", "List the versions of the topics' schemas", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		chosen, err := sel.selector(args)
		if err != nil {
			return err
		}
		rows, err := s.Schemas(ctx, chosen)
		if err != nil {
			return err
		}
		return printList(o.f, rows, format.ListOptions{})
	})
	cmd.Example = "  spoolctl inspect schemas --spool ./spool -o wide"
	sel.flags(cmd)
	return cmd
}

func newInspectPolicies(o *inspectOptions) *cobra.Command {
	p := inspect.PoliciesOptions{}
	cmd := o.verb("policies [NAME]...", "List the policies of namespaces and topics, and changed settings", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		p.Names = args
		rows, err := s.Policies(ctx, p)
		if err != nil {
			return err
		}
		return printList(o.f, rows, format.ListOptions{})
	})
	cmd.Long = cmd.Short + ".\n\nNAME is a namespace, a topic or a pattern of either. What is not listed has the broker's default."
	cmd.Example = "  spoolctl inspect policies public/default --spool ./spool"
	cmd.Flags().StringVar(&p.Policy, "policy", "", "only this policy, such as retention_policies")
	return cmd
}

func newInspectDelayed(o *inspectOptions) *cobra.Command {
	var sel selector
	d := inspect.DelayedOptions{}
	cmd := o.verb("delayed [TOPIC]...", "List what subscriptions get later", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		var err error
		if d.Selector, err = sel.selector(args); err != nil {
			return err
		}
		list, err := s.Delayed(ctx, d)
		if err != nil {
			return err
		}
		return printStream(o.f, list.Rows, format.ListOptions{Finish: func(lo *format.ListOptions) { lo.Summary = list.Totals }})
	})
	cmd.Example = "  spoolctl inspect delayed orders --spool ./spool --sort deliverAt"
	sel.flags(cmd)
	cmd.Flags().StringVar(&d.Subscription, "subscription", "", "only this subscription")
	cmd.Flags().BoolVar(&d.Past, "past", false, "with those whose time has come")
	return cmd
}

func newInspectDedup(o *inspectOptions) *cobra.Command {
	var sel selector
	cmd := o.verb("dedup [TOPIC]...", "Show what deduplication knows of producers", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		chosen, err := sel.selector(args)
		if err != nil {
			return err
		}
		rows, err := s.Dedups(ctx, chosen)
		if err != nil {
			return err
		}
		return printList(o.f, rows, format.ListOptions{})
	})
	cmd.Example = "  spoolctl inspect dedup orders --spool ./spool"
	sel.flags(cmd)
	return cmd
}

func newInspectTransactions(o *inspectOptions) *cobra.Command {
	cmd := o.verb("transactions", "List the records of transactions", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		rows, err := s.Transactions(ctx)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			if _, err := fmt.Fprintln(o.f.io.err, "note: this spool holds no transactions"); err != nil {
				return format.OutputError(err)
			}
		}
		return printList(o.f, rows, format.ListOptions{})
	})
	cmd.Example = "  spoolctl inspect transactions --spool ./spool"
	return cmd
}
