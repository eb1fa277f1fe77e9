package storage_test

import (
	"bytes"
	"context"
	"testing"

	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Only topics that somebody follows take memory for their newest entries, and the store's oldest go first, whoever takes
// the room.
func TestTailsShareMemory(t *testing.T) {
	const budget, size, entryMemory = 64 << 10, 1 << 10, 96
	ctx := context.Background()
	s := open(t, vfs.NewMem(), func(o *storage.Options) { o.TailCacheBytes = budget })
	defer closeStore(t, s)
	held := func() int64 { return s.Stats().TailCacheBytes }
	put := func(tp *storage.Topic, n int, wait func(int)) {
		t.Helper()
		for range n {
			if err := tp.Append(storage.Append{Data: bytes.Repeat([]byte{'x'}, size), PublishTime: 1}); err != nil {
				t.Fatal(err)
			}
		}
		wait(n)
	}
	follow := func(c *storage.Cursor) int {
		t.Helper()
		n := 0
		for from := wire.Earliest(); ; {
			got, next, err := c.Pending(ctx, from, 100, 1<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 {
				return n
			}
			n, from = n+len(got), next
		}
	}
	a, ask := create(t, s, "a")
	b, bsk := create(t, s, "b")
	ca, cb := cursor(t, a, "s"), cursor(t, b, "s")
	put(a, 10, func(n int) { ask.Wait(n) })
	if got := held(); got != 0 {
		t.Errorf("%d bytes are held of a topic that nobody reads", got)
	}
	follow(ca)
	put(a, 10, func(int) { ask.Wait(20) })
	if got := held(); got != 10*(size+entryMemory) {
		t.Errorf("%d bytes are held of 10 entries that a reader waits for", got)
	}
	follow(cb)
	put(b, 200, func(int) { bsk.Wait(200) })
	if got := held(); got > budget || got < budget/2 {
		t.Errorf("%d bytes are held, the budget is %d", got, budget)
	}
	if na, nb := follow(ca), follow(cb); na != 20 || nb != 200 {
		t.Errorf("readers got %d and %d entries", na, nb)
	}
	if err := b.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := held(); got != 0 { // what a held was older than what b took
		t.Errorf("%d bytes are held after the topic that held them was closed", got)
	}
}
