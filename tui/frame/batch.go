package frame

import (
	"context"
	"time"
)

// Batch scrapes at once and then every interval, and hands each frame to emit: frames times in all, 0 = until ctx ends.
func Batch(ctx context.Context, m *Monitor, interval time.Duration, frames int, emit func(Frame) error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 0; frames == 0 || n < frames; n++ {
		if n > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		m.Collect(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := emit(m.Frame()); err != nil {
			return err
		}
	}
	return nil
}
