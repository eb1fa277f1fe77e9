package storage

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// health remembers what went wrong. Damage that was read is reported for a while and heals; a write that failed is for
// ever, as the database cannot go on behind it.
type health struct {
	latch   time.Duration
	now     func() time.Time
	damage  atomic.Pointer[incident]
	failure atomic.Pointer[UnhealthyError]
	full    atomic.Pointer[NoSpaceError]
}

type incident struct {
	err *UnhealthyError
	at  time.Time
}

// err returns the worst of what is known, nil when all is well.
func (h *health) err() error {
	if e := h.failure.Load(); e != nil {
		return e
	}
	if e := h.full.Load(); e != nil {
		return e
	}
	if d := h.damage.Load(); d != nil && (h.latch < 0 || h.now().Sub(d.at) < h.latch) {
		return d.err
	}
	return nil
}

// damaged notes that something could not be read as it was written. Publishes go on: what is new is not touched by it.
func (s *Store) damaged(err error) {
	before := s.health.damage.Swap(&incident{&UnhealthyError{Cause: err}, s.opt.Now()})
	if before == nil {
		s.log.Error("the spool is damaged; look at it with spoolctl inspect verify", "error", err)
	}
}

// unhealthy notes that a write failed.
func (s *Store) unhealthy(err error) {
	if s.health.failure.CompareAndSwap(nil, &UnhealthyError{Cause: err}) {
		s.log.Error("a write to the spool failed", "error", err)
	}
}

// Health returns nil while all is well; else *UnhealthyError after a write failed, *NoSpaceError while there is too little
// space to take entries, or *UnhealthyError for Options.HealthLatch after damage was read.
func (s *Store) Health() error { return firstError(s.fence.err(), s.health.err()) }

// NoSpaceError says that entries are refused because the file system is nearly full. Reading and acknowledging go on, so
// that there is room again when ledgers are no longer needed.
type NoSpaceError struct {
	Dir        string
	Free, Want uint64 // bytes, or inodes
	What       string // "bytes" or "inodes"
}

// Error implements error.
func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("%s has %d %s free, less than the %d that must stay free: make room, or lower the limit", e.Dir, e.Free, e.What, e.Want)
}

// roomAgain is how much more than the least must be free until entries are taken again, so that the state does not flap.
const roomAgain = 1.1

// guardSpace looks how full the file system is, and refuses entries while it is too full. A file system that does not tell
// is not guarded.
func (s *Store) guardSpace() {
	err := s.space()
	var tight *NoSpaceError
	errors.As(err, &tight)
	before := s.health.full.Swap(tight)
	switch {
	case before == nil && tight != nil:
		s.log.Error("entries are refused: the disk is nearly full", "error", tight)
	case before != nil && tight == nil:
		s.log.Info("there is room again; entries are taken")
	}
}

func (s *Store) space() error {
	factor := 1.0
	if s.health.full.Load() != nil {
		factor = roomAgain
	}
	least := func(n int64) uint64 { return uint64(factor * float64(max(n, 0))) }
	if u, err := s.opt.FS.GetDiskUsage(s.opt.Dir); err == nil && u.AvailBytes < least(s.opt.MinFreeBytes) {
		return &NoSpaceError{Dir: s.opt.Dir, Free: u.AvailBytes, Want: least(s.opt.MinFreeBytes), What: "bytes"}
	}
	if n, known := s.opt.FreeInodes(s.opt.Dir); known && n < least(s.opt.MinFreeInodes) {
		return &NoSpaceError{Dir: s.opt.Dir, Free: n, Want: least(s.opt.MinFreeInodes), What: "inodes"}
	}
	return nil
}
