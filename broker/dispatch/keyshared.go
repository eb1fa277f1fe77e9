package dispatch

import (
	"spoolctl/storage"
	"spoolctl/wire"
)

// maxWaiting bounds how far reading goes ahead of consumers that cannot take their
// keys' messages: so many entries of a subscription wait at most.
const maxWaiting = 20_000

// keyShared gives every key's messages to one consumer, in order. A message waits
// when its consumer is not ready, when an earlier one of the same key waits, or while
// the key's former owner still holds some; other keys go on.
type keyShared struct {
	multi
	ranges  ranges
	orphans *Consumer // stands for "nobody": holds what waits for a consumer with its hash
	nWait   int       // entries that wait, over all consumers
	inUse   map[uint16]hashUse
	run     []wire.Position
}

// hashUse says who holds messages of a key hash.
type hashUse struct {
	owner *Consumer
	n     int
}

func newKeyShared(o Options) *keyShared {
	d := &keyShared{inUse: make(map[uint16]hashUse)}
	d.orphans = NewConsumer(ConsumerOptions{})
	d.orphans.waiting, d.orphans.waitHash = newPositions[uint16](), make(map[uint16]int)
	d.init(o, d.pass)
	return d
}

func (d *keyShared) Add(c *Consumer) error {
	d.mu.Lock()
	if len(d.consumers) == 0 {
		d.startOver()
	}
	err := d.ranges.add(c)
	if err == nil {
		if err = d.attach(c); err != nil {
			d.ranges.remove(c)
		}
	}
	if err == nil {
		c.d = d
		c.waiting, c.waitHash = newPositions[uint16](), make(map[uint16]int)
		d.regroup()
	}
	d.mu.Unlock()
	return err
}

func (d *keyShared) Remove(c *Consumer) {
	d.mu.Lock()
	ok := d.detach(c)
	if ok {
		d.ranges.remove(c)
		for p, h := range c.held {
			d.release(h.hash)
			d.counts[p]++
			d.put(d.orphans, p, h.hash)
		}
		d.unacked -= c.unacked
		c.held, c.unacked = nil, 0
		if d.blocked && d.unacked <= int64(d.UnackedPerSubscription)/2 {
			d.blocked = false
		}
		for p, h := range c.waiting.all() {
			d.put(d.orphans, p, h)
			d.nWait--
		}
		c.waiting.clear()
		clear(c.waitHash)
		d.regroup()
		if len(d.consumers) == 0 {
			d.startOver()
		}
	}
	d.mu.Unlock()
	if ok {
		d.pump.kick()
	}
}

// startOver forgets everything that waits and reads again; the caller holds mu.
func (d *keyShared) startOver() {
	d.restart()
	for _, c := range append(d.consumers[:len(d.consumers):len(d.consumers)], d.orphans) {
		c.waiting.clear()
		clear(c.waitHash)
	}
	d.nWait = 0
}

// regroup gives every waiting entry to the present owner of its key; the caller holds mu.
func (d *keyShared) regroup() {
	type item struct {
		p wire.Position
		h uint16
	}
	var moved []item
	for _, c := range append(d.consumers[:len(d.consumers):len(d.consumers)], d.orphans) {
		from := len(moved)
		for p, h := range c.waiting.all() {
			if d.group(h) != c {
				moved = append(moved, item{p, h})
			}
		}
		for _, m := range moved[from:] {
			d.drop(c, m.p)
		}
	}
	for _, m := range moved {
		d.put(d.group(m.h), m.p, m.h)
	}
}

// group is the consumer with which an entry of a key waits.
func (d *keyShared) group(hash uint16) *Consumer {
	if c := d.ranges.owner(hash); c != nil {
		return c
	}
	return d.orphans
}

func (d *keyShared) put(c *Consumer, p wire.Position, hash uint16) {
	if c.waiting.has(p) {
		return
	}
	c.waiting.put(p, hash)
	c.waitHash[hash]++
	d.nWait++
}

func (d *keyShared) drop(c *Consumer, p wire.Position) {
	hash, ok := c.waiting.delete(p)
	if !ok {
		return
	}
	d.nWait--
	if c.waitHash[hash]--; c.waitHash[hash] == 0 {
		delete(c.waitHash, hash)
	}
}

// release books that one entry of a key left a client's hands; the caller holds mu.
func (d *keyShared) release(hash uint16) {
	if u := d.inUse[hash]; u.n > 1 {
		u.n--
		d.inUse[hash] = u
	} else {
		delete(d.inUse, hash)
	}
}

// free says whether a key's messages may go to c: nobody else holds some of them.
func (d *keyShared) free(hash uint16, c *Consumer) bool {
	u, used := d.inUse[hash]
	return !used || u.owner == c || c.OutOfOrder
}

// give sends an entry and books its key; the caller holds mu.
func (d *keyShared) give(c *Consumer, e *storage.PendingEntry, hash uint16) {
	u := d.inUse[hash]
	d.inUse[hash] = hashUse{owner: c, n: u.n + 1}
	d.send(c, e, hash)
}

func (d *keyShared) Flow(c *Consumer, messages int) {
	d.mu.Lock()
	d.permit(c, messages)
	d.mu.Unlock()
	d.pump.kick()
}

func (d *keyShared) Acked(c *Consumer, acks []Acked) {
	d.mu.Lock()
	stopped := d.held() || d.nWait > 0
	done := func(_ *Consumer, _ wire.Position, h held) { d.release(h.hash) }
	if c == nil {
		d.prune(done)
	}
	d.settle(c, acks, done)
	d.mu.Unlock()
	if stopped {
		d.pump.kick()
	}
}

func (d *keyShared) Redeliver(c *Consumer, positions []wire.Position, _ uint64, _ bool) {
	d.mu.Lock()
	again := func(p wire.Position) {
		if h, ok := d.take(c, p, 0); ok {
			d.release(h.hash)
			d.counts[p]++
			d.put(d.group(h.hash), p, h.hash)
		}
	}
	if positions == nil {
		for p := range c.held {
			again(p)
		}
	} else {
		for _, p := range positions {
			again(p)
		}
	}
	d.mu.Unlock()
	d.pump.kick()
}

func (d *keyShared) Reset() {
	d.mu.Lock()
	done := func(_ *Consumer, _ wire.Position, h held) { d.release(h.hash) }
	d.startOver()
	d.prune(done)
	for _, c := range d.consumers {
		for p := range c.held {
			if h, ok := c.held[p]; ok && !p.Less(d.read) {
				d.take(c, p, 0)
				d.release(h.hash)
			}
		}
	}
	d.mu.Unlock()
	d.pump.kick()
}

func (d *keyShared) Snapshot() Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.snapshot()
	s.Replay = d.nWait
	for i := range s.Consumers {
		s.Consumers[i].Ranges = d.ranges.of(s.Consumers[i].Consumer)
	}
	for h, u := range d.inUse {
		if d.ranges.owner(h) != u.owner {
			s.Draining++
		}
	}
	return s
}
