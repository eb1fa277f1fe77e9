package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
)

const (
	manyTopics = 10_000
	settleTime = 10 * time.Second // until a broker counts as idle
	flushTime  = time.Second      // until a changed cursor is on disk: ten of its intervals
	mib        = 1 << 20
)

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ready starts spoold on a spool, calls do when it is not nil, stops it and returns how long it took to get ready.
func (e *Env) ready(ctx context.Context, spool string, do func(s *peer.Spoold) error) (float64, error) {
	if err := e.own(); err != nil {
		return 0, err
	}
	s, err := e.start(ctx, spool)
	if err != nil {
		return 0, err
	}
	if do != nil {
		err = do(s)
	}
	_, serr := e.stop(s)
	return ms(s.Ready), errors.Join(err, serr)
}

// restart is the time from exec to the first handshake.
func restart() Scenario {
	const size, lost = kib, 100_000
	unit := []string{"ms to ready"}
	withRSS := []string{"ms to ready", "MiB resident"}
	return Scenario{
		Name: "restart", What: "from exec to the first handshake; the backlog is 10 GiB on 10 000 topics",
		Prepare: func(ctx context.Context, e *Env) error {
			if err := e.own(); err != nil {
				return err
			}
			_, err := e.fill(ctx, "backlog", func(s *peer.Spoold) error {
				return e.publishTo(ctx, s, manyTopics, e.messages(tenGiB), load.NewRing(size))
			})
			return err
		},
		Sides: []Side{
			{"spoold, no spool yet", unit, func(ctx context.Context, e *Env) ([]float64, error) {
				if err := os.RemoveAll(e.data("spool")); err != nil {
					return nil, err
				}
				return value(e.ready(ctx, "spool", nil))
			}},
			{"spoold, empty spool", unit, func(ctx context.Context, e *Env) ([]float64, error) { return value(e.ready(ctx, "spool", nil)) }},
			{"spoold, backlog", withRSS, func(ctx context.Context, e *Env) ([]float64, error) {
				var rss int64
				v, err := e.ready(ctx, "backlog", func(s *peer.Spoold) (err error) {
					rss, err = s.RSS()
					return err
				})
				return []float64{v, float64(rss) / mib}, err
			}},
			{"spoold, backlog, killed under load before", unit, func(ctx context.Context, e *Env) ([]float64, error) {
				s, err := e.start(ctx, "backlog")
				if err != nil {
					return nil, err
				}
				_, err = load.Publish{Addr: s.Addr, Topics: e.topics(manyTopics), Ring: load.NewRing(size), Messages: e.messages(lost), Window: window}.Run(ctx)
				u, kerr := s.Kill()
				e.account(u)
				if err := errors.Join(err, kerr); err != nil {
					return nil, err
				}
				return value(e.ready(ctx, "backlog", nil))
			}},
		},
		Targets: []Target{
			{Row: "17", Lower: true, Must: 100, Goal: 50},
			{Row: "17", Of: At{1, 0}, Lower: true, Must: 100, Goal: 50},
			{Row: "17", Of: At{2, 0}, Lower: true, Must: 1000, Goal: 300},
		},
	}
}

// idle is the memory of a broker to which nothing happens.
func idle() Scenario {
	return Scenario{
		Name: "idle", What: "10 000 topics with a subscription and a message each, idle for 10 s", MostRounds: 1,
		Sides: []Side{
			{"spoold, after their creation", []string{"MiB resident"}, func(ctx context.Context, e *Env) ([]float64, error) {
				if err := e.own(); err != nil {
					return nil, err
				}
				var rss float64
				_, err := e.fill(ctx, "spool", func(s *peer.Spoold) error {
					if err := e.publishTo(ctx, s, manyTopics, manyTopics, load.NewRing(kib)); err != nil {
						return err
					}
					var err error
					rss, err = idleRSS(ctx, s)
					return err
				})
				return value(rss, err)
			}},
			{"spoold, after a restart", []string{"MiB resident"}, func(ctx context.Context, e *Env) ([]float64, error) {
				var rss float64
				_, err := e.ready(ctx, "spool", func(s *peer.Spoold) (err error) {
					rss, err = idleRSS(ctx, s)
					return err
				})
				return value(rss, err)
			}},
		},
		Targets: []Target{
			{Row: "16", Lower: true, Must: 200, Goal: 80},
			{Row: "16", Of: At{1, 0}, Lower: true, Must: 200, Goal: 80},
		},
	}
}

