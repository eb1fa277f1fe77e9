package scenario

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
)

const tenGiB = 10 << 20 // messages of 1 KiB

// deviceBytes counts what the daemon hands to the block devices until it has stopped: logs, tables and compactions.
func deviceBytes() Scenario {
	const n, size = 4_000_000, kib
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	unit := []string{"bytes written per byte of payload"}
	side := func(topics int) func(ctx context.Context, e *Env) ([]float64, error) {
		return func(ctx context.Context, e *Env) ([]float64, error) {
			if err := e.own(); err != nil {
				return nil, err
			}
			messages := e.messages(n)
			u, err := e.fill(ctx, "spool", func(s *peer.Spoold) error { return e.publishTo(ctx, s, topics, messages, ring()) })
			if u.Written < 0 {
				return value(math.NaN(), err)
			}
			return value(float64(u.Written)/float64(messages*size), err)
		}
	}
	return Scenario{
		Name: "device", What: "4 GiB of random payloads, 1 KiB, until the broker has stopped",
		Sides: []Side{{"spoold, 1 topic", unit, side(1)}, {"spoold, 1 000 topics", unit, side(1000)}},
		Targets: []Target{
			{Row: "9", Lower: true, Must: 2.5, Goal: 2.2},
			{Row: "9", Of: At{1, 0}, Lower: true, Must: 2.8, Goal: 2.4},
		},
	}
}

// publishTo publishes to topics in turn, each with a subscription.
func (e *Env) publishTo(ctx context.Context, s *peer.Spoold, topics, messages int, ring *load.Ring) error {
	names := e.topics(topics)
	if err := keep(ctx, s.Addr, names); err != nil {
		return err
	}
	_, err := load.Publish{Addr: s.Addr, Topics: names, Ring: ring, Messages: messages, Window: window}.Run(ctx)
	return err
}

// drain reads a backlog right after it was published, on both sides.
func drain() Scenario {
	const n, size = tenGiB, kib
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	unit := []string{perSecond}
	return Scenario{
		Name: "drain", What: "10 GiB of backlog to one consumer, 1 KiB, every message acknowledged", MostRounds: 1,
		Sides: []Side{
			{"spoold", unit, func(ctx context.Context, e *Env) ([]float64, error) {
				m, v := e.messages(n), 0.0
				err := e.broker(ctx, func(s *peer.Spoold) error {
					topic := e.topics(1)[0]
					if err := keep(ctx, s.Addr, []string{topic}); err != nil {
						return err
					}
					if _, err := (load.Publish{Addr: s.Addr, Topics: []string{topic}, Ring: ring(), Messages: m, Window: window}).Run(ctx); err != nil {
						return err
					}
					took, err := consumeAll(ctx, load.Consume{Addr: s.Addr, Subscription: load.Subscription{Topic: topic, Name: subscription}, Permits: permits, AckEvery: 1}, m)
					v = float64(m) / took.Seconds()
					return err
				})
				return value(v, err)
			}},
			{"bare Pebble iterator to a socket", unit, func(ctx context.Context, e *Env) ([]float64, error) {
				p, err := peer.OpenPebble(e.data("pebble"))
				if err != nil {
					return nil, err
				}
				v := 0.0
				if _, err = p.Publish(ring(), e.messages(n)); err == nil {
					v, err = p.Drain(ctx, e.messages(n))
				}
				return value(v, errors.Join(err, p.Close()))
			}},
		},
		Targets: []Target{{Row: "13", To: &At{1, 0}, Must: 0.4, Goal: 0.7}},
	}
}

// consumeAll receives messages that are there already; the time counts from connecting.
func consumeAll(ctx context.Context, c load.Consume, messages int) (time.Duration, error) {
	c.Goal, c.Ready = load.NewGoal(messages), func() {}
	start := time.Now()
	if err := c.Run(ctx); err != nil {
		return 0, err
	}
	return c.Goal.At().Sub(start), nil
}
