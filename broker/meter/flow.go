package meter

import (
	"sync/atomic"
	"time"
)

// seconds is how many whole seconds are kept; the rate is taken over them.
const seconds = 10

// Window is the span over which Rate averages.
const Window = seconds * time.Second

// Flow counts messages and bytes. Add is called once for a batch. The zero
// value is ready. All methods may be called from any goroutine; two concurrent
// Adds at the turn of a second may put a few messages into the wrong second,
// never lose them from the totals.
//
// What Add touches lies side by side: with thousands of topics in turn, each
// cache line that is touched costs more than the counting.
type Flow struct {
	messages, bytes atomic.Int64
	now             second                          // the one that is being filled
	past            atomic.Pointer[[seconds]second] // whole ones, each at its number modulo seconds; nil while nothing flowed
}

// second is what flowed in one second, numbered from 1970 on.
type second struct {
	number, messages, bytes atomic.Int64
}

// Add counts messages and bytes that flowed at now.
func (f *Flow) Add(now time.Time, messages, bytes int64) {
	f.messages.Add(messages)
	f.bytes.Add(bytes)
	number := now.Unix()
	if old := f.now.number.Load(); old != number && f.now.number.CompareAndSwap(old, number) {
		f.keep(old)
	}
	f.now.messages.Add(messages)
	f.now.bytes.Add(bytes)
}

// keep moves what flowed in the second that is over to the past ones.
func (f *Flow) keep(number int64) {
	past := f.past.Load()
	if past == nil {
		f.past.CompareAndSwap(nil, new([seconds]second))
		past = f.past.Load()
	}
	s := &past[uint64(number)%seconds]
	s.number.Store(number)
	s.messages.Store(f.now.messages.Swap(0))
	s.bytes.Store(f.now.bytes.Swap(0))
}

// Messages is the total of messages.
func (f *Flow) Messages() int64 { return f.messages.Load() }

// Bytes is the total of bytes.
func (f *Flow) Bytes() int64 { return f.bytes.Load() }

// Rate gives messages and bytes per second over Window, not counting the second
// that now lies in.
func (f *Flow) Rate(now time.Time) (messages, bytes float64) {
	number := now.Unix()
	var m, b int64
	add := func(s *second) {
		if age := number - s.number.Load(); age >= 1 && age <= seconds {
			m += s.messages.Load()
			b += s.bytes.Load()
		}
	}
	add(&f.now)
	if past := f.past.Load(); past != nil {
		for i := range past {
			add(&past[i])
		}
	}
	span := Window.Seconds()
	return float64(m) / span, float64(b) / span
}
