package meter_test

import (
	"testing"
	"time"

	"spoolctl/broker/meter"
)

// TestWritesClassesAndMinutes puts a value on, below and above every bound and reads the minute after.
func TestWritesClassesAndMinutes(t *testing.T) {
	t.Parallel()
	var w meter.Writes
	start := time.Unix(1_700_000_040, 0) // a whole minute
	var b meter.WriteBatch
	var sum int64
	sizes := meter.EntrySizes()
	const tooLate = 9 // the class behind the last bound of latency
	for _, bound := range sizes {
		b.Observe(int(bound), time.Millisecond)
		b.Observe(int(bound)+1, 2*time.Second)
		sum += 2*bound + 1
	}
	w.Add(start, &b)
	if c := w.Sizes(start.Add(59 * time.Second)); c.Count != 0 {
		t.Errorf("a minute that is not over shows %+v", c)
	}
	c := w.Sizes(start.Add(60 * time.Second))
	if c.Count != 16 || c.Sum != sum {
		t.Errorf("count %d, sum %d; want 16 and %d", c.Count, c.Sum, sum)
	}
	for i, n := range c.Class {
		want := int64(2)
		switch i {
		case 0, len(sizes):
			want = 1
		case len(sizes) + 1:
			want = 0
		}
		if n != want {
			t.Errorf("class %d holds %d, want %d", i, n, want)
		}
	}
	l := w.Latencies(start.Add(90 * time.Second))
	if l.Class[1] != 8 || l.Class[tooLate] != 8 || l.Sum != 8*(1_000+2_000_000) {
		t.Errorf("latencies %+v", l)
	}
	if c := w.Sizes(start.Add(2 * time.Minute)); c.Count != 0 {
		t.Errorf("a silent minute shows %+v", c)
	}
}

func TestWritesReuseWindows(t *testing.T) {
	t.Parallel()
	var w meter.Writes
	start := time.Unix(1_700_000_040, 0)
	for i := range 10 {
		var b meter.WriteBatch
		for range i + 1 {
			b.Observe(100, 0)
		}
		w.Add(start.Add(time.Duration(i)*time.Minute), &b)
		if c := w.Sizes(start.Add(time.Duration(i+1) * time.Minute)); c.Count != int64(i+1) {
			t.Errorf("minute %d: %d entries", i, c.Count)
		}
	}
	if e, _ := w.Rate(start.Add(9*time.Minute + time.Second)); e != 1 {
		t.Errorf("%v entries per second, want 10 in 10 s", e)
	}
}

func BenchmarkWrites(b *testing.B) {
	var w meter.Writes
	now := time.Unix(1_700_000_000, 0)
	b.ReportAllocs()
	for b.Loop() {
		var batch meter.WriteBatch
		for range 256 {
			batch.Observe(1024, 3*time.Millisecond)
		}
		w.Add(now, &batch)
	}
}
