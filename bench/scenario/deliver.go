package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
	"spoolctl/wire/pb"
)

const deliveries = "deliveries/s"

// flows are publishers and consumers that run at once.
type flows struct {
	publishers []load.Publish
	consumers  []load.Consume
	goals      []*load.Goal
}

// run starts the consumers, then the publishers, and returns the time from the first message published to the last goal.
func (f flows) run(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ready, wg sync.WaitGroup
	ready.Add(len(f.consumers))
	errs := make([]error, len(f.consumers)+len(f.publishers))
	for i, c := range f.consumers {
		wg.Go(func() {
			c.Ready = sync.OnceFunc(ready.Done)
			defer c.Ready()
			if errs[i] = c.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	ready.Wait()
	published := make([]load.Published, len(f.publishers))
	for i, p := range f.publishers {
		wg.Go(func() {
			var err error
			if published[i], err = p.Run(ctx); err != nil {
				errs[len(f.consumers)+i] = err
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	var start, end time.Time
	for _, p := range published {
		if start.IsZero() || p.Start.Before(start) {
			start = p.Start
		}
	}
	for _, g := range f.goals {
		if g.At().After(end) {
			end = g.At()
		}
	}
	return end.Sub(start), nil
}

// fanOut is one publisher and durable subscriptions of which each gets and acknowledges everything.
func fanOut(topic string, ring *load.Ring, messages, subscriptions int) flows {
	f := flows{publishers: []load.Publish{{Topics: []string{topic}, Ring: ring, Messages: messages, Window: window}}}
	for i := range subscriptions {
		g := load.NewGoal(messages)
		f.goals = append(f.goals, g)
		f.consumers = append(f.consumers, load.Consume{
			Subscription: load.Subscription{Topic: topic, Name: fmt.Sprint(subscription, i)}, Goal: g, Permits: permits, AckEvery: 1,
		})
	}
	return f
}

// spooldFlows runs flows against spoold; it returns deliveries per second and allocations of the broker per message
// published.
func spooldFlows(prepare func(ctx context.Context, e *Env, s *peer.Spoold) (f flows, deliveries, published int, err error)) func(context.Context, *Env) ([]float64, error) {
	return func(ctx context.Context, e *Env) ([]float64, error) {
		var rate, allocations float64
		err := e.broker(ctx, func(s *peer.Spoold) error {
			f, deliveries, published, err := prepare(ctx, e, s)
			if err != nil {
				return err
			}
			for i := range f.consumers {
				f.consumers[i].Addr = s.Addr
			}
			for i := range f.publishers {
				f.publishers[i].Addr = s.Addr
			}
			counted, err := countAllocations(ctx, s)
			if err != nil {
				return err
			}
			took, err := f.run(ctx)
			if err != nil {
				return err
			}
			total, err := counted()
			rate, allocations = float64(deliveries)/took.Seconds(), total/float64(published)
			return err
		})
		return []float64{rate, allocations}, err
	}
}

// countAllocations counts what the broker allocates until the result is called, without what reading the counter takes.
// NaN when the broker does not tell.
func countAllocations(ctx context.Context, s *peer.Spoold) (func() (float64, error), error) {
	const metric = "go_memstats_mallocs_total"
	read := func() (float64, error) {
		v, err := s.Metric(ctx, metric)
		if errors.Is(err, peer.ErrExternal) {
			return math.NaN(), nil
		}
		return v, err
	}
	before, err := read()
	if err != nil {
		return nil, err
	}
	after, err := read()
	return func() (float64, error) {
		v, err := read()
		return v - after - (after - before), err
	}, err
}

var flowUnits = []string{deliveries, "allocations per message published"}

func endToEnd() Scenario {
	const n, size = 1_000_000, kib
	return Scenario{
		Name: "end-to-end", What: "publish and consume at once, 1 to 1, 1 KiB, every message acknowledged, acknowledgements durable",
		Sides: []Side{
			{"spoold", flowUnits, spooldFlows(func(_ context.Context, e *Env, _ *peer.Spoold) (flows, int, int, error) {
				m := e.messages(n)
				return fanOut(e.topics(1)[0], load.NewRing(size), m, 1), m, m, nil
			})},
			{"JetStream, explicit ack", []string{deliveries}, jetStreamEndToEnd(n/4, size, 1)},
		},
		Targets: []Target{
			{Row: "5", To: &At{1, 0}, Must: 1.8, Goal: 3.0},
			// "0 amortised" is read as one for every ten messages, "0" as one for every hundred.
			{Row: "15", Of: At{0, 1}, Lower: true, Must: 0.1, Goal: 0.01},
		},
	}
}

func jetStreamEndToEnd(messages, size, consumers int) func(context.Context, *Env) ([]float64, error) {
	return withNATS(false, func(ctx context.Context, e *Env, n *peer.NATS) ([]float64, error) {
		s := peer.Stream{Ring: load.NewRing(size), Messages: e.messages(messages), Window: window, Consumers: consumers}
		return value(s.EndToEnd(ctx, n))
	})
}

func eightSubscriptions() Scenario {
	const n, size, subs = 200_000, kib, 8
	return Scenario{
		Name: "8-subscriptions", What: "8 durable subscriptions, 1 KiB, every message acknowledged by each",
		Sides: []Side{
			{"spoold", flowUnits, spooldFlows(func(_ context.Context, e *Env, _ *peer.Spoold) (flows, int, int, error) {
				m := e.messages(n)
				return fanOut(e.topics(1)[0], load.NewRing(size), m, subs), m * subs, m, nil
			})},
			{"JetStream, 8 durable consumers", []string{deliveries}, jetStreamEndToEnd(n/4, size, subs)},
		},
		Targets: []Target{{Row: "7", To: &At{1, 0}, Must: 3, Goal: 6}},
	}
}

func fanOut16() Scenario {
	const n, size, subs = 100_000, kib, 16
	return Scenario{
		Name: "fan-out-16", What: "16 durable subscriptions, 1 KiB, every message acknowledged by each",
		Sides: []Side{{"spoold", flowUnits, spooldFlows(func(_ context.Context, e *Env, _ *peer.Spoold) (flows, int, int, error) {
			m := e.messages(n)
			return fanOut(e.topics(1)[0], load.NewRing(size), m, subs), m * subs, m, nil
		})}},
	}
}

func shared() Scenario {
	const n, size, consumers = 500_000, kib, 4
	return Scenario{
		Name: "shared", What: "4 consumers of one Shared subscription, 1 KiB, every message acknowledged",
		Sides: []Side{{"spoold", flowUnits, spooldFlows(func(ctx context.Context, e *Env, s *peer.Spoold) (flows, int, int, error) {
			m := e.messages(n)
			topic, g := e.topics(1)[0], load.NewGoal(m)
			if err := keep(ctx, s.Addr, []string{topic}); err != nil {
				return flows{}, 0, 0, err
			}
			f := flows{publishers: []load.Publish{{Topics: []string{topic}, Ring: load.NewRing(size), Messages: m, Window: window}}, goals: []*load.Goal{g}}
			for range consumers {
				f.consumers = append(f.consumers, load.Consume{
					Subscription: load.Subscription{Topic: topic, Name: subscription, Type: pb.CommandSubscribe_Shared}, Goal: g, Permits: permits, AckEvery: 1,
				})
			}
			return f, m, m, nil
		})}},
	}
}

func partitioned() Scenario {
	const n, size, partitions = 800_000, kib, 4
	return Scenario{
		Name: "partitioned", What: "4 partitions, a publisher and a consumer for each, 1 KiB, every message acknowledged",
		Sides: []Side{{"spoold", flowUnits, spooldFlows(func(ctx context.Context, e *Env, s *peer.Spoold) (flows, int, int, error) {
			each := e.messages(n) / partitions
			topic := e.topics(1)[0]
			if err := createPartitioned(ctx, s, topic, partitions); err != nil {
				return flows{}, 0, 0, err
			}
			var all flows
			ring := load.NewRing(size)
			for i := range partitions {
				f := fanOut(fmt.Sprintf("%s-partition-%d", topic, i), ring, each, 1)
				all.publishers = append(all.publishers, f.publishers...)
				all.consumers = append(all.consumers, f.consumers...)
				all.goals = append(all.goals, f.goals...)
			}
			return all, each * partitions, each * partitions, nil
		})}},
	}
}

func createPartitioned(ctx context.Context, s *peer.Spoold, topic string, partitions int) error {
	if s.Web == "" {
		return peer.ErrExternal
	}
	url := s.Web + "/admin/v2/" + strings.Replace(topic, "://", "/", 1) + "/partitions"
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(fmt.Sprint(partitions)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

// nonPersistent bounds how far a consumer may be behind: a broker of non-persistent topics drops what it cannot hold, and
// a run that loses one message fails.
func nonPersistent() Scenario {
	const n, size, subs, lag = 1_000_000, 100, 8, 50_000
	return Scenario{
		Name: "non-persistent", What: "8 subscriptions of a non-persistent topic, 100 B, nothing lost",
		Sides: []Side{
			{"spoold", flowUnits, spooldFlows(func(_ context.Context, e *Env, _ *peer.Spoold) (flows, int, int, error) {
				m := e.messages(n)
				f := fanOut("non-"+e.topics(1)[0], load.NewRing(size), m, subs)
				for i := range f.consumers {
					c := &f.consumers[i]
					c.Permits, c.AckEvery, c.Count = 1<<30, 0, new(atomic.Int64)
					f.publishers[0].Consumers = append(f.publishers[0].Consumers, c.Count)
				}
				f.publishers[0].Lag = lag
				return f, m * subs, m, nil
			})},
			{"core NATS", []string{deliveries}, withNATS(false, func(ctx context.Context, e *Env, s *peer.NATS) ([]float64, error) {
				return value(s.FanOut(ctx, load.NewRing(size), e.messages(n), subs))
			})},
		},
		Targets: []Target{{Row: "8", To: &At{1, 0}, Must: 0.9, Goal: 1.4}},
	}
}

func redelivery() Scenario {
	const unacked, times, size = 40_000, 10, kib // below the limit of unacknowledged messages of a consumer
	return Scenario{
		Name: "redelivery", What: "40 000 unacknowledged messages of a Shared subscription, asked for again and again, 1 KiB",
		Sides: []Side{{"spoold", []string{deliveries}, func(ctx context.Context, e *Env) ([]float64, error) {
			n, v := min(unacked, e.messages(unacked)), 0.0
			err := e.broker(ctx, func(s *peer.Spoold) error {
				topic := e.topics(1)[0]
				if err := keep(ctx, s.Addr, []string{topic}); err != nil {
					return err
				}
				if _, err := (load.Publish{Addr: s.Addr, Topics: []string{topic}, Ring: load.NewRing(size), Messages: n, Window: window}).Run(ctx); err != nil {
					return err
				}
				took, err := load.Redeliver(ctx, s.Addr, load.Subscription{Topic: topic, Name: subscription, Type: pb.CommandSubscribe_Shared}, n, times)
				v = float64(n*times) / took.Seconds()
				return err
			})
			return value(v, err)
		}}},
	}
}
