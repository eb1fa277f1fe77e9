package storage

import "context"

// gate lets a limited number of operations in at a time; a nil gate lets all in.
type gate chan struct{}

func newGate(limit int) gate {
	if limit <= 0 {
		return nil
	}
	return make(gate, limit)
}

// enter waits for a place, or until ctx ends; leave must follow.
func (g gate) enter(ctx context.Context) error {
	if g == nil {
		return nil
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) leave() {
	if g != nil {
		<-g
	}
}
