package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// gcPercent is how much garbage gathers before it is collected, in percent of what is in use. Nearly all of a broker's
	// memory is long-lived, so that half of Go's default saves much of it and costs about 1 % of the processor.
	gcPercent = 50
	// leastLimit is where the runtime begins to collect more often and to return what is free, in bytes.
	leastLimit = 280 << 20
	// limitEvery is how often the limit follows what is in use; being late costs processor time, never memory that is needed.
	limitEvery = time.Second
)

// economise keeps the process's memory near what it needs, until the returned function is called. GOGC and GOMEMLIMIT, where
// they are set, are left as they are.
func economise() (stop func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		tick := time.NewTicker(limitEvery)
		defer tick.Stop()
		for {
			metrics.Read(live)
			debug.SetMemoryLimit(memoryLimit(live[0].Value.Uint64()))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// memoryLimit is the limit for a heap of which so many bytes are in use: always so far above it that collecting does not
// become the process's main work.
func memoryLimit(live uint64) int64 { return max(leastLimit, int64(live)/2*3+leastLimit/4) }
