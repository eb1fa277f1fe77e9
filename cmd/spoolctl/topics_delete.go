package main

import (
	"context"

	"github.com/spf13/cobra"

	"spoolctl/live/admin"
	"spoolctl/wire"
)

type topicsDelete struct {
	f             *factory
	topic         string
	force, dryRun bool
}

func newTopicsDelete(f *factory) *cobra.Command {
	o := &topicsDelete{f: f}
	cmd := &cobra.Command{
		Use:               "delete TOPIC",
		Aliases:           []string{"delete-partitioned-topic"},
		Short:             "Delete a topic with its messages and subscriptions",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.topic = args[0]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "also while clients are connected")
	return mutating(cmd, &o.dryRun)
}

func (o *topicsDelete) run(ctx context.Context) error {
	t, err := topic(o.topic)
	if err != nil {
		return err
	}
	if err := o.f.confirm(o.dryRun, "delete topic "+t.String()+" with all its messages"); err != nil {
		return err
	}
	n, err := o.f.partitioned(ctx, t)
	if err != nil {
		return failed("topic", t.String(), err)
	}
	return o.f.change(ctx, o.dryRun, admin.DeleteTopic(t, n > 0, o.force), change{Action: "deleted", Kind: "topic", Name: t.String()})
}

func newTopicsUnload(f *factory) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:               "unload TOPIC",
		Short:             "Close a topic on its broker; clients reconnect by themselves",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := topic(args[0])
			if err != nil {
				return err
			}
			return f.change(cmd.Context(), dryRun, admin.UnloadTopic(t), change{Action: "unloaded", Kind: "topic", Name: t.String()})
		},
	}
	return mutating(cmd, &dryRun)
}

type topicsTerminate struct {
	f      *factory
	topic  string
	dryRun bool
}

func newTopicsTerminate(f *factory) *cobra.Command {
	o := &topicsTerminate{f: f}
	cmd := &cobra.Command{
		Use:               "terminate TOPIC",
		Short:             "Forbid further publishes for ever; what is stored can still be read",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.topic = args[0]
			return o.run(cmd.Context())
		},
	}
	return mutating(cmd, &o.dryRun)
}

func (o *topicsTerminate) run(ctx context.Context) error {
	t, err := topic(o.topic)
	if err != nil {
		return err
	}
	c, err := o.f.admin()
	if err != nil {
		return err
	}
	if o.dryRun {
		return o.f.print(plan(c.URL(), admin.TerminateTopic(t)))
	}
	if err := o.f.confirm(false, "terminate topic "+t.String()); err != nil {
		return err
	}
	last, err := c.Terminate(ctx, t)
	if err != nil {
		return failed("topic", t.String(), err)
	}
	return o.f.print(change{Action: "terminated", Kind: "topic", Name: t.String(), Detail: "last message " + idText(last)})
}

func idText(id admin.MessageID) string {
	return wire.MessageID{
		Position:  wire.Position{Ledger: id.LedgerID, Entry: id.EntryID},
		Partition: id.PartitionIndex, Batch: -1,
	}.String()
}
