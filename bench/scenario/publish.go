package scenario

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
)

const perSecond = "msg/s"

// value is what a side with one value returns.
func value(v float64, err error) ([]float64, error) { return []float64{v}, err }

// spooldPublish publishes over one connection to topics in turn.
func spooldPublish(topics, messages, size int) func(context.Context, *Env) ([]float64, error) {
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	return func(ctx context.Context, e *Env) ([]float64, error) {
		n, v := e.messages(messages), 0.0
		err := e.broker(ctx, func(s *peer.Spoold) error {
			names := e.topics(topics)
			if err := keep(ctx, s.Addr, names); err != nil {
				return err
			}
			res, err := load.Publish{Addr: s.Addr, Topics: names, Ring: ring(), Messages: n, Window: window}.Run(ctx)
			v = float64(n) / res.Took.Seconds()
			return err
		})
		return value(v, err)
	}
}

func barePublish(messages, size int) func(context.Context, *Env) ([]float64, error) {
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	return func(_ context.Context, e *Env) ([]float64, error) {
		p, err := peer.OpenPebble(e.data("pebble"))
		if err != nil {
			return nil, err
		}
		v, err := p.Publish(ring(), e.messages(messages))
		return value(v, errors.Join(err, p.Close()))
	}
}

// withNATS runs a server for one measurement.
func withNATS(always bool, do func(ctx context.Context, e *Env, n *peer.NATS) ([]float64, error)) func(context.Context, *Env) ([]float64, error) {
	return func(ctx context.Context, e *Env) ([]float64, error) {
		n, err := peer.StartNATS(e.data("peer"), always)
		if err != nil {
			return nil, err
		}
		v, err := do(ctx, e, n)
		return v, errors.Join(err, n.Stop())
	}
}

func jetStreamPublish(messages, size int, always bool) func(context.Context, *Env) ([]float64, error) {
	return withNATS(always, func(ctx context.Context, e *Env, n *peer.NATS) ([]float64, error) {
		return value(peer.Stream{Ring: load.NewRing(size), Messages: e.messages(messages), Window: window}.Publish(ctx, n))
	})
}

func redisPublish(messages, size int) func(context.Context, *Env) ([]float64, error) {
	return func(ctx context.Context, e *Env) ([]float64, error) {
		r, err := peer.StartRedis(ctx, e.data("peer"), e.log("redis"), e.Limits)
		if err != nil {
			return nil, err
		}
		v, err := r.Publish(ctx, load.NewRing(size), e.messages(messages))
		return value(v, errors.Join(err, r.Stop()))
	}
}

func publish() Scenario {
	const n, size = 1_000_000, kib
	unit := []string{perSecond}
	return Scenario{
		Name: "publish", What: "one connection, one topic, 1 KiB, unbatched, fsync before the receipt",
		Sides: []Side{
			{"spoold", unit, spooldPublish(1, n, size)},
			{"bare Pebble, pipelined", unit, barePublish(n, size)},
			{"JetStream, default sync (not durable)", unit, jetStreamPublish(n/2, size, false)},
			{"JetStream, sync always", unit, jetStreamPublish(n/50, size, true)},
			{"Redis streams, appendfsync always", unit, redisPublish(n/5, size)},
		},
		Targets: []Target{
			{Row: "1", To: &At{1, 0}, Must: 0.60, Goal: 0.80},
			{Row: "2", To: &At{2, 0}, Must: 1.5, Goal: 2.2},
			{Row: "2", To: &At{3, 0}, Must: 30, Goal: 60},
			{Row: "2", To: &At{4, 0}, Must: 4, Goal: 7},
		},
	}
}

func stockClients() Scenario {
	const n, size = 1_000_000, kib
	unit := []string{perSecond}
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	return Scenario{
		Name: "publish-stock", What: "one topic, 1 KiB, stock clients with their own batching",
		Sides: []Side{
			{"spoold, pulsar-client-go", unit, func(ctx context.Context, e *Env) ([]float64, error) {
				v := 0.0
				err := e.broker(ctx, func(s *peer.Spoold) (err error) {
					names := e.topics(1)
					if err := keep(ctx, s.Addr, names); err != nil {
						return err
					}
					v, err = load.StockPublish(ctx, s.Addr, names[0], ring(), e.messages(n), window)
					return err
				})
				return value(v, err)
			}},
			{"JetStream, nats.go", unit, jetStreamPublish(n/2, size, false)},
		},
		Targets: []Target{{Row: "3", To: &At{1, 0}, Must: 1.2, Goal: 1.7}},
	}
}

