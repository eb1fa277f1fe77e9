package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

// topicInfo is what the broker keeps about a topic besides its messages.
type topicInfo struct {
	Name       string            `json:"name" col:"TOPIC,name"`
	Partitions int               `json:"partitions" col:"PARTITIONS"` // 0: not partitioned
	Properties map[string]string `json:"properties" col:"PROPERTIES"`
}

type topicsGet struct {
	f     *factory
	topic string
}

func newTopicsGet(f *factory) *cobra.Command {
	o := &topicsGet{f: f}
	return &cobra.Command{
		Use:               "get TOPIC",
		Aliases:           []string{"get-partitioned-topic-metadata"},
		Short:             "Show the number of partitions and the properties of a topic",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.topic = args[0]
			return o.run(cmd.Context())
		},
	}
}

func (o *topicsGet) run(ctx context.Context) error {
	t, err := topic(o.topic)
	if err != nil {
		return err
	}
	c, err := o.f.admin()
	if err != nil {
		return err
	}
	meta, err := c.Partitions(ctx, t)
	if err != nil {
		return failed("topic", t.String(), err)
	}
	return o.f.print(topicInfo{Name: t.String(), Partitions: meta.Partitions, Properties: meta.Properties})
}

// partitionRow is one partition with its share of the traffic.
type partitionRow struct {
	Name        string   `json:"name" col:"PARTITION,name"`
	RateIn      *float64 `json:"msgRateIn" col:"IN/s" fmt:"rate"`
	RateOut     *float64 `json:"msgRateOut" col:"OUT/s" fmt:"rate"`
	StorageSize *int64   `json:"storageSize" col:"SIZE" fmt:"bytes"`
	Backlog     *int64   `json:"backlog" col:"BACKLOG" fmt:"count"`
	Error       *string  `json:"error" col:"ERROR"`
}

func newTopicsPartitions(f *factory) *cobra.Command {
	o := &topicsGet{f: f}
	return &cobra.Command{
		Use:               "partitions TOPIC",
		Short:             "List the partitions of a topic with rates, size and largest backlog",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.topic = args[0]
			return o.partitions(cmd.Context())
		},
	}
}

func (o *topicsGet) partitions(ctx context.Context) error {
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
	if n == 0 {
		return &format.Error{Msg: "topic " + t.String() + " has no partitions", Hint: "see `spoolctl topics stats`"}
	}
	rows := make([]partitionRow, n)
	bad := 0
	for i := range rows {
		part := t.WithPartition(i)
		rows[i].Name = part.String()
		s, _, err := c.Stats(ctx, part, false)
		switch {
		case errors.Is(err, admin.ErrNotFound):
			// Nobody has opened this partition yet: it holds nothing to show.
		case err != nil:
			if ctx.Err() != nil || as[*admin.UnreachableError](err) {
				return err
			}
			rows[i].Error = new(err.Error())
			bad++
		default:
			rows[i].RateIn, rows[i].RateOut, rows[i].StorageSize = s.MsgRateIn, s.MsgRateOut, s.StorageSize
			rows[i].Backlog = largestBacklog(s)
		}
	}
	if err := printList(o.f, rows, format.ListOptions{}); err != nil {
		return err
	}
	if bad > 0 {
		return &format.Error{Kind: format.ErrPartial, Msg: "some partitions did not answer"}
	}
	return nil
}

func largestBacklog(s admin.Stats) *int64 {
	var largest *int64
	for _, sub := range s.Subscriptions {
		if sub.MsgBacklog != nil && (largest == nil || *sub.MsgBacklog > *largest) {
			largest = sub.MsgBacklog
		}
	}
	return largest
}
