package storage

import (
	"sync"
	"time"
)

// opKind says what a queued operation does.
type opKind uint8

const (
	opAppend  opKind = iota // store one entry
	opCursor                // write what changed of a cursor
	opControl               // anything else: apply adds to the batch
)

// op is one operation in the commit queue. The order in the queue is the order on disk.
type op struct {
	kind   opKind
	item   Appended // opAppend
	ledger *writer  // opAppend
	cursor *Cursor  // opCursor
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
	maxBytes int64
	since    time.Time // when the first of ops was queued
	closed   bool
}

func newQueue(maxBytes int64) *queue {
	q := &queue{maxBytes: maxBytes}
	q.notEmpty.L, q.notFull.L = &q.mu, &q.mu
	return q
}

// push queues o. Appends wait while the queue is full; the rest, which are few and which completions may queue, never
// wait. It returns ErrClosed when the queue is closed.
func (q *queue) push(o op) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for o.kind == opAppend && !q.closed && (q.bytes >= q.maxBytes || len(q.ops) >= maxQueueOps) {
		q.notFull.Wait()
	}
	if q.closed {
		return ErrClosed
	}
	if len(q.ops) == 0 {
		q.since = time.Now()
		q.notEmpty.Signal()
	}
	q.bytes += int64(len(o.item.Data))
	q.ops = append(q.ops, o)
	return nil
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
