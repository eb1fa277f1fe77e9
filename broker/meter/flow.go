package meter

import (
	"sync/atomic"
	"time"
)

// slots is the number of one-second slots kept; the rate is taken over the
// slots-2 complete seconds before the current one.
const slots = 12

// Window is the span over which Rate averages.
const Window = (slots - 2) * time.Second

// Flow counts messages and bytes. Add is called once for a batch. The zero
// value is ready. All methods may be called from any goroutine; two concurrent
// Adds at the turn of a second may put a few messages into the wrong second,
// never lose them from the totals.
type Flow struct {
	messages atomic.Int64
	bytes    atomic.Int64
	ring     [slots]slot
}

type slot struct {
	second   atomic.Int64
	messages atomic.Int64
	bytes    atomic.Int64
}

// Add counts messages and bytes that flowed at now.
func (f *Flow) Add(now time.Time, messages, bytes int64) {
	f.messages.Add(messages)
	f.bytes.Add(bytes)
	second := now.Unix()
	s := &f.ring[uint64(second)%slots]
	if old := s.second.Load(); old != second && s.second.CompareAndSwap(old, second) {
		s.messages.Store(0)
		s.bytes.Store(0)
	}
	s.messages.Add(messages)
	s.bytes.Add(bytes)
}

// Messages is the total of messages.
func (f *Flow) Messages() int64 { return f.messages.Load() }

// Bytes is the total of bytes.
func (f *Flow) Bytes() int64 { return f.bytes.Load() }

// Rate gives messages and bytes per second over Window, not counting the second
// that now lies in.
func (f *Flow) Rate(now time.Time) (messages, bytes float64) {
	second := now.Unix()
	var m, b int64
	for i := range f.ring {
		s := &f.ring[i]
		if age := second - s.second.Load(); age >= 1 && age <= slots-2 {
			m += s.messages.Load()
			b += s.bytes.Load()
		}
	}
	span := Window.Seconds()
	return float64(m) / span, float64(b) / span
}
