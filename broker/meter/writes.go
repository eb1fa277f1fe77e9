package meter

import (
	"sync/atomic"
	"time"
)

// buckets is the number of size classes of a Spread, the one without a bound included.
const buckets = 10

// period is what a Spread counts over. Pulsar refreshes its bucket gauges as often.
const period = time.Minute

// windows are kept: the one that is being filled, the last whole one, and a spare for a reader that comes late.
const windows = 3

// EntrySizes are the upper bounds of the classes of entry sizes, in bytes, as Pulsar has them.
func EntrySizes() [8]int64 {
	return [8]int64{128, 512, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 100 << 10, 1 << 20}
}

// WriteLatencies are the upper bounds of the classes of write latencies, in microseconds, as Pulsar has them.
func WriteLatencies() [9]int64 {
	return [9]int64{500, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 1_000_000}
}

// Counts are how many values fell into each class: at most its bound and more than the one before. What exceeds every
// bound is in the class behind the last bound.
type Counts struct {
	Class [buckets]int64
	Count int64
	Sum   int64
}

func (c *Counts) observe(bounds []int64, v int64) {
	i := 0
	for i < len(bounds) && v > bounds[i] {
		i++
	}
	c.Class[i]++
	c.Count++
	c.Sum += v
}

// Spread counts values by class over whole minutes. Like Flow, it may lose a few values to the neighbouring minute when
// two goroutines add at the turn of one.
type Spread struct {
	ring atomic.Pointer[[windows]spreadWindow] // nil while nothing was counted
}

type spreadWindow struct {
	minute atomic.Int64
	class  [buckets]atomic.Int64
	sum    atomic.Int64
}

func (s *Spread) add(minute int64, c *Counts) {
	ring := s.ring.Load()
	if ring == nil {
		s.ring.CompareAndSwap(nil, new([windows]spreadWindow))
		ring = s.ring.Load()
	}
	w := &ring[uint64(minute)%windows]
	if old := w.minute.Load(); old != minute && w.minute.CompareAndSwap(old, minute) {
		for i := range w.class {
			w.class[i].Store(0)
		}
		w.sum.Store(0)
	}
	for i := range w.class {
		if c.Class[i] != 0 {
			w.class[i].Add(c.Class[i])
		}
	}
	w.sum.Add(c.Sum)
}

func (s *Spread) last(minute int64) (c Counts) {
	ring := s.ring.Load()
	if ring == nil {
		return c
	}
	w := &ring[uint64(minute-1)%windows]
	if w.minute.Load() != minute-1 {
		return c
	}
	for i := range w.class {
		c.Class[i] = w.class[i].Load()
		c.Count += c.Class[i]
	}
	c.Sum = w.sum.Load()
	return c
}

// Writes describes the entries written to a topic: how many, how large, and how long until durable. The zero value is
// ready. Add is called once for a batch.
type Writes struct {
	entries Flow
	sizes   Spread
	delays  Spread
}

// WriteBatch gathers the entries of one batch; it belongs to one goroutine and is meant for its stack. The zero value
// is ready.
type WriteBatch struct {
	sizes, delays Counts
}

// Observe adds one entry of size bytes that took so long from queueing to durable.
func (b *WriteBatch) Observe(size int, took time.Duration) {
	sizes, delays := EntrySizes(), WriteLatencies()
	b.sizes.observe(sizes[:], int64(size))
	b.delays.observe(delays[:], took.Microseconds())
}

// Add books a batch that became durable at now.
func (w *Writes) Add(now time.Time, b *WriteBatch) {
	w.entries.Add(now, b.sizes.Count, b.sizes.Sum)
	minute := now.Unix() / int64(period/time.Second)
	w.sizes.add(minute, &b.sizes)
	w.delays.add(minute, &b.delays)
}

// Rate gives entries and bytes per second over Window.
func (w *Writes) Rate(now time.Time) (entries, bytes float64) { return w.entries.Rate(now) }

// Sizes gives the entry sizes of the last whole minute before now, in bytes.
func (w *Writes) Sizes(now time.Time) Counts {
	return w.sizes.last(now.Unix() / int64(period/time.Second))
}

// Latencies gives the write latencies of the last whole minute before now, in microseconds.
func (w *Writes) Latencies(now time.Time) Counts {
	return w.delays.last(now.Unix() / int64(period/time.Second))
}
