package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

type subscriptionsSeek struct {
	f      *factory
	on     subscriptionArg
	time   string
	id     string
	dryRun bool
}

func newSubscriptionsSeek(f *factory) *cobra.Command {
	o := &subscriptionsSeek{f: f}
	cmd := &cobra.Command{
		Use:     "seek TOPIC SUBSCRIPTION (--time WHEN | --message-id ID)",
		Aliases: []string{"reset-cursor"},
		Short:   "Move a subscription to a message or to a moment",
		Example: "  spoolctl subscriptions seek orders billing --time 3h\n" +
			"  spoolctl subscriptions seek orders billing --message-id earliest",
		Args:              rangeArgs(1, 2),
		ValidArgsFunction: f.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.on.parse(args); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.on.flags(cmd)
	cmd.Flags().StringVarP(&o.time, "time", "t", "", "RFC 3339, or how long ago: 3h, 2d")
	cmd.Flags().StringVarP(&o.id, "message-id", "m", "", "earliest, latest or LEDGER:ENTRY: the next message to be delivered")
	return mutating(cmd, &o.dryRun)
}

func (o *subscriptionsSeek) run(ctx context.Context) error {
	if (o.time == "") == (o.id == "") {
		return format.Usagef("give either --time or --message-id")
	}
	done := change{Action: "moved", Kind: "subscription", Name: o.on.name()}
	if o.id != "" {
		id, err := messageID(o.id)
		if err != nil {
			return err
		}
		done.Detail = "to " + o.id
		return o.f.change(ctx, o.dryRun, admin.SeekMessage(o.on.topic, o.on.sub, id), done)
	}
	at, err := format.ParseTime(o.time, o.f.now())
	if err != nil {
		return &format.Error{Kind: format.ErrUsage, Err: err}
	}
	done.Detail = "to " + at.UTC().Format(time.RFC3339)
	return o.f.change(ctx, o.dryRun, admin.SeekTime(o.on.topic, o.on.sub, at), done)
}
