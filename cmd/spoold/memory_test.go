package main

import "testing"

// TestMemoryLimit: whatever is in use, at least a third of the limit is free for garbage.
func TestMemoryLimit(t *testing.T) {
	for _, live := range []uint64{0, 1 << 20, 150 << 20, 280 << 20, 1 << 30, 64 << 30} {
		if limit := memoryLimit(live); limit < leastLimit || float64(live) > 0.67*float64(limit) {
			t.Errorf("%d bytes in use: a limit of %d", live, limit)
		}
	}
}
