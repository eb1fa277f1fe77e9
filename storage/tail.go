package storage

import (
	"sort"
	"sync/atomic"
	"time"

	"spoolctl/wire"
)

const (
	// entryMemory is about what a held entry costs beside its data.
	entryMemory = 96
	// tailInterest is how long a topic's new entries are held after a reader was at its end. Where nobody reads, holding
	// them would only push out what others need.
	tailInterest = time.Second
)

// tail is the newest entries of a topic, held in memory so that consumers who keep up are served from there. The topic's
// lock guards it.
type tail struct {
	entries []Entry // contiguous in the ledger list; [head:] are held
	head    int
	used    *atomic.Int64 // bytes of memory that all topics hold
}

func (c *tail) add(e Entry) {
	c.entries = append(c.entries, e)
	c.used.Add(int64(len(e.Data)) + entryMemory)
}

// evict drops the oldest entries while all topics hold more than budget, at most n; it returns how many of the n are gone.
func (c *tail) evict(n int, budget int64) (gone int) {
	for gone < n && c.head < len(c.entries) && c.used.Load() > budget {
		c.used.Add(-int64(len(c.entries[c.head].Data)) - entryMemory)
		c.entries[c.head] = Entry{}
		c.head++
		gone++
	}
	switch {
	case c.head == len(c.entries):
		c.entries, c.head = nil, 0
		return n
	case c.head >= 8 && c.head > len(c.entries)/2:
		n := copy(c.entries, c.entries[c.head:])
		clear(c.entries[n:])
		c.entries, c.head = c.entries[:n], 0
	}
	return gone
}

func (c *tail) drop() { c.evict(len(c.entries), -1) }

// first returns the position of the oldest held entry.
func (c *tail) first() (wire.Position, bool) {
	if c.head == len(c.entries) {
		return wire.Position{}, false
	}
	return c.entries[c.head].Position, true
}

// from returns the held entries from p on, or nil when p is older than what is held.
func (c *tail) from(p wire.Position) []Entry {
	held := c.entries[c.head:]
	if len(held) == 0 || p.Less(held[0].Position) {
		return nil
	}
	i := sort.Search(len(held), func(i int) bool { return !held[i].Position.Less(p) })
	return held[i:]
}

// atTail notes that a reader has got to where the topic's newest entries are.
func (t *Topic) atTail() {
	if now := t.s.queue.clock.Load(); t.lastAtTail.Load() != now {
		t.lastAtTail.Store(now)
	}
}

// followed reports whether somebody reads the topic's end.
func (t *Topic) followed() bool {
	return t.s.queue.clock.Load()-t.lastAtTail.Load() < int64(tailInterest)
}

// tails bounds what all topics hold together: when it is too much, the oldest entries of the store go first. All but used
// belongs to the completer's goroutine.
type tails struct {
	budget int64
	used   atomic.Int64
	runs   []tailRun // in the order of the commits; [head:] count
	head   int
}

// tailRun is entries that one topic took in a row.
type tailRun struct {
	topic *Topic
	n     int
}

// added notes that t holds n entries more. No lock of a topic may be held.
func (s *tails) added(t *Topic, n int) {
	if last := len(s.runs) - 1; last >= s.head && s.runs[last].topic == t {
		s.runs[last].n += n
	} else {
		s.room()
		s.runs = append(s.runs, tailRun{t, n})
	}
	for s.used.Load() > s.budget && s.head < len(s.runs) {
		r := &s.runs[s.head]
		r.topic.mu.Lock()
		r.n -= r.topic.tail.evict(r.n, s.budget)
		r.topic.mu.Unlock()
		if r.n == 0 {
			*r = tailRun{}
			s.head++
		}
	}
}

// room makes room for one more run, of the memory of runs that are over or whose topics hold nothing any more.
func (s *tails) room() {
	if len(s.runs) < cap(s.runs) {
		return
	}
	live := s.runs[:0]
	for _, r := range s.runs[s.head:] {
		r.topic.mu.RLock()
		_, held := r.topic.tail.first()
		r.topic.mu.RUnlock()
		if held {
			live = append(live, r)
		}
	}
	clear(s.runs[len(live):])
	s.runs, s.head = live, 0
	if len(live) > cap(live)/2 {
		s.runs = append(make([]tailRun, 0, 2*cap(live)+16), live...)
	}
}
