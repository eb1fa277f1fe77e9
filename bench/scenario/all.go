package scenario

import (
	"context"
	"sync"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
	"spoolctl/wire/pb"
)

// All returns every scenario.
func All() []Scenario {
	return []Scenario{publishOne(), topics1000(), endToEnd(), eightSubscriptions()}
}

func publishOne() Scenario {
	const n, size = 1_000_000, 1024
	return Scenario{
		Name: "publish", Row: "1, 2", What: "persistent publish, 1 topic, 1 KiB, unbatched, fsync before the receipt", Unit: "msg/s",
		Sides: []Side{
			{"spoold", func(ctx context.Context, e Env) (float64, error) { return publish(ctx, e, 1, e.messages(n), size) }},
			{"bare Pebble, pipelined", func(_ context.Context, e Env) (float64, error) {
				return peer.Pebble(e.Dir, e.messages(n), payload(size))
			}},
			{"JetStream, default sync (not durable)", jetStreamPublish(n/2, size, false)},
			{"JetStream, sync always", jetStreamPublish(n/50, size, true)},
		},
		Must: []float64{0.60, 1.5, 30}, Goal: []float64{0.80, 2.2, 60},
	}
}

func jetStreamPublish(n, size int, always bool) func(ctx context.Context, e Env) (float64, error) {
	return func(ctx context.Context, e Env) (float64, error) {
		j, err := peer.StartJetStream(e.Dir, always)
		if err != nil {
			return 0, err
		}
		v, err := j.Publish(ctx, e.messages(n), window, payload(size))
		if serr := j.Stop(); err == nil {
			err = serr
		}
		return v, err
	}
}

func topics1000() Scenario {
	const n, size = 1_000_000, 1024
	return Scenario{
		Name: "topics", Row: "4", What: "the same load on 1 000 topics and on 1", Unit: "msg/s",
		Sides: []Side{
			{"spoold, 1 000 topics", func(ctx context.Context, e Env) (float64, error) { return publish(ctx, e, 1000, e.messages(n), size) }},
			{"spoold, 1 topic", func(ctx context.Context, e Env) (float64, error) { return publish(ctx, e, 1, e.messages(n), size) }},
		},
		Must: []float64{0.60}, Goal: []float64{0.80},
	}
}

func endToEnd() Scenario {
	const n, size = 500_000, 1024
	return Scenario{
		Name: "end-to-end", Row: "5", What: "publish and consume at once, 1 to 1, every message acknowledged", Unit: "msg/s",
		Sides: []Side{
			{"spoold", func(ctx context.Context, e Env) (float64, error) { return fanOut(ctx, e, e.messages(n), size, 1) }},
			{"JetStream, explicit ack", jetStreamEndToEnd(n/4, size, 1)},
		},
		Must: []float64{1.8}, Goal: []float64{3.0},
	}
}

func eightSubscriptions() Scenario {
	const n, size = 200_000, 1024
	return Scenario{
		Name: "8-subscriptions", Row: "7", What: "8 durable subscriptions, every message acknowledged by each", Unit: "deliveries/s",
		Sides: []Side{
			{"spoold", func(ctx context.Context, e Env) (float64, error) { return fanOut(ctx, e, e.messages(n), size, 8) }},
			{"JetStream, 8 durable consumers", jetStreamEndToEnd(n/8, size, 8)},
		},
		Must: []float64{3}, Goal: []float64{6},
	}
}

// fanOut publishes while consumers subscriptions receive and acknowledge everything; it returns deliveries per second.
func fanOut(ctx context.Context, e Env, messages, size, consumers int) (float64, error) {
	s, err := peer.StartSpoold(ctx, e.Spoold, e.Dir)
	if err != nil {
		return 0, err
	}
	v, err := deliver(ctx, s.Addr, messages, size, consumers)
	if serr := s.Stop(); err == nil {
		err = serr
	}
	return v, err
}

func deliver(ctx context.Context, addr string, messages, size, consumers int) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	topic := topicNames(1)[0]
	var ready, wg sync.WaitGroup
	ready.Add(consumers)
	errs := make([]error, consumers+1)
	results := make([]load.Result, consumers)
	for i := range consumers {
		wg.Go(func() {
			once := sync.OnceFunc(ready.Done)
			defer once()
			results[i], errs[i] = load.Consume{Addr: addr, Topic: topic, Subscription: string(rune('a' + i)), Type: pb.CommandSubscribe_Exclusive, Messages: messages, Permits: 10_000, Ready: once}.Run(ctx)
			if errs[i] != nil {
				cancel()
			}
		})
	}
	ready.Wait()
	_, errs[consumers] = load.Publish{Addr: addr, Topics: []string{topic}, Payload: payload(size), Messages: messages, Window: window}.Run(ctx)
	if errs[consumers] != nil {
		cancel()
	}
	wg.Wait()
	longest := 0.0
	for i := range consumers {
		longest = max(longest, results[i].Took.Seconds())
	}
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(messages*consumers) / longest, nil
}

func jetStreamEndToEnd(n, size, consumers int) func(ctx context.Context, e Env) (float64, error) {
	return func(ctx context.Context, e Env) (float64, error) {
		j, err := peer.StartJetStream(e.Dir, false)
		if err != nil {
			return 0, err
		}
		v, err := j.EndToEnd(ctx, e.messages(n), window, consumers, payload(size))
		if serr := j.Stop(); err == nil {
			err = serr
		}
		return v, err
	}
}
