package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

// topicsWrite is create and update.
type topicsWrite struct {
	f          *factory
	topic      string
	partitions int
	properties map[string]string
	dryRun     bool
}

// args reads TOPIC [PARTITIONS]; pulsarctl writes the count as an argument,
// pulsar-admin as a flag.
func (o *topicsWrite) args(args []string) error {
	o.topic = args[0]
	if len(args) < 2 {
		return nil
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || o.partitions != 0 {
		return format.Usagef("PARTITIONS %q: give one whole number, as argument or with --partitions", args[1])
	}
	o.partitions = n
	return nil
}

func newTopicsCreate(f *factory) *cobra.Command {
	o := &topicsWrite{f: f}
	cmd := &cobra.Command{
		Use:     "create TOPIC [PARTITIONS]",
		Aliases: []string{"create-partitioned-topic"},
		Short:   "Create a topic, with or without partitions",
		Example: "  spoolctl topics create orders\n  spoolctl topics create acme/shop/orders --partitions 8",
		Args:    rangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.args(args); err != nil {
				return err
			}
			return o.create(cmd.Context())
		},
	}
	cmd.Flags().IntVarP(&o.partitions, "partitions", "p", 0, "number of partitions (0 = not partitioned)")
	cmd.Flags().StringToStringVar(&o.properties, "metadata", nil, "properties of the topic, key=value (repeatable)")
	return mutating(cmd, &o.dryRun)
}

func (o *topicsWrite) create(ctx context.Context) error {
	t, err := topic(o.topic)
	if err != nil {
		return err
	}
	done := change{Action: "created", Kind: "topic", Name: t.String()}
	switch {
	case o.partitions < 0:
		return format.Usagef("--partitions %d is negative", o.partitions)
	case o.partitions > 0 && len(o.properties) > 0:
		return format.Usagef("--metadata cannot be used with --partitions")
	case o.partitions > 0:
		done.Detail = fmt.Sprintf("%d partitions", o.partitions)
		return o.f.change(ctx, o.dryRun, admin.CreatePartitioned(t, o.partitions), done)
	}
	return o.f.change(ctx, o.dryRun, admin.CreateTopic(t, o.properties), done)
}

func newTopicsUpdate(f *factory) *cobra.Command {
	o := &topicsWrite{f: f}
	cmd := &cobra.Command{
		Use:     "update TOPIC [PARTITIONS]",
		Aliases: []string{"update-partitioned-topic"},
		Short:   "Raise the number of partitions of a topic",
		Args:    rangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.args(args); err != nil {
				return err
			}
			return o.update(cmd.Context())
		},
	}
	cmd.Flags().IntVarP(&o.partitions, "partitions", "p", 0, "new number of partitions")
	return mutating(cmd, &o.dryRun)
}

func (o *topicsWrite) update(ctx context.Context) error {
	t, err := topic(o.topic)
	if err != nil {
		return err
	}
	if o.partitions < 1 {
		return format.Usagef("give the new number of partitions")
	}
	return o.f.change(ctx, o.dryRun, admin.UpdatePartitions(t, o.partitions), change{
		Action: "updated", Kind: "topic", Name: t.String(), Detail: fmt.Sprintf("%d partitions", o.partitions),
	})
}