func manyProducers() Scenario {
	const n, size, connections = 1_000_000, kib, 8
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	return Scenario{
		Name: "publish-many", What: "8 connections, one topic, 1 KiB",
		Sides: []Side{{"spoold", []string{perSecond}, func(ctx context.Context, e *Env) ([]float64, error) {
			each, v := e.messages(n)/connections, 0.0
			err := e.broker(ctx, func(s *peer.Spoold) error {
				names := e.topics(1)
				if err := keep(ctx, s.Addr, names); err != nil {
					return err
				}
				start := time.Now()
				errs := make([]error, connections)
				var wg sync.WaitGroup
				for i := range connections {
					wg.Go(func() {
						_, errs[i] = load.Publish{Addr: s.Addr, Topics: names, Ring: ring(), Messages: each, Window: window / connections}.Run(ctx)
					})
				}
				wg.Wait()
				v = float64(each*connections) / time.Since(start).Seconds()
				return errors.Join(errs...)
			})
			return value(v, err)
		}}},
	}
}

func largeMessages() Scenario {
	const n, size = 20_000, 100 * kib
	unit := []string{perSecond}
	return Scenario{
		Name: "publish-100k", What: "one connection, one topic, 100 KiB",
		Sides: []Side{
			{"spoold", unit, spooldPublish(1, n, size)},
			{"bare Pebble, pipelined", unit, barePublish(n, size)},
		},
		Targets: []Target{{To: &At{1, 0}}},
	}
}

// sustained is the median of seconds, after a first fifth in which memory fills.
func sustained() Scenario {
	const n, size = 6_000_000, kib
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	return Scenario{
		Name: "sustained", What: "6 GiB to one topic, 1 KiB: median second, and the slowest one",
		Sides: []Side{
			{"spoold", []string{perSecond, "msg/s in the slowest second"}, func(ctx context.Context, e *Env) ([]float64, error) {
				var seconds []float64
				err := e.broker(ctx, func(s *peer.Spoold) error {
					names := e.topics(1)
					if err := keep(ctx, s.Addr, names); err != nil {
						return err
					}
					var receipts atomic.Int64
					ctx, cancel := context.WithCancel(ctx)
					var wg sync.WaitGroup
					wg.Go(func() { seconds = perInterval(ctx, &receipts) })
					_, err := load.Publish{Addr: s.Addr, Topics: names, Ring: ring(), Messages: e.messages(n), Window: window, Receipts: &receipts}.Run(ctx)
					cancel()
					wg.Wait()
					return err
				})
				steady := seconds[len(seconds)/5:]
				if len(steady) == 0 {
					return []float64{math.NaN(), math.NaN()}, err
				}
				return []float64{median(steady), slices.Min(steady)}, err
			}},
			{"bare Pebble, pipelined", []string{perSecond}, barePublish(n, size)},
		},
		Targets: []Target{{To: &At{1, 0}}},
	}
}

// perInterval returns how much a counter grew in each whole second until ctx ends.
func perInterval(ctx context.Context, counter *atomic.Int64) []float64 {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var out []float64
	for before := int64(0); ; {
		select {
		case <-ctx.Done():
			return out
		case <-tick.C:
			now := counter.Load()
			out = append(out, float64(now-before))
			before = now
		}
	}
}

func topics() Scenario {
	const n, size = 1_000_000, kib
	unit := []string{perSecond}
	return Scenario{
		Name: "topics", What: "the same load on one, 1 000 and 10 000 topics, one message to each in turn",
		Sides: []Side{
			{"spoold, 1 000 topics", unit, spooldPublish(1000, n, size)},
			{"spoold, 1 topic", unit, spooldPublish(1, n, size)},
			{"spoold, 10 000 topics", unit, spooldPublish(10_000, n, size)},
		},
		Targets: []Target{
			{Row: "4", To: &At{1, 0}, Must: 0.60, Goal: 0.80},
			{Row: "4", Of: At{2, 0}, To: &At{1, 0}, Must: 0.60, Goal: 0.80},
		},
	}
}
