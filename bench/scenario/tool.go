package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
	"spoolctl/storage"
)

const toolRuns = 10 // of which the median counts, where a run takes milliseconds

// inspect compares the offline inspector on a large spool with bare Pebble and with itself on a small spool. Both spools
// are in the system's cache.
func inspect() Scenario {
	const size, small = kib, 10 << 10 // 10 MiB
	spoolctl := func(spool string, args ...string) func(ctx context.Context, e *Env) ([]float64, error) {
		return func(ctx context.Context, e *Env) ([]float64, error) {
			return value(e.toolTime(ctx, append(append([]string{e.Spoolctl, "inspect"}, args...), "--memory", budget, "--spool", e.data(spool))...))
		}
	}
	speed := func(e *Env, u peer.Usage) float64 { return float64(e.messages(tenGiB)) * size / 1e6 / u.Wall.Seconds() }
	unit := []string{"ms"}
	return Scenario{
		Name: "inspect", What: "the inspector on 10 GiB on 100 topics with a subscription each, in the system's cache",
		Prepare: func(ctx context.Context, e *Env) error {
			if err := e.own(); err != nil {
				return err
			}
			for spool, n := range map[string]int{"large": e.messages(tenGiB), "small": small} {
				if err := e.manyTopics(ctx, spool, n); err != nil {
					return err
				}
			}
			_, err := e.bare(ctx, "scan", "large") // now it is in the cache
			return err
		},
		Sides: []Side{
			{"inspect verify", []string{"MB/s of payload", "MiB resident"}, func(ctx context.Context, e *Env) ([]float64, error) {
				u, err := peer.Run(ctx, e.log("spoolctl"), e.Limits, e.Spoolctl, "inspect", "verify", "--memory", budget, "--spool", e.data("large"))
				return []float64{speed(e, u), float64(u.PeakRSS) / mib}, err
			}},
			{"bare Pebble iterator", []string{"MB/s of payload"}, func(ctx context.Context, e *Env) ([]float64, error) {
				u, err := e.bare(ctx, "scan", "large")
				return value(speed(e, u), err)
			}},
			{"inspect summary, 10 GiB", unit, spoolctl("large", "summary")},
			{"inspect summary, 10 MiB", unit, spoolctl("small", "summary")},
			{"inspect backlog, 10 GiB", unit, spoolctl("large", "backlog")},
			{"inspect backlog, 10 MiB", unit, spoolctl("small", "backlog")},
			{"inspect summary, first output, 10 GiB", unit, func(ctx context.Context, e *Env) ([]float64, error) {
				return value(repeated(func() (time.Duration, error) {
					return firstOutput(ctx, e.Spoolctl, "inspect", "summary", "--memory", budget, "--spool", e.data("large"))
				}))
			}},
			{"bare read-only open, 10 GiB", unit, func(ctx context.Context, e *Env) ([]float64, error) {
				return value(e.toolTime(ctx, e.Bare, "open", e.store("large")))
			}},
		},
		Targets: []Target{
			{Row: "10", To: &At{1, 0}, Must: 0.50, Goal: 0.80},
			{Row: "11", Of: At{2, 0}, To: &At{3, 0}, Lower: true, Must: 3, Goal: 1.2},
			{Row: "11", Of: At{4, 0}, To: &At{5, 0}, Lower: true, Must: 3, Goal: 1.2},
			{Row: "12", Of: At{6, 0}, To: &At{7, 0}, Lower: true, Must: 3, Goal: 1.5},
		},
	}
}

// budget is the inspector's --memory.
const budget = "256MiB"

// manyTopics makes a spool with n messages of 1 KiB on 100 topics with a subscription each.
func (e *Env) manyTopics(ctx context.Context, spool string, n int) error {
	_, err := e.fill(ctx, spool, func(s *peer.Spoold) error { return e.publishTo(ctx, s, 100, n, load.NewRing(kib)) })
	return err
}

// BigSpool makes the large spool of the scenario inspect, and returns its folder, which is below e.Dir: 10 GiB of payloads
// times e.Scale.
func BigSpool(ctx context.Context, e *Env) (spool string, err error) {
	e.begin("big-spool")
	if err := e.own(); err != nil {
		return "", err
	}
	return e.data("big"), e.manyTopics(ctx, "big", e.messages(tenGiB))
}

// startup is what every use of the tool pays.
func startup() Scenario {
	side := func(arg string) func(ctx context.Context, e *Env) ([]float64, error) {
		return func(ctx context.Context, e *Env) ([]float64, error) {
			return value(e.toolTime(ctx, e.Spoolctl, arg))
		}
	}
	return Scenario{
		Name: "startup", What: "spoolctl without a spool, from exec to exit",
		Sides: []Side{{"spoolctl --help", []string{"ms"}, side("--help")}, {"spoolctl version", []string{"ms"}, side("version")}},
		Targets: []Target{
			{Row: "18", Lower: true, Must: 30, Goal: 10},
			{Row: "18", Of: At{1, 0}, Lower: true, Must: 30, Goal: 10},
		},
	}
}

func (e *Env) store(spool string) string { return filepath.Join(e.data(spool), storage.StoreDir) }

func (e *Env) bare(ctx context.Context, verb, spool string) (peer.Usage, error) {
	return peer.Run(ctx, e.log("bare"), e.Limits, e.Bare, verb, e.store(spool))
}

// toolTime runs a program some times and returns the median of its times, in milliseconds.
func (e *Env) toolTime(ctx context.Context, argv ...string) (float64, error) {
	log := e.log(filepath.Base(argv[0]))
	return repeated(func() (time.Duration, error) {
		u, err := peer.Run(ctx, log, e.Limits, argv...)
		return u.Wall, err
	})
}

func repeated(do func() (time.Duration, error)) (float64, error) {
	var times []float64
	for range toolRuns {
		d, err := do()
		if err != nil {
			return 0, err
		}
		times = append(times, ms(d))
	}
	return median(times), nil
}

// firstOutput is the time from exec to the first byte.
func firstOutput(ctx context.Context, argv ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, rerr := io.ReadFull(out, make([]byte, 1))
	took := time.Since(start)
	_, derr := io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%v: %w", argv, err)
	}
	return took, errors.Join(rerr, derr)
}
