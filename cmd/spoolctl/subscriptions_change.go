package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
	"spoolctl/wire"
)

type subscriptionsCreate struct {
	f      *factory
	on     subscriptionArg
	at     string
	dryRun bool
}

func newSubscriptionsCreate(f *factory) *cobra.Command {
	o := &subscriptionsCreate{f: f}
	cmd := &cobra.Command{
		Use:               "create TOPIC SUBSCRIPTION",
		Short:             "Create a subscription at the end of a topic, or at a message",
		Example:           "  spoolctl subscriptions create orders billing --message-id earliest",
		Args:              rangeArgs(1, 2),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.on.parse(args); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.on.flags(cmd)
	cmd.Flags().StringVarP(&o.at, "message-id", "m", "latest", "where it starts: earliest, latest or LEDGER:ENTRY")
	return mutating(cmd, &o.dryRun)
}

func (o *subscriptionsCreate) run(ctx context.Context) error {
	id, err := messageID(o.at)
	if err != nil {
		return err
	}
	return o.f.change(ctx, o.dryRun, admin.CreateSubscription(o.on.topic, o.on.sub, id), change{
		Action: "created", Kind: "subscription", Name: o.on.name(), Detail: "at " + o.at,
	})
}

// messageID reads a position from a flag.
func messageID(s string) (wire.MessageID, error) {
	id, err := wire.ParseMessageID(s)
	if err != nil {
		return id, &format.Error{Kind: format.ErrUsage, Err: err, Hint: "write earliest, latest or LEDGER:ENTRY, for example 12:340"}
	}
	return id, nil
}

func newSubscriptionsDelete(f *factory) *cobra.Command {
	var on subscriptionArg
	var force, dryRun bool
	cmd := &cobra.Command{
		Use:               "delete TOPIC SUBSCRIPTION",
		Aliases:           []string{"unsubscribe"},
		Short:             "Delete a subscription and forget what it has not yet read",
		Args:              rangeArgs(1, 2),
		ValidArgsFunction: f.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := on.parse(args); err != nil {
				return err
			}
			if err := f.confirm(dryRun, "delete subscription "+on.name()); err != nil {
				return err
			}
			return f.change(cmd.Context(), dryRun, admin.DeleteSubscription(on.topic, on.sub, force),
				change{Action: "deleted", Kind: "subscription", Name: on.name()})
		},
	}
	on.flags(cmd)
	cmd.Flags().BoolVarP(&force, "force", "f", false, "also while consumers are connected")
	return mutating(cmd, &dryRun)
}

func newSubscriptionsSkip(f *factory) *cobra.Command {
	var on subscriptionArg
	var count int64
	var dryRun bool
	cmd := &cobra.Command{
		Use:               "skip TOPIC SUBSCRIPTION --count N",
		Short:             "Acknowledge the next N messages without delivering them",
		Args:              rangeArgs(1, 2),
		ValidArgsFunction: f.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := on.parse(args); err != nil {
				return err
			}
			if count < 1 {
				return format.Usagef("--count is needed: how many messages to skip")
			}
			return f.forEachPartition(cmd.Context(), dryRun, on, func(t wire.TopicName) admin.Request {
				return admin.SkipMessages(t, on.sub, count)
			}, change{Action: "advanced", Kind: "subscription", Name: on.name(), Detail: fmt.Sprintf("%d messages skipped", count)})
		},
	}
	on.flags(cmd)
	cmd.Flags().Int64VarP(&count, "count", "n", 0, "how many messages")
	return mutating(cmd, &dryRun)
}

func newSubscriptionsClear(f *factory) *cobra.Command {
	var on subscriptionArg
	var dryRun bool
	cmd := &cobra.Command{
		Use:               "clear-backlog TOPIC SUBSCRIPTION",
		Short:             "Acknowledge everything: the subscription starts anew at the end of the topic",
		Args:              rangeArgs(1, 2),
		ValidArgsFunction: f.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := on.parse(args); err != nil {
				return err
			}
			if err := f.confirm(dryRun, "clear the backlog of subscription "+on.name()); err != nil {
				return err
			}
			return f.forEachPartition(cmd.Context(), dryRun, on, func(t wire.TopicName) admin.Request {
				return admin.ClearBacklog(t, on.sub)
			}, change{Action: "cleared", Kind: "backlog of subscription", Name: on.name()})
		},
	}
	on.flags(cmd)
	return mutating(cmd, &dryRun)
}

// forEachPartition changes a topic, or every partition of a partitioned topic,
// where brokers accept such a call on one partition only. Partitions that fail
// do not stop the others; they make the result partial.
func (f *factory) forEachPartition(ctx context.Context, dryRun bool, on subscriptionArg, ask func(wire.TopicName) admin.Request, done change) error {
	n, err := f.partitioned(ctx, on.topic)
	if err != nil && !dryRun {
		return failed("topic", on.topic.String(), err)
	}
	if n == 0 {
		return f.change(ctx, dryRun, ask(on.topic), done)
	}
	c, err := f.admin()
	if err != nil {
		return err
	}
	var plans []plannedRequest
	var failures []string
	for i := range n {
		r := ask(on.topic.WithPartition(i))
		if dryRun {
			plans = append(plans, plan(c.URL(), r))
			continue
		}
		if _, err := c.Do(ctx, r); err != nil {
			if ctx.Err() != nil || as[*admin.UnreachableError](err) || errors.Is(err, admin.ErrUnauthorized) {
				return failed(done.Kind, done.Name, err)
			}
			failures = append(failures, fmt.Sprintf("partition %d: %v", i, err))
		}
	}
	switch {
	case dryRun:
		return printList(f, plans, format.ListOptions{})
	case len(failures) == n:
		return &format.Error{Msg: done.Kind + " " + done.Name, Err: errors.New(strings.Join(failures, "; "))}
	case len(failures) > 0:
		return &format.Error{
			Kind: format.ErrPartial, Msg: fmt.Sprintf("%s %s: %d of %d partitions failed", done.Kind, done.Name, len(failures), n),
			Err: errors.New(strings.Join(failures, "; ")), Details: map[string]any{"failures": failures},
		}
	}
	done.Detail = strings.TrimSpace(done.Detail + fmt.Sprintf(" in each of %d partitions", n))
	return f.print(done)
}
