package main

import (
	"context"

	"github.com/spf13/cobra"

	"spoolctl/live/admin"
	"spoolctl/wire"
)

// topicsStats is stats and stats-internal: the broker's answer with every
// field it has, also those that this program does not know.
type topicsStats struct {
	f     *factory
	topic string
	ask   func(t wire.TopicName, partitioned bool) admin.Request
}

func newTopicsStats(f *factory) *cobra.Command {
	return newStatsVerb(f, admin.TopicStats, &cobra.Command{
		Use:     "stats TOPIC",
		Aliases: []string{"partitioned-stats", "get-stats"},
		Short:   "Show the statistics of a topic, of all partitions together for a partitioned one",
	})
}

func newTopicsStatsInternal(f *factory) *cobra.Command {
	return newStatsVerb(f, admin.TopicInternalStats, &cobra.Command{
		Use:     "stats-internal TOPIC",
		Aliases: []string{"internal-stats", "partitioned-stats-internal"},
		Short:   "Show the ledgers and cursors of a topic",
	})
}

func newStatsVerb(f *factory, ask func(wire.TopicName, bool) admin.Request, cmd *cobra.Command) *cobra.Command {
	o := &topicsStats{f: f, ask: ask}
	cmd.Args = exactArgs(1)
	cmd.ValidArgsFunction = f.completeTopic
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.topic = args[0]
		return o.run(cmd.Context())
	}
	return cmd
}

func (o *topicsStats) run(ctx context.Context) error {
	t, err := topic(o.topic)
	if err != nil {
		return err
	}
	c, err := o.f.admin()
	if err != nil {
		return err
	}
	n, err := o.f.partitioned(ctx, t)
	if err != nil {
		return failed("topic", t.String(), err)
	}
	raw, err := c.JSON(ctx, o.ask(t, n > 0))
	if err != nil {
		return failed("topic", t.String(), err)
	}
	return o.f.print(raw)
}
