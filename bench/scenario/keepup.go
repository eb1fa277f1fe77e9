package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
)

// keepUp publishes much more than what is kept: consumers follow closely and acknowledge everything, so the disk must stay
// nearly empty and the memory flat.
func keepUp() Scenario {
	const n, size, topics, lag = 20 << 20, kib, 4, 50_000
	return Scenario{
		Name: "keep-up", What: "20 GiB of random payloads to 4 topics, 1 KiB, consumers that keep up and acknowledge every message", MostRounds: 1,
		Sides: []Side{{
			"spoold", []string{"GiB on disk at the end", "GiB on disk at the most", "bytes written per byte of payload", "MiB resident in the first half at the most", "MiB resident in the second half at the most"},
			func(ctx context.Context, e *Env) ([]float64, error) {
				if err := e.own(); err != nil {
					return nil, err
				}
				each := e.messages(n) / topics
				var w watch
				var end float64
				u, err := e.fill(ctx, "spool", func(s *peer.Spoold) error {
					var f flows
					ring := load.NewRing(size)
					for _, t := range e.topics(topics) {
						one := fanOut(t, ring, each, 1)
						one.consumers[0].Addr, one.publishers[0].Addr = s.Addr, s.Addr
						one.consumers[0].Count = new(atomic.Int64)
						one.publishers[0].Consumers, one.publishers[0].Lag = []*atomic.Int64{one.consumers[0].Count}, lag
						f.publishers = append(f.publishers, one.publishers...)
						f.consumers = append(f.consumers, one.consumers...)
						f.goals = append(f.goals, one.goals...)
					}
					stop := w.start(ctx, e.data("spool"), s)
					_, err := f.run(ctx)
					err = errors.Join(err, stop())
					time.Sleep(settleTime) // what is dead is given back in the background
					size, serr := folderSize(e.data("spool"))
					end = float64(size)
					return errors.Join(err, serr)
				})
				written := math.NaN()
				if u.Written >= 0 {
					written = float64(u.Written) / float64(each*topics*size)
				}
				first, second := w.halves()
				return []float64{end / gib, w.disk / gib, written, first / mib, second / mib}, err
			},
		}},
		Targets: []Target{
			{Row: "disk", Lower: true, Must: 1, Goal: 1},
			{Row: "9", Of: At{0, 2}, Lower: true, Must: 2.5, Goal: 2.2},
			{Row: "16", Of: At{0, 4}, Lower: true, Must: 512, Goal: 300},
			{Row: "flat", Of: At{0, 4}, To: &At{0, 3}, Lower: true, Must: 1.1, Goal: 1.0},
		},
	}
}

const gib = 1 << 30

// watch looks at a daemon and its spool every second.
type watch struct {
	disk float64 // bytes, at the most
	rss  []float64
}

// start begins to look; the result ends it and returns what went wrong.
func (w *watch) start(ctx context.Context, dir string, s *peer.Spoold) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var first error
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				size, err := folderSize(dir)
				rss, rerr := s.RSS()
				if first = errors.Join(err, rerr); first != nil {
					return
				}
				w.disk = max(w.disk, float64(size))
				w.rss = append(w.rss, float64(rss))
			}
		}
	})
	return func() error {
		cancel()
		wg.Wait()
		return first
	}
}

// halves returns the most memory in each half of the time.
func (w *watch) halves() (first, second float64) {
	first, second = math.NaN(), math.NaN()
	for i, v := range w.rss {
		half := &first
		if i >= len(w.rss)/2 {
			half = &second
		}
		if !(v <= *half) {
			*half = v
		}
	}
	return first, second
}

// folderSize sums up the files below dir; those that go away meanwhile do not count.
func folderSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				n += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", dir, err)
	}
	return n, nil
}
