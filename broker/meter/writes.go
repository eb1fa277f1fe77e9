package meter

import (
	"sync/atomic"
	"time"
)

// buckets is the number of classes, the one without a bound included.
const buckets = 10

// period is what sizes and delays are counted over. Pulsar refreshes its bucket gauges as often.
const period = time.Minute

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

// Writes describes the entries written to a topic: how many, how large, and how long until durable. The zero value is
// ready. Add is called once for a batch; like Flow, it may put a few values into the wrong minute when two goroutines add at
// the turn of one. What it touches lies side by side.
type Writes struct {
	entries Flow
	now     minute                    // the one that is being filled
	past    atomic.Pointer[[2]minute] // whole ones, each at its number modulo 2; nil while none is over
}

// minute is how sizes and delays spread in one minute, numbered from 1970 on.
type minute struct {
	number        atomic.Int64
	sizes, delays spread
}

// spread counts values by class.
type spread struct {
	sum   atomic.Int64
	class [buckets]atomic.Uint32
}

func (s *spread) add(c *Counts) {
	for i := range s.class {
		if c.Class[i] != 0 {
			s.class[i].Add(uint32(c.Class[i]))
		}
	}
	s.sum.Add(c.Sum)
}

func (s *spread) keep(into *spread) {
	for i := range s.class {
		into.class[i].Store(s.class[i].Swap(0))
	}
	into.sum.Store(s.sum.Swap(0))
}

func (s *spread) counts() (c Counts) {
	for i := range s.class {
		c.Class[i] = int64(s.class[i].Load())
		c.Count += c.Class[i]
	}
	c.Sum = s.sum.Load()
	return c
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
	number := minuteOf(now)
	if old := w.now.number.Load(); old != number && w.now.number.CompareAndSwap(old, number) {
		w.keep(old)
	}
	w.now.sizes.add(&b.sizes)
	w.now.delays.add(&b.delays)
}

// keep moves what was counted in the minute that is over to the past ones.
func (w *Writes) keep(number int64) {
	past := w.past.Load()
	if past == nil {
		w.past.CompareAndSwap(nil, new([2]minute))
		past = w.past.Load()
	}
	m := &past[uint64(number)%2]
	m.number.Store(number)
	w.now.sizes.keep(&m.sizes)
	w.now.delays.keep(&m.delays)
}

// lastMinute is the last whole minute before now, nil when nothing was counted in it.
func (w *Writes) lastMinute(now time.Time) *minute {
	number := minuteOf(now) - 1
	if w.now.number.Load() == number {
		return &w.now
	}
	if past := w.past.Load(); past != nil {
		if m := &past[uint64(number)%2]; m.number.Load() == number {
			return m
		}
	}
	return nil
}

func minuteOf(t time.Time) int64 { return t.Unix() / int64(period/time.Second) }

// Rate gives entries and bytes per second over Window.
func (w *Writes) Rate(now time.Time) (entries, bytes float64) { return w.entries.Rate(now) }

// Sizes gives the entry sizes of the last whole minute before now, in bytes.
func (w *Writes) Sizes(now time.Time) (c Counts) {
	if m := w.lastMinute(now); m != nil {
		c = m.sizes.counts()
	}
	return c
}

// Latencies gives the write latencies of the last whole minute before now, in microseconds.
func (w *Writes) Latencies(now time.Time) (c Counts) {
	if m := w.lastMinute(now); m != nil {
		c = m.delays.counts()
	}
	return c
}
