package traffic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

// The subscriptions of sample traffic.
const (
	SampleFast  = "fast"  // acknowledges everything
	SampleSlow  = "slow"  // acknowledges from the start, but falls behind
	SampleStuck = "stuck" // acknowledged two of three messages, then stopped
)

// SampleOptions say what sample traffic is made on.
type SampleOptions struct {
	Client pulsar.Client
	Topic  string
	// Messages are published first; the stuck subscription sees only these.
	Messages int
	// Rate is messages per second of the traffic that follows.
	Rate float64
	// Ready is called when the first messages are handled, and returns when the
	// traffic is to end. ctx of the call ends with Sample's.
	Ready func(ctx context.Context) error
}

// Sample makes traffic that leaves something to look at: a topic with a fast, a
// slow and a stuck subscription.
func Sample(ctx context.Context, o SampleOptions) error {
	for _, name := range []string{SampleFast, SampleSlow, SampleStuck} {
		c, err := sampleConsumer(o, name)
		if err != nil {
			return err
		}
		c.Close()
	}
	if _, err := Produce(ctx, ProduceOptions{Client: o.Client, Topic: o.Topic, Count: o.Messages, Payload: `{"order":%d}`, Key: "customer-%d", NoBatch: true}); err != nil {
		return fmt.Errorf("publish the first messages: %w", err)
	}
	if err := stick(ctx, o); err != nil {
		return fmt.Errorf("subscription %s: %w", SampleStuck, err)
	}
	return background(ctx, o)
}

func sampleConsumer(o SampleOptions, name string) (pulsar.Consumer, error) {
	c, err := o.Client.Subscribe(pulsar.ConsumerOptions{
		Topic: o.Topic, SubscriptionName: name, Type: pulsar.Shared, AckWithResponse: true, ReceiverQueueSize: 100,
		SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe as %s: %w", name, err)
	}
	return c, nil
}

// stick receives all messages, acknowledges two of three and leaves.
func stick(ctx context.Context, o SampleOptions) error {
	c, err := sampleConsumer(o, SampleStuck)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range o.Messages {
		m, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		if i%3 == 0 {
			continue
		}
		if err := c.Ack(m); err != nil {
			return err
		}
	}
	return nil
}

// background publishes at a rate while the fast subscription keeps up and the
// slow one does not, until Ready returns or one of them fails.
func background(parent context.Context, o SampleOptions) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	jobs := []func() error{
		func() error {
			_, err := Produce(ctx, ProduceOptions{Client: o.Client, Topic: o.Topic, Count: 1 << 30, Payload: `{"order":%d}`, Rate: o.Rate, NoBatch: true})
			return err
		},
		func() error { return drain(ctx, o, SampleFast, 0) },
		func() error { return drain(ctx, o, SampleSlow, time.Duration(4*float64(time.Second)/o.Rate)) },
		func() error { return o.Ready(ctx) },
	}
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Go(func() {
			errs[i] = job()
			cancel() // whoever ends first ends them all
		})
	}
	wg.Wait()
	if err := parent.Err(); err != nil {
		return err
	}
	for i, err := range errs {
		if errors.Is(err, context.Canceled) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// drain receives and acknowledges, pausing after each message, until ctx ends.
func drain(ctx context.Context, o SampleOptions, name string, pause time.Duration) error {
	c, err := sampleConsumer(o, name)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		m, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		if err := c.Ack(m); err != nil {
			return err
		}
		if pause == 0 {
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
