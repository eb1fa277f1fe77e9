package offload

import (
	"context"
	"slices"
	"sync"
)

// fetch is a block that is in memory or on its way.
type fetch struct {
	done chan struct{} // closed when b and err are set
	b    block
	err  error
}

// wait returns the block once it is there. The fetch goes on when ctx ends.
func (f *fetch) wait(ctx context.Context) (block, error) {
	select {
	case <-f.done:
		return f.b, f.err
	default:
	}
	select {
	case <-f.done:
		return f.b, f.err
	case <-ctx.Done():
		return block{}, ctx.Err()
	}
}

// cache holds the blocks used last, and those on their way. What failed is not kept, so that it can be tried again.
type cache struct {
	limit int64 // bytes

	mu      sync.Mutex
	fetches map[int]*fetch
	order   []int // blocks that are there, the one used longest ago first
	held    int64 // their bytes
	closed  bool
}

// get returns the fetch of block i. When it was not known, it is now, one is added to wg, and finish must be called.
// After close it is one that failed.
func (c *cache) get(i int, wg *sync.WaitGroup) (f *fetch, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		f = &fetch{done: make(chan struct{}), err: ErrClosed}
		close(f.done)
		return f, true
	}
	if f, known = c.fetches[i]; known {
		if at := slices.Index(c.order, i); at >= 0 {
			c.order = append(slices.Delete(c.order, at, at+1), i)
		}
		return f, true
	}
	f = &fetch{done: make(chan struct{})}
	c.fetches[i] = f
	wg.Add(1)
	return f, false
}

// finish keeps the block of a fetch, and drops those used longest ago.
func (c *cache) finish(i int, f *fetch, b block, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.closed {
		err = ErrClosed
	}
	f.b, f.err = b, err
	close(f.done)
	if err != nil {
		delete(c.fetches, i)
		return
	}
	c.order = append(c.order, i)
	c.held += int64(len(b.raw))
	for c.held > c.limit && len(c.order) > 1 {
		oldest := c.order[0]
		c.order = c.order[1:]
		c.held -= int64(len(c.fetches[oldest].b.raw))
		delete(c.fetches, oldest)
	}
}

func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}
