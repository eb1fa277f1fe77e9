package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
)

// messageRow is a message read from a broker.
type messageRow struct {
	ID          string            `json:"messageId" col:"MESSAGE_ID,name"`
	Topic       string            `json:"topic" col:"TOPIC,wide"`
	PublishTime time.Time         `json:"publishTime" col:"PUBLISHED" fmt:"time"`
	EventTime   time.Time         `json:"eventTime" col:"EVENT_TIME,wide" fmt:"time"`
	Producer    *string           `json:"producer" col:"PRODUCER,wide"`
	Redelivered *uint32           `json:"redeliveryCount" col:"REDELIVERED,wide"`
	Key         *string           `json:"key" col:"KEY"`
	Properties  map[string]string `json:"properties" col:"PROPERTIES"`
	Size        int               `json:"size" col:"SIZE" fmt:"bytes"`
	Payload     []byte            `json:"payload" col:"PAYLOAD" fmt:"preview"`
}

type topicsPeek struct {
	f     *factory
	topic string
	sub   string
	count int
}

func newTopicsPeek(f *factory) *cobra.Command {
	o := &topicsPeek{f: f}
	cmd := &cobra.Command{
		Use:               "peek TOPIC --subscription SUB",
		Aliases:           []string{"peek-messages"},
		Short:             "Show the next messages of a subscription without moving it",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.topic = args[0]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.sub, "subscription", "", "the subscription")
	cmd.Flags().IntVarP(&o.count, "count", "n", 1, "how many entries; a batch is one entry and prints all its messages")
	return cmd
}

// newSubscriptionsPeek is the same with the subscription as an argument.
func newSubscriptionsPeek(f *factory) *cobra.Command {
	o := &topicsPeek{f: f}
	cmd := &cobra.Command{
		Use:               "peek TOPIC SUBSCRIPTION",
		Short:             "Show the next messages of a subscription without moving it",
		Args:              exactArgs(2),
		ValidArgsFunction: f.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.topic, o.sub = args[0], args[1]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().IntVarP(&o.count, "count", "n", 1, "how many entries; a batch is one entry and prints all its messages")
	return cmd
}

func (o *topicsPeek) run(ctx context.Context) error {
	t, err := topic(o.topic)
	if err != nil {
		return err
	}
	if o.sub == "" {
		return format.Usagef("--subscription is needed")
	}
	if o.count < 1 {
		return format.Usagef("--count %d is not positive", o.count)
	}
	c, err := o.f.admin()
	if err != nil {
		return err
	}
	n, err := o.f.partitioned(ctx, t)
	if err != nil {
		return failed("topic", t.String(), err)
	}
	if n > 0 {
		return &format.Error{
			Kind: format.ErrUsage, Msg: "topic " + t.String() + " is partitioned",
			Hint: "peek into one partition: " + t.WithPartition(0).String(),
		}
	}
	msgs, err := c.Peek(ctx, t, o.sub, o.count)
	if err != nil {
		return failed("subscription", o.sub+" of "+t.String(), err)
	}
	rows := make([]messageRow, len(msgs))
	for i, m := range msgs {
		rows[i] = messageRow{
			ID: m.ID.String(), Topic: t.String(), PublishTime: m.PublishTime, EventTime: m.EventTime,
			Producer: optional(m.Producer), Key: optional(m.Key), Properties: m.Properties,
			Size: len(m.Payload), Payload: m.Payload,
		}
	}
	return printList(o.f, rows, format.ListOptions{})
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
