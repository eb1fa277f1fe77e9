package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/traffic"
	"spoolctl/wire"
)

type consume struct {
	f    *factory
	opts traffic.ConsumeOptions
	kind string
	from string
}

func newConsume(f *factory) *cobra.Command {
	o := &consume{f: f}
	cmd := &cobra.Command{
		Use:   "consume TOPIC --subscription SUB",
		Short: "Receive, print and acknowledge messages through the client protocol",
		Example: "  spoolctl consume orders --subscription billing --count 10\n" +
			"  spoolctl consume orders --subscription audit --from earliest --timeout 5s -o ndjson",
		Args:              exactArgs(1),
		ValidArgsFunction: f.completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.opts.Topic = args[0]
			return o.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.opts.Subscription, "subscription", "", "the subscription; made when it is missing")
	o.kind = "exclusive"
	fl.Var(newChoice(&o.kind, "exclusive", "shared", "failover", "key_shared"), "type", "subscription type")
	o.from = "latest"
	fl.Var(newChoice(&o.from, "earliest", "latest"), "from", "where a new subscription starts")
	fl.IntVarP(&o.opts.Count, "count", "n", 0, "how many messages (0 = until interrupted or --timeout)")
	fl.Var((*durationValue)(&o.opts.Wait), "timeout", "end when no message came for so long (0 = wait)")
	fl.BoolVar(&o.opts.KeepBacklog, "no-ack", false, "do not acknowledge")
	return changes(cmd)
}

func (o *consume) run(ctx context.Context) error {
	t, err := topic(o.opts.Topic)
	if err != nil {
		return err
	}
	switch {
	case o.opts.Subscription == "":
		return format.Usagef("--subscription is needed")
	case o.opts.Count < 0:
		return format.Usagef("--count %d is negative", o.opts.Count)
	}
	if limit := o.f.global.limit; limit > 0 && (o.opts.Count == 0 || limit < o.opts.Count) {
		// A row beyond the limit must not be received at all.
		o.opts.Count = limit
	}
	client, err := o.f.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	o.opts.Client, o.opts.Topic, o.opts.Earliest = client, t.String(), o.from == "earliest"
	o.opts.Type = map[string]pulsar.SubscriptionType{
		"exclusive": pulsar.Exclusive, "shared": pulsar.Shared, "failover": pulsar.Failover, "key_shared": pulsar.KeyShared,
	}[o.kind]
	received := 0
	quiet := false
	err = printStream(o.f, o.rows(ctx, &received, &quiet), format.ListOptions{Live: true})
	if err != nil {
		return failed("topic", t.String(), err)
	}
	if quiet && received < o.opts.Count {
		return &format.Error{Msg: fmt.Sprintf("received %d of %d messages: nothing more came within %s", received, o.opts.Count, format.Duration(o.opts.Wait))}
	}
	return nil
}

// rows are the messages as printed. A quiet end is the end of the list, not an
// error in it.
func (o *consume) rows(ctx context.Context, received *int, quiet *bool) iter.Seq2[messageRow, error] {
	return func(yield func(messageRow, error) bool) {
		for m, err := range traffic.Consume(ctx, o.opts) {
			if errors.Is(err, traffic.ErrQuiet) {
				*quiet = true
				return
			}
			if err != nil {
				yield(messageRow{}, err)
				return
			}
			*received++
			if !yield(receivedRow(m), nil) {
				return
			}
		}
	}
}

func receivedRow(m pulsar.Message) messageRow {
	r := messageRow{
		ID: clientID(m.ID(), isPartition(m.Topic())), Topic: m.Topic(), PublishTime: m.PublishTime().Truncate(time.Millisecond),
		Producer: optional(m.ProducerName()), Redelivered: new(m.RedeliveryCount()), Key: optional(m.Key()),
		Properties: m.Properties(), Size: len(m.Payload()), Payload: m.Payload(),
	}
	if !m.EventTime().IsZero() && m.EventTime().UnixMilli() > 0 {
		r.EventTime = m.EventTime()
	}
	return r
}

// clientID writes the library's id as everywhere else in spoolctl. The library
// says partition 0 for a topic without partitions too.
func clientID(id pulsar.MessageID, partitioned bool) string {
	m := wire.MessageID{
		Position:  wire.Position{Ledger: id.LedgerID(), Entry: id.EntryID()},
		Partition: -1, Batch: id.BatchIdx(),
	}
	if partitioned {
		m.Partition = id.PartitionIdx()
	}
	return m.String()
}

func isPartition(name string) bool {
	t, err := wire.ParseTopic(name)
	return err == nil && t.Partition() >= 0
}
