package storage_test

import (
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
)

// clock is a store's time that tests move.
type clock struct {
	ns   atomic.Int64
	read chan struct{}
}

func newClock() *clock {
	c := &clock{read: make(chan struct{})}
	c.ns.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time {
	now := time.Unix(0, c.ns.Load())
	select {
	case c.read <- struct{}{}:
	default:
	}
	return now
}

// advance moves the time by an hour and waits until the store has ticked since: the time was read more often than by the
// committer, which reads it for each entry of what it may have in flight.
func (c *clock) advance() {
	c.ns.Add(int64(time.Hour))
	for range 30 {
		<-c.read
	}
}

// blockingSink keeps the first completion from ending until release is closed.
type blockingSink struct {
	*storagetest.Sink
	release chan struct{}

	mu    sync.Mutex
	first error
}

// Committed implements storage.Sink.
func (s *blockingSink) Committed(entries []storage.Appended, err error) {
	<-s.release
	s.mu.Lock()
	if s.first == nil {
		s.first = err
	}
	s.mu.Unlock()
	s.Sink.Committed(entries, err)
}

// cause is the first refusal's error.
func (s *blockingSink) cause() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		return ""
	}
	return s.first.Error()
}
