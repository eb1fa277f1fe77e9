package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
	"spoolctl/wire"
)

// subscriptionRow is one subscription with its state. Pointers are nil when
// the broker did not say.
type subscriptionRow struct {
	Name         string    `json:"name" col:"SUBSCRIPTION,name"`
	Type         *string   `json:"type" col:"TYPE"`
	Consumers    int       `json:"consumers" col:"CONSUMERS"`
	Backlog      *int64    `json:"backlog" col:"BACKLOG" fmt:"count"`
	BacklogBytes *int64    `json:"backlogBytes" col:"BACKLOG_SIZE" fmt:"bytes"`
	Unacked      *int64    `json:"unacked" col:"UNACKED" fmt:"count"`
	Delayed      *int64    `json:"delayed" col:"DELAYED,wide" fmt:"count"`
	RateOut      *float64  `json:"msgRateOut" col:"OUT/s" fmt:"rate"`
	Throughput   *float64  `json:"bytesRateOut" col:"BYTES_OUT/s,wide" fmt:"rate"`
	Redelivered  *float64  `json:"msgRateRedeliver" col:"REDELIVER/s,wide" fmt:"rate"`
	Oldest       time.Time `json:"oldestUnacked" col:"OLDEST" fmt:"age"`
	Holes        *int64    `json:"holes" col:"HOLES,wide" fmt:"count"`
	Blocked      *bool     `json:"blockedOnUnacked" col:"BLOCKED,wide"`
	Durable      *bool     `json:"durable" col:"DURABLE,wide"`
}

func subscriptionOf(name string, s admin.SubscriptionStats) subscriptionRow {
	r := subscriptionRow{
		Name: name, Type: optional(s.Type), Consumers: len(s.Consumers),
		Backlog: s.MsgBacklog, Unacked: s.UnackedMessages, Delayed: s.MsgDelayed,
		RateOut: s.MsgRateOut, Throughput: s.MsgThroughputOut, Redelivered: s.MsgRateRedeliver,
		Holes: s.Holes, Blocked: s.Blocked, Durable: s.Durable,
	}
	// Brokers write -1 for a size that was not computed.
	if s.BacklogSize != nil && *s.BacklogSize >= 0 {
		r.BacklogBytes = s.BacklogSize
	}
	if s.EarliestPublish != nil && *s.EarliestPublish > 0 {
		r.Oldest = time.UnixMilli(*s.EarliestPublish)
	}
	return r
}

func newSubscriptionsList(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:               "list TOPIC",
		Short:             "List the subscriptions of a topic with their backlog",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := topic(args[0])
			if err != nil {
				return err
			}
			rows, err := fetchSubscriptions(cmd.Context(), f, t)
			if err != nil {
				return failed("topic", t.String(), err)
			}
			return printList(f, rows, format.ListOptions{})
		},
	}
}

func fetchSubscriptions(ctx context.Context, f *factory, t wire.TopicName) ([]subscriptionRow, error) {
	c, err := f.admin()
	if err != nil {
		return nil, err
	}
	n, err := f.partitioned(ctx, t)
	if err != nil {
		return nil, err
	}
	s, _, err := c.Stats(ctx, t, n > 0)
	if err != nil {
		return nil, err
	}
	var rows []subscriptionRow
	for _, name := range slices.Sorted(maps.Keys(s.Subscriptions)) {
		rows = append(rows, subscriptionOf(name, s.Subscriptions[name]))
	}
	return rows, nil
}

// backlogRow is a subscription of a topic, for lists over several topics.
type backlogRow struct {
	Topic string `json:"topic" col:"TOPIC"`
	subscriptionRow
}

func newSubscriptionsBacklog(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:               "backlog TOPIC [SUBSCRIPTION]",
		Short:             "Show what is not yet acknowledged, for each subscription",
		Args:              rangeArgs(1, 2),
		ValidArgsFunction: f.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := topic(args[0])
			if err != nil {
				return err
			}
			subs, err := fetchSubscriptions(cmd.Context(), f, t)
			if err != nil {
				return failed("topic", t.String(), err)
			}
			var rows []backlogRow
			for _, s := range subs {
				if len(args) < 2 || s.Name == args[1] {
					rows = append(rows, backlogRow{Topic: t.String(), subscriptionRow: s})
				}
			}
			if len(args) == 2 && len(rows) == 0 {
				return noSubscription(t, args[1])
			}
			return printList(f, rows, format.ListOptions{})
		},
	}
}

func newSubscriptionsDescribe(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:               "describe TOPIC SUBSCRIPTION",
		Short:             "Show everything the broker says about a subscription and its consumers",
		Args:              exactArgs(2),
		ValidArgsFunction: f.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := topic(args[0])
			if err != nil {
				return err
			}
			raw, err := describeSubscription(cmd.Context(), f, t, args[1])
			if err != nil {
				return failed("topic", t.String(), err)
			}
			return f.print(raw)
		},
	}
}

// describeSubscription keeps fields that this program does not know.
func describeSubscription(ctx context.Context, f *factory, t wire.TopicName, sub string) (json.RawMessage, error) {
	c, err := f.admin()
	if err != nil {
		return nil, err
	}
	n, err := f.partitioned(ctx, t)
	if err != nil {
		return nil, err
	}
	_, raw, err := c.Stats(ctx, t, n > 0)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Subscriptions map[string]json.RawMessage `json:"subscriptions"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	one, ok := doc.Subscriptions[sub]
	if !ok {
		return nil, noSubscription(t, sub)
	}
	return one, nil
}

func noSubscription(t wire.TopicName, sub string) error {
	return &format.Error{
		Msg: "no subscription " + sub, Err: admin.ErrNotFound,
		Hint: "see `spoolctl subscriptions list " + t.String() + "`",
	}
}
