package topic

import (
	"sync"

	"spoolctl/broker/dispatch"
	"spoolctl/wire"
)

// feedBytes is how much a non-persistent topic may hold that its worker has not sent
// on; a publisher that comes on top waits.
const feedBytes = 8 << 20

// feed is the bounded, ordered worker of a non-persistent topic. It has no goroutine
// while nothing is published.
type feed struct {
	t *Topic

	mu      sync.Mutex
	room    sync.Cond // bytes fell below the bound, or the feed closed
	idle    sync.Cond // running turned false
	queue   []fed
	bytes   int
	next    int64 // entry id of the next entry
	running bool
	closed  bool
	spare   []fed // the worker's former batch, to be filled again
	fresh   []dispatch.Fresh
}

// fed is one published entry.
type fed struct {
	dispatch.Fresh
	producer          *Producer
	sequence, highest uint64
}

func newFeed(t *Topic) *feed {
	f := &feed{t: t}
	f.room.L, f.idle.L = &f.mu, &f.mu
	return f
}

// add queues an entry; false when the topic is closed and the entry is dropped.
func (f *feed) add(p *Producer, s wire.Send, messages int32, entry []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.bytes > feedBytes && !f.closed {
		f.room.Wait()
	}
	if f.closed {
		return false
	}
	f.queue = append(f.queue, fed{
		Fresh:    dispatch.Fresh{Position: wire.Position{Entry: f.next}, Messages: messages, Data: entry},
		producer: p, sequence: s.SequenceID, highest: s.HighestSequenceID,
	})
	f.next++
	f.bytes += len(entry)
	if !f.running {
		f.running = true
		go f.work()
	}
	return true
}

// close lets the worker finish what is queued and refuses more.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.room.Broadcast()
	for f.running {
		f.idle.Wait()
	}
}

func (f *feed) work() {
	for {
		f.mu.Lock()
		batch := f.queue
		if len(batch) == 0 {
			f.running = false
			f.idle.Broadcast()
			f.mu.Unlock()
			return
		}
		f.queue = f.spare[:0]
		f.mu.Unlock()

		bytes := f.send(batch)
		clear(batch)

		f.mu.Lock()
		f.spare = batch[:0]
		f.bytes -= bytes
		f.room.Broadcast()
		f.mu.Unlock()
	}
}

// send hands a batch to every subscription and answers the producers.
func (f *feed) send(batch []fed) (bytes int) {
	f.fresh = f.fresh[:0]
	var messages int64
	for i := range batch {
		f.fresh = append(f.fresh, batch[i].Fresh)
		messages += int64(batch[i].Messages)
		bytes += len(batch[i].Data)
	}
	for _, s := range *f.t.list.Load() {
		if d, ok := s.disp().(*dispatch.Direct); ok {
			d.Publish(f.fresh)
		}
	}
	clear(f.fresh)
	now := f.t.r.opt.Now()
	f.t.In.Add(now, messages, int64(bytes))
	f.t.lastIn.Store(now.UnixMilli())
	for i := 0; i < len(batch); {
		p := batch[i].producer
		f.t.receipts = f.t.receipts[:0]
		var m, b int64
		for ; i < len(batch) && batch[i].producer == p; i++ {
			e := &batch[i]
			m += int64(e.Messages)
			b += int64(len(e.Data))
			f.t.receipts = append(f.t.receipts, Receipt{ProducerID: p.ID, Sequence: e.sequence, Highest: e.highest, Position: e.Position, Size: len(e.Data)})
		}
		f.t.answer(p, now, m, b, b, nil)
	}
	return bytes
}
