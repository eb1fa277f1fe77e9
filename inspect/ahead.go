package inspect

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"

	"spoolctl/storage"
)

// aheadBatch is about how many bytes of entries a processor gets at a time.
const aheadBatch = 256 << 10

// ahead searches entries on all processors while their owner reads on. What is
// found, the owner gives in the order of the entries: everything but taking
// entries apart and matching happens in its goroutine.
type ahead struct {
	u       *unpacker
	room    int      // bytes of entries, and of what was decompressed, that a batch may hold
	fill    *batch   // not handed over yet
	queue   []*batch // handed over, in order
	free    []*batch
	jobs    chan *batch
	started bool
	over    atomic.Bool // nobody wants more
	workers sync.WaitGroup
}

// batch is some entries in a row.
type batch struct {
	entries []storage.PendingEntry
	data    []byte // holds the data of entries
	size    int
	found   []found
	looked  int           // entries behind these are left to the owner
	done    chan struct{} // capacity 1
}

// newAhead makes an ahead that holds at most half of memory, in bytes.
func newAhead(u *unpacker, memory int64) *ahead {
	most := 2 * runtime.GOMAXPROCS(0) // one for each processor, and one to go on with
	return &ahead{u: u, jobs: make(chan *batch, most), room: max(1, int(memory/4)/most)}
}

// close ends the workers.
func (a *ahead) close() {
	a.over.Store(true)
	close(a.jobs)
	a.workers.Wait()
}

// add takes an entry, and gives what was found in ones before it when enough
// is under way. It reports whether to go on.
func (a *ahead) add(e storage.PendingEntry) bool {
	size := min(aheadBatch, a.room)
	switch {
	case len(e.Data) > a.room:
		return a.settle() && a.u.now(e)
	case a.fill != nil && a.fill.size+len(e.Data) > size && !a.handOver():
		return false
	}
	if a.fill == nil {
		a.fill = a.empty(size)
	}
	b := a.fill
	if b.size += len(e.Data); b.size > size { // the only one
		e.Data = bytes.Clone(e.Data)
	} else {
		at := len(b.data)
		b.data = append(b.data, e.Data...)
		e.Data = b.data[at:len(b.data):len(b.data)]
	}
	b.entries = append(b.entries, e)
	return true
}

func (a *ahead) empty(size int) *batch {
	if n := len(a.free); n > 0 {
		b := a.free[n-1]
		a.free = a.free[:n-1]
		return b
	}
	return &batch{data: make([]byte, 0, size), done: make(chan struct{}, 1)}
}

// handOver gives the full batch to the workers.
func (a *ahead) handOver() bool {
	if len(a.queue) == cap(a.jobs) && !a.oldest() {
		return false
	}
	a.start()
	a.queue = append(a.queue, a.fill)
	a.jobs <- a.fill // has room for all in the queue
	a.fill = nil
	return true
}

// start starts the workers, once.
func (a *ahead) start() {
	if a.started {
		return
	}
	a.started = true
	for range cap(a.jobs) / 2 {
		a.workers.Go(func() {
			for b := range a.jobs {
				a.search(b)
				b.done <- struct{}{}
			}
		})
	}
}

// search looks through a batch, up to an entry that needs the session or too
// much memory.
func (a *ahead) search(b *batch) {
	held := 0
	for b.looked = range b.entries {
		e := b.entries[b.looked]
		d := decodeEntry(e.Entry)
		large := int64(d.meta.UncompressedSize) > int64(a.room-held)
		if d.chunk() || large || a.over.Load() {
			return
		}
		n := len(b.found)
		for f := range a.u.look(e, &d) {
			if f.passes || f.bad != nil {
				b.found = append(b.found, f)
			}
		}
		if len(b.found) > n {
			held += int(d.meta.UncompressedSize)
		}
	}
	b.looked = len(b.entries)
}

// oldest gives what is in the oldest batch under way.
func (a *ahead) oldest() bool {
	b := a.queue[0]
	a.queue = a.queue[1:]
	<-b.done
	for _, f := range b.found {
		if !a.u.give(f) {
			return false
		}
	}
	return a.rest(b)
}

// rest gives what the workers have left of a batch, and empties it.
func (a *ahead) rest(b *batch) bool {
	for _, e := range b.entries[b.looked:] {
		if !a.u.now(e) {
			return false
		}
	}
	clear(b.entries)
	clear(b.found)
	b.entries, b.found, b.data, b.size, b.looked = b.entries[:0], b.found[:0], b.data[:0], 0, 0
	a.free = append(a.free, b)
	return true
}

// settle gives everything that is under way.
func (a *ahead) settle() bool {
	for len(a.queue) > 0 {
		if !a.oldest() {
			return false
		}
	}
	if b := a.fill; b != nil {
		a.fill = nil
		return a.rest(b)
	}
	return true
}
