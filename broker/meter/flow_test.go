package meter_test

import (
	"testing"
	"time"

	"spoolctl/broker/meter"
)

func TestFlowRateCoversCompleteSecondsOnly(t *testing.T) {
	t.Parallel()
	var f meter.Flow
	start := time.Unix(1_700_000_000, 0)
	for i := range 30 {
		f.Add(start.Add(time.Duration(i)*time.Second), 10, 1000)
	}
	f.Add(start.Add(30*time.Second), 500, 1)
	m, b := f.Rate(start.Add(30*time.Second + 500*time.Millisecond))
	if m != 10 || b != 1000 {
		t.Fatalf("rate %v msg/s, %v B/s; want 10 and 1000", m, b)
	}
	if f.Messages() != 800 || f.Bytes() != 30_001 {
		t.Fatalf("totals %d, %d", f.Messages(), f.Bytes())
	}
}

func TestFlowRateFallsToZeroWhenNothingFlows(t *testing.T) {
	t.Parallel()
	var f meter.Flow
	start := time.Unix(1_700_000_000, 0)
	f.Add(start, 10, 10)
	if m, _ := f.Rate(start.Add(time.Minute)); m != 0 {
		t.Fatalf("rate after a silent minute: %v", m)
	}
}
