package storage

import (
	"sort"
	"sync/atomic"

	"spoolctl/wire"
)

// tailCache holds the newest entries of a topic, so that consumers who keep up are served from memory. All topics share
// one budget; an append evicts its own topic's oldest entries when the budget is used up.
type tailCache struct {
	used    *atomic.Int64 // payload bytes of all topics
	budget  int64
	entries []Entry // contiguous in the ledger list; [head:] are held
	head    int
}

func (c *tailCache) add(e Entry) {
	c.entries = append(c.entries, e)
	c.used.Add(int64(len(e.Data)))
	for c.used.Load() > c.budget && c.head < len(c.entries) {
		c.evict()
	}
	if c.head > 64 && c.head > len(c.entries)/2 {
		n := copy(c.entries, c.entries[c.head:])
		clear(c.entries[n:])
		c.entries, c.head = c.entries[:n], 0
	}
}

func (c *tailCache) evict() {
	c.used.Add(-int64(len(c.entries[c.head].Data)))
	c.entries[c.head] = Entry{}
	c.head++
}

func (c *tailCache) drop() {
	for c.head < len(c.entries) {
		c.evict()
	}
	c.entries, c.head = nil, 0
}

// first returns the position of the oldest held entry.
func (c *tailCache) first() (wire.Position, bool) {
	if c.head == len(c.entries) {
		return wire.Position{}, false
	}
	return c.entries[c.head].Position, true
}

// from returns the held entries from p on, or nil when p is older than what is held.
func (c *tailCache) from(p wire.Position) []Entry {
	held := c.entries[c.head:]
	if len(held) == 0 || p.Less(held[0].Position) {
		return nil
	}
	i := sort.Search(len(held), func(i int) bool { return !held[i].Position.Less(p) })
	return held[i:]
}