// idleRSS waits and returns the resident memory in MiB.
func idleRSS(ctx context.Context, s *peer.Spoold) (float64, error) {
	if err := wait(ctx, settleTime); err != nil {
		return 0, err
	}
	v, err := s.RSS()
	return float64(v) / mib, err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// state is what is measured where a broker holds a lot of state: memory, the bytes that the flush of one changed cursor
// takes, and the start that follows.
var stateUnits = []string{"MiB resident", "KiB to flush a cursor", "ms to ready", "MiB resident after a restart"}

func (e *Env) state(ctx context.Context, topic string, name string, prepare func(s *peer.Spoold) error) ([]float64, error) {
	if err := e.own(); err != nil {
		return nil, err
	}
	var before, after, flush float64
	written := func(s *peer.Spoold) (float64, error) { return s.Metric(ctx, "spoold_pebble_wal_written_bytes_total") }
	_, err := e.fill(ctx, "spool", func(s *peer.Spoold) error {
		err := prepare(s)
		if err != nil {
			return err
		}
		if before, err = idleRSS(ctx, s); err != nil {
			return err
		}
		err = load.AckOne(ctx, s.Addr, load.Subscription{Topic: topic, Name: name}, func() (err error) {
			if err := wait(ctx, flushTime); err != nil { // what attaching has changed
				return err
			}
			flush, err = written(s)
			return err
		})
		if err := errors.Join(err, wait(ctx, flushTime)); err != nil {
			return err
		}
		total, err := written(s)
		flush = total - flush
		return err
	})
	if err != nil {
		return nil, err
	}
	start, err := e.ready(ctx, "spool", func(s *peer.Spoold) (err error) {
		after, err = idleRSS(ctx, s)
		return err
	})
	return []float64{before, flush / kib, start, after}, err
}

// stateTargets are rows 16 and 17 where issue 3 asks for them.
func stateTargets() []Target {
	return []Target{
		{Row: "16", Lower: true, Must: 512, Goal: 300},
		{Row: "17", Of: At{0, 2}, Lower: true, Must: 1000, Goal: 300},
	}
}

func manySubscriptions() Scenario {
	const each, connections = 10, 8
	return Scenario{
		Name: "subscriptions", What: "100 000 subscriptions on 10 000 topics", MostRounds: 1,
		Sides: []Side{{"spoold", stateUnits, func(ctx context.Context, e *Env) ([]float64, error) {
			topics := e.topics(max(connections, int(manyTopics*e.Scale)))
			return e.state(ctx, topics[0], fmt.Sprint(subscription, 0), func(s *peer.Spoold) error {
				errs := make([]error, connections)
				var wg sync.WaitGroup
				for c := range connections {
					var subs []load.Subscription
					for i := c; i < len(topics); i += connections {
						for j := range each {
							subs = append(subs, load.Subscription{Topic: topics[i], Name: fmt.Sprint(subscription, j)})
						}
					}
					wg.Go(func() { errs[c] = load.CreateSubscriptions(ctx, s.Addr, subs...) })
				}
				wg.Wait()
				if err := errors.Join(errs...); err != nil {
					return err
				}
				_, err := load.Publish{Addr: s.Addr, Topics: topics, Ring: load.NewRing(kib), Messages: len(topics), Window: window}.Run(ctx)
				return err
			})
		}}},
		Targets: stateTargets(),
	}
}

func holes() Scenario {
	const n, size = 2_000_000, 100
	return Scenario{
		Name: "holes", What: "a cursor with one million holes: every other message of 2 million acknowledged", MostRounds: 1,
		Sides: []Side{{"spoold", stateUnits, func(ctx context.Context, e *Env) ([]float64, error) {
			topic := e.topics(1)[0]
			m := e.messages(n)
			return e.state(ctx, topic, subscription, func(s *peer.Spoold) error {
				if err := keep(ctx, s.Addr, []string{topic}); err != nil {
					return err
				}
				if _, err := (load.Publish{Addr: s.Addr, Topics: []string{topic}, Ring: load.NewRing(size), Messages: m, Window: window}).Run(ctx); err != nil {
					return err
				}
				_, err := consumeAll(ctx, load.Consume{Addr: s.Addr, Subscription: load.Subscription{Topic: topic, Name: subscription}, Permits: permits, AckEvery: 2}, m)
				return err
			})
		}}},
		Targets: stateTargets(),
	}
}
