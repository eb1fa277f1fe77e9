package peer

import (
	"context"
	"fmt"
	"time"

	"spoolctl/bench/load"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is traffic over a JetStream stream on files, with the server's own client.
type Stream struct {
	Ring      *load.Ring
	Messages  int
	Window    int // messages without an acknowledgement, at most: of the publisher, and of each consumer
	Consumers int // durable ones, each of which acknowledges every message
	Rate      float64
	Latency   *hdrhistogram.Histogram // microseconds, with Rate and one consumer; nil = not measured
}

// Publish publishes asynchronously, waits for every acknowledgement and returns messages per second.
func (s Stream) Publish(ctx context.Context, n *NATS) (float64, error) {
	js, done, err := s.open(ctx, n)
	if err != nil {
		return 0, err
	}
	defer done()
	start := time.Now()
	if err := s.publish(ctx, js); err != nil {
		return 0, err
	}
	return float64(s.Messages) / time.Since(start).Seconds(), nil
}

// EndToEnd publishes while the consumers receive; it returns deliveries per second.
func (s Stream) EndToEnd(ctx context.Context, n *NATS) (float64, error) {
	js, done, err := s.open(ctx, n)
	if err != nil {
		return 0, err
	}
	defer done()
	ended := make(chan error, s.Consumers)
	for i := range s.Consumers {
		stop, err := s.consume(ctx, n, i, ended)
		if err != nil {
			return 0, err
		}
		defer stop()
	}
	start := time.Now()
	if err := s.publish(ctx, js); err != nil {
		return 0, err
	}
	for range s.Consumers {
		select {
		case err := <-ended:
			if err != nil {
				return 0, err
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return float64(s.Messages*s.Consumers) / time.Since(start).Seconds(), nil
}

func (s Stream) open(ctx context.Context, n *NATS) (jetstream.JetStream, func(), error) {
	nc, err := nats.Connect(n.srv.ClientURL())
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(s.Window))
	if err == nil {
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: subject, Subjects: []string{subject}, Storage: jetstream.FileStorage})
	}
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return js, nc.Close, nil
}

func (s Stream) publish(ctx context.Context, js jetstream.JetStream) error {
	var pacer *load.Pacer
	if s.Rate > 0 {
		pacer = load.NewPacer(s.Rate)
	}
	for i := range s.Messages {
		payload := s.Ring.Payload(i)
		if pacer != nil {
			if _, err := pacer.Wait(ctx, i); err != nil {
				return err
			}
			load.Stamp(payload, pacer.Due(i))
		}
		if _, err := js.PublishAsync(subject, payload, jetstream.WithStallWait(time.Minute)); err != nil {
			return err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// consume starts one consumer, which says once when it has everything or failed.
func (s Stream) consume(ctx context.Context, n *NATS, i int, ended chan<- error) (stop func(), err error) {
	nc, err := nats.Connect(n.srv.ClientURL())
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, err
	}
	c, err := js.CreateOrUpdateConsumer(ctx, subject, jetstream.ConsumerConfig{Durable: fmt.Sprint("c", i), AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: s.Window})
	if err != nil {
		nc.Close()
		return nil, err
	}
	got := 0
	cc, err := c.Consume(func(m jetstream.Msg) {
		if got == s.Messages {
			return
		}
		if s.Latency != nil {
			_ = s.Latency.RecordValue(max(1, load.Age(m.Data()).Microseconds())) // beyond its range is a minute
		}
		got++
		err := m.Ack()
		if err != nil {
			got = s.Messages
		}
		if got == s.Messages {
			ended <- err
		}
	}, jetstream.PullMaxMessages(s.Window))
	if err != nil {
		nc.Close()
		return nil, err
	}
	return func() { cc.Stop(); nc.Close() }, nil
}
