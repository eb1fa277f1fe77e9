package dispatch

import (
	"container/heap"

	"spoolctl/wire"
)

// maxDelayed bounds the entries of one subscription that wait for their time. While
// it is reached no new entries are read; those that come due make room.
const maxDelayed = 1 << 20

// delayed is an entry whose time has not come.
type delayed struct {
	at   int64 // ms since 1970
	pos  wire.Position
	hash uint16
}

// delays holds the delayed entries of a subscription, the next due one first. They
// are in memory only: after a restart they are read again, being unacknowledged.
type delays struct{ items delayHeap }

func (d *delays) add(x delayed) { heap.Push(&d.items, x) }

// due takes out the next entry whose time has come.
func (d *delays) due(now int64) (delayed, bool) {
	if len(d.items) == 0 || d.items[0].at > now {
		return delayed{}, false
	}
	return heap.Pop(&d.items).(delayed), true
}

// next is the time of the next entry.
func (d *delays) next() (int64, bool) {
	if len(d.items) == 0 {
		return 0, false
	}
	return d.items[0].at, true
}

func (d *delays) len() int { return len(d.items) }

func (d *delays) clear() { d.items = nil }

type delayHeap []delayed

func (h delayHeap) Len() int { return len(h) }

func (h delayHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].pos.Less(h[j].pos)
}

func (h delayHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *delayHeap) Push(x any) { *h = append(*h, x.(delayed)) }

// Pop implements heap.Interface.
func (h *delayHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
