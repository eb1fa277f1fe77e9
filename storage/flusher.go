package storage

import (
	"context"
	"errors"
	"sync"
	"time"
)

// flusher is the background work of an open store: changed cursors are written, and topics are trimmed, at every tick.
type flusher struct {
	s      *Store
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	cursors []*Cursor
	trims   map[*Topic]struct{}
	dead    []Garbage
	ended   []endedEpoch // not known to be flushed, oldest first

	flushed uint64 // every epoch up to this one is in tables
	rested  bool   // the committer was told that there is nothing to do; used by the clock's goroutine
}

// endedEpoch is an epoch whose memtable is being flushed.
type endedEpoch struct {
	epoch   uint64
	flushed <-chan struct{}
}

// startFlusher begins the background work of a store in which everything up to the epoch is in tables, and in which the
// garbage was left by an earlier run.
func startFlusher(s *Store, flushed uint64, dead []Garbage) *flusher {
	ctx, cancel := context.WithCancel(context.Background())
	f := &flusher{s: s, cancel: cancel, trims: map[*Topic]struct{}{}, flushed: flushed, dead: dead}
	// The queue's clock must go on while the work waits for a disk that is stuck: deadlines are for that.
	f.every(ctx, func() {
		s.queue.tick(s.opt.Now())
		f.rest()
	})
	f.every(ctx, s.guardSpace)
	f.every(ctx, func() { f.work(ctx) })
	return f
}

// every does something at each tick, until ctx ends.
func (f *flusher) every(ctx context.Context, do func()) {
	f.wg.Go(func() {
		tick := time.NewTicker(f.s.opt.CursorFlushInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do()
			case <-ctx.Done():
				return
			}
		}
	})
}

func (f *flusher) stop() {
	f.cancel()
	f.wg.Wait()
}

// cursor notes that c must be written at the next tick.
func (f *flusher) cursor(c *Cursor) {
	f.mu.Lock()
	f.cursors = append(f.cursors, c)
	f.mu.Unlock()
}

// trim notes that t may have ledgers that nobody needs.
func (f *flusher) trim(t *Topic) {
	f.mu.Lock()
	f.trims[t] = struct{}{}
	f.mu.Unlock()
}

// garbage notes entries that nobody owns any more.
func (f *flusher) garbage(g []Garbage) {
	if len(g) == 0 {
		return
	}
	f.mu.Lock()
	f.dead = append(f.dead, g...)
	f.mu.Unlock()
}

// epochEnded notes an epoch whose flush has begun.
func (f *flusher) epochEnded(epoch uint64, flushed <-chan struct{}) {
	f.mu.Lock()
	f.ended = append(f.ended, endedEpoch{epoch, flushed})
	f.mu.Unlock()
}

// restAfter is for how long a store has nothing to do before it ends an epoch early.
const restAfter = 5 * time.Second

// rest tells the committer, once, when there is nothing to do.
func (f *flusher) rest() {
	if f.s.queue.idle() < restAfter {
		f.rested = false
	} else if !f.rested {
		f.rested = f.s.queue.push(op{kind: opRest}) == nil
	}
}

func (f *flusher) work(ctx context.Context) {
	f.mu.Lock()
	cursors, trims := f.cursors, f.trims
	f.cursors, f.trims = nil, map[*Topic]struct{}{}
	f.mu.Unlock()
	for _, c := range cursors {
		c.mu.Lock()
		c.listed = false
		c.mu.Unlock()
		if err := f.s.queue.push(op{kind: opCursor, cursor: c}); err != nil {
			return // the store closes; closing writes every cursor
		}
	}
	for t := range trims {
		if _, err := t.Trim(ctx); err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
			f.s.log.Error("trim failed", "topic", t.full, "error", err)
		}
	}
	f.reclaim(ctx)
}
