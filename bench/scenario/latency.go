package scenario

import (
	"context"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latency measures from when a message is due until a consumer has it.
func latency() Scenario {
	const n, size, rate = 100_000, kib, 10_000
	units := []string{"p50 ms", "p99 ms", "p99.9 ms"}
	return Scenario{
		Name: "latency", What: "publish to consume at 10 000 msg/s, 1 KiB, every message acknowledged", LeastRounds: 5,
		Sides: []Side{
			{"spoold", units, func(ctx context.Context, e *Env) ([]float64, error) {
				h := newHistogram()
				err := e.broker(ctx, func(s *peer.Spoold) error {
					f := fanOut(e.topics(1)[0], load.NewRing(size), e.messages(n), 1)
					f.publishers[0].Rate, f.consumers[0].Latency = rate, h
					f.publishers[0].Addr, f.consumers[0].Addr = s.Addr, s.Addr
					_, err := f.run(ctx)
					return err
				})
				return percentiles(h), err
			}},
			{"JetStream, default sync (not durable)", units, withNATS(false, func(ctx context.Context, e *Env, s *peer.NATS) ([]float64, error) {
				h := newHistogram()
				_, err := peer.Stream{Ring: load.NewRing(size), Messages: e.messages(n), Window: window, Consumers: 1, Rate: rate, Latency: h}.EndToEnd(ctx, s)
				return percentiles(h), err
			})},
		},
		Targets: []Target{{Row: "6", Of: At{0, 1}, To: &At{1, 1}, Lower: true, Must: 2.0, Goal: 1.0}},
	}
}

// newHistogram counts microseconds up to a minute.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

func percentiles(h *hdrhistogram.Histogram) []float64 {
	ms := func(p float64) float64 { return float64(h.ValueAtPercentile(p)) / 1000 }
	return []float64{ms(50), ms(99), ms(99.9)}
}
