package traffic

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

// ConsumeOptions say what to receive.
type ConsumeOptions struct {
	Client       pulsar.Client
	Topic        string
	Subscription string
	Type         pulsar.SubscriptionType
	// Earliest starts a new subscription at the first message, not at the end.
	Earliest bool
	// Count is how many messages; 0 is no end.
	Count int
	// Wait ends the run when no message came for so long; 0 waits for ever.
	Wait time.Duration
	// KeepBacklog receives without acknowledging.
	KeepBacklog bool
	// Name of the consumer; empty lets the library choose.
	Name string
	// QueueSize is how many messages the library fetches ahead; 0 is its default.
	QueueSize int
}

// ErrQuiet ends a run in which no message came for ConsumeOptions.Wait.
var ErrQuiet = errors.New("no message came in time")

// Consume receives messages and acknowledges each after the loop body has run
// for it. A message at which the loop is left is not acknowledged: whoever
// leaves may not have handled it, and it is delivered again. The sequence ends
// after Count messages, or with an error.
func Consume(ctx context.Context, o ConsumeOptions) iter.Seq2[pulsar.Message, error] {
	return func(yield func(pulsar.Message, error) bool) {
		start := pulsar.SubscriptionPositionLatest
		if o.Earliest {
			start = pulsar.SubscriptionPositionEarliest
		}
		c, err := o.Client.Subscribe(pulsar.ConsumerOptions{
			Topic: o.Topic, SubscriptionName: o.Subscription, Type: o.Type,
			SubscriptionInitialPosition: start, Name: o.Name, ReceiverQueueSize: o.QueueSize,
			AckWithResponse: true,
			// Without it the library keeps acknowledgements to itself until a
			// batch is complete, and loses them when it closes before.
			EnableBatchIndexAcknowledgment: true,
		})
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.Close()
		for i := 0; o.Count <= 0 || i < o.Count; i++ {
			m, err := receive(ctx, c, o.Wait)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(m, nil) {
				return
			}
			if o.KeepBacklog {
				continue
			}
			if err := c.Ack(m); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

func receive(ctx context.Context, c pulsar.Consumer, wait time.Duration) (pulsar.Message, error) {
	if wait <= 0 {
		return c.Receive(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := c.Receive(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, ErrQuiet
	}
	return m, err
}
