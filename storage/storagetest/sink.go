// Package storagetest has what tests of several packages need to use a store. It belongs to tests only.
package storagetest

import (
	"sync"

	"spoolctl/storage"
)

// Sink collects the results of appends and lets tests wait for them.
type Sink struct {
	mu      sync.Mutex
	cond    sync.Cond
	stored  []storage.Appended
	refused int
}

// NewSink returns an empty sink.
func NewSink() *Sink {
	s := &Sink{}
	s.cond.L = &s.mu
	return s
}

// Committed implements storage.Sink.
func (s *Sink) Committed(entries []storage.Appended, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused += len(entries)
	} else {
		s.stored = append(s.stored, entries...)
	}
	s.cond.Broadcast()
}

// Wait blocks until n appends have a result and returns a copy of those that are stored.
func (s *Sink) Wait(n int) []storage.Appended {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.stored)+s.refused < n {
		s.cond.Wait()
	}
	return append([]storage.Appended(nil), s.stored...)
}

// Results returns how many appends were stored and how many refused.
func (s *Sink) Results() (stored, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stored), s.refused
}
