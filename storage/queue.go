package storage

import (
	"sync"
	"sync/atomic"
	"time"
)

// opKind says what a queued operation does.
type opKind uint8

const (
	opAppend    opKind = iota // store one entry
	opDuplicate               // report an entry that is stored already, in its turn
	opCursor                  // write what changed of a cursor
	opControl                 // anything else: apply adds to the batch
	opRest                    // there is nothing else to do
)

// op is one operation in the commit queue. The order in the queue is the order on disk.
type op struct {
	kind   opKind
	item   Appended // opAppend, opDuplicate
	ledger *writer  // opAppend, opDuplicate
	cursor *Cursor  // opCursor
	force  bool     // opAppend: its batch is fsynced, whatever the sync mode
	at     int64    // when it was queued, by the store's coarse clock
	apply  func(*batch) error
	done   func(error) // opCursor, opControl: called once, in order, when the operation is as durable as configured
}

// queue is the bounded commit queue: many producers, one consumer.
type queue struct {
	mu       sync.Mutex
	notEmpty sync.Cond
	notFull  sync.Cond
	ops      []op
	bytes    int64
	maxOps   int
	maxBytes int64
	deadline time.Duration
	since    time.Time // when the first of ops was queued
	waiting  int       // entries that wait for room
	busy     int64     // when something was queued last, by the clock
	closed   bool

	// clock is the time of the last tick, in nanoseconds since 1970: reading the time for each entry would cost more than
	// deadlines of many seconds are worth.
	clock atomic.Int64
}

func newQueue(o Options) *queue {
	q := &queue{maxOps: o.QueueOps, maxBytes: o.QueueBytes, deadline: o.StoreDeadline}
	q.notEmpty.L, q.notFull.L = &q.mu, &q.mu
	q.tick(o.Now())
	return q
}

// tick tells the queue what time it is.
func (q *queue) tick(now time.Time) {
	q.clock.Store(now.UnixNano())
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting > 0 {
		q.notFull.Broadcast()
	}
}

// late reports whether what was queued at a time of the clock has waited too long.
func (q *queue) late(at int64) bool { return q.clock.Load()-at > int64(q.deadline) }

// push queues o. Entries wait while the queue is full; the rest, which are few and which completions may queue, never
// wait. It returns ErrClosed when the queue is closed, ErrBackpressure when it stays full for longer than the deadline.
func (q *queue) push(o op) error {
	o.at = q.clock.Load()
	q.mu.Lock()
	defer q.mu.Unlock()
	for o.ledger != nil && !q.closed && (q.bytes >= q.maxBytes || len(q.ops) >= q.maxOps) {
		if q.late(o.at) {
			return ErrBackpressure
		}
		q.waiting++
		q.notFull.Wait()
		q.waiting--
	}
	if q.closed {
		return ErrClosed
	}
	if len(q.ops) == 0 {
		q.since = time.Now()
		q.notEmpty.Signal()
	}
	if o.kind != opRest {
		q.busy = o.at
	}
	q.bytes += int64(len(o.item.Data))
	q.ops = append(q.ops, o)
	return nil
}

// idle returns for how long nothing was queued.
func (q *queue) idle() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Duration(q.clock.Load() - q.busy)
}

// take waits for operations and moves all of them into dst[:0]; since is when the first was queued. ok is false when the
// queue is closed and empty.
func (q *queue) take(dst []op) (ops []op, since time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ops) == 0 {
		if q.closed {
			return dst[:0], since, false
		}
		q.notEmpty.Wait()
	}
	ops, q.ops = q.ops, dst[:0]
	q.bytes = 0
	q.notFull.Broadcast()
	return ops, q.since, true
}

// depth returns what waits now: operations and payload bytes.
func (q *queue) depth() (ops int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ops), q.bytes
}

// close refuses further operations; what is queued is still taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
}
