package dispatch

import (
	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// turn is how many entries in a row one consumer gets before the next one's turn.
const turn = 16

// shared gives entries to its consumers in turn, the more important ones first.
type shared struct {
	multi
	replay *positions[struct{}] // to be sent again, or delayed entries come due
	last   *Consumer            // who got the last entry
	inTurn int                  // how many entries in a row
	chunks map[string]*Consumer // who gets the chunks of a message, by its uuid
	run    []wire.Position      // used by the one running pass
}

func newShared(o Options) *shared {
	d := &shared{replay: newPositions[struct{}](), chunks: make(map[string]*Consumer)}
	d.init(o, d.pass)
	return d
}

func (d *shared) Add(c *Consumer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Sticky {
		return fault.New(fault.NotAllowed, "hash ranges are for Key_Shared subscriptions only")
	}
	if len(d.consumers) == 0 {
		d.restart()
		d.replay.clear()
	}
	if err := d.attach(c); err != nil {
		return err
	}
	c.d = d
	return nil
}

func (d *shared) Remove(c *Consumer) {
	d.mu.Lock()
	ok := d.detach(c)
	if ok {
		for p := range c.held {
			d.replay.put(p, struct{}{})
			d.counts[p]++
		}
		d.unacked -= c.unacked
		c.held, c.unacked = nil, 0
		if d.blocked && d.unacked <= int64(d.UnackedPerSubscription)/2 {
			d.blocked = false
		}
		for id, owner := range d.chunks {
			if owner == c {
				delete(d.chunks, id)
			}
		}
		if d.last == c {
			d.last = nil
		}
		if len(d.consumers) == 0 {
			d.restart()
			d.replay.clear()
		}
	}
	d.mu.Unlock()
	if ok {
		d.pump.kick()
	}
}

func (d *shared) Flow(c *Consumer, messages int) {
	d.mu.Lock()
	d.permit(c, messages)
	d.mu.Unlock()
	d.pump.kick()
}

func (d *shared) Acked(c *Consumer, acks []Acked) {
	d.mu.Lock()
	stopped := d.held()
	if c == nil {
		d.prune(func(*Consumer, wire.Position, held) {})
	}
	d.settle(c, acks, func(*Consumer, wire.Position, held) {})
	d.mu.Unlock()
	if stopped {
		d.pump.kick()
	}
}

func (d *shared) Redeliver(c *Consumer, positions []wire.Position, _ uint64, _ bool) {
	d.mu.Lock()
	again := func(p wire.Position) {
		if _, ok := d.take(c, p, 0); ok {
			d.replay.put(p, struct{}{})
			d.counts[p]++
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

func (d *shared) Reset() {
	d.mu.Lock()
	d.restart()
	d.replay.clear()
	d.prune(func(*Consumer, wire.Position, held) {})
	// What is still in the clients' hands must not be read a second time.
	for _, c := range d.consumers {
		for p := range c.held {
			if !p.Less(d.read) {
				d.take(c, p, 0)
			}
		}
	}
	d.mu.Unlock()
	d.pump.kick()
}

func (d *shared) Snapshot() Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.snapshot()
	s.Replay = d.replay.len()
	return s
}

func (d *shared) pass() {
	for d.step() {
	}
}

// free sums the permits of the consumers that may be sent something; the caller holds mu.
func (d *shared) free() (sum int64) {
	for _, c := range d.consumers {
		if c.ready() {
			sum += c.permits
		}
	}
	return sum
}

// pick chooses the consumer for the next entry: among the most important that are
// ready, in turn. The caller holds mu.
func (d *shared) pick() *Consumer {
	if d.last != nil && d.inTurn < turn && d.last.ready() && d.last.Priority == d.topReady() {
		d.inTurn++
		return d.last
	}
	start := 0
	for i, c := range d.consumers {
		if c == d.last {
			start = i + 1
		}
	}
	var best *Consumer
	for i := range d.consumers {
		c := d.consumers[(start+i)%len(d.consumers)]
		if c.ready() && (best == nil || c.Priority < best.Priority) {
			best = c
		}
	}
	d.last, d.inTurn = best, 1
	return best
}

// topReady is the priority of the most important consumer that is ready.
func (d *shared) topReady() int32 {
	for _, c := range d.consumers {
		if c.ready() {
			return c.Priority
		}
	}
	return -1
}

// step makes one read, of entries to be sent again or of new ones, and sends it;
// false when there is nothing more to do now.
func (d *shared) step() bool {
	d.mu.Lock()
	now := d.Now().UnixMilli()
	for {
		x, ok := d.delays.due(now)
		if !ok {
			break
		}
		d.replay.put(x.pos, struct{}{})
	}
	free := d.free()
	if free <= 0 || !d.permitted() {
		d.hungry.set(false)
		d.wait()
		d.mu.Unlock()
		return false
	}
	n := d.entriesFor(free)
	d.run = d.replay.run(n, d.run[:0])
	from, gen, again := d.read, d.gen, len(d.run) > 0
	if again {
		from, n = d.run[0], len(d.run)
	} else if d.delays.len() >= maxDelayed {
		d.hungry.set(false)
		d.wait()
		d.mu.Unlock()
		return false
	}
	d.hungry.set(true)
	d.mu.Unlock()

	got, next, err := d.Source.Pending(d.ctx, from, n, readBytes, d.buf[:0])
	d.buf = got

	d.mu.Lock()
	defer d.mu.Unlock()
	defer clear(got)
	if err != nil {
		d.failed(err)
		return false
	}
	if gen != d.gen || d.closed {
		return !d.closed
	}
	if again {
		d.resend(got, next)
		if len(got) == 0 && !d.run[0].Less(next) {
			return false // nothing there to read; never spin
		}
	} else {
		d.sendNew(got, next, now)
	}
	d.flushAll()
	if len(got) == 0 && !again {
		d.wait()
		d.tellEnd()
		return false
	}
	return true
}

// resend sends those of got that wait in the replay set. Positions of the run before
// next that were not got are acknowledged meanwhile.
func (d *shared) resend(got []storage.PendingEntry, next wire.Position) {
	i := 0
	for _, p := range d.run {
		for i < len(got) && got[i].Position.Less(p) {
			i++
		}
		if i == len(got) || got[i].Position != p {
			if p.Less(next) {
				d.replay.delete(p)
				delete(d.counts, p)
			}
			continue
		}
		if !d.replay.has(p) {
			continue
		}
		c := d.pick()
		if c == nil || !d.permitted() {
			return
		}
		d.replay.delete(p)
		d.send(c, &got[i], 0)
	}
}

// sendNew sends entries that were never sent, or puts them aside until their time.
func (d *shared) sendNew(got []storage.PendingEntry, next wire.Position, now int64) {
	for i := range got {
		e := &got[i]
		d.read = e.Position
		traits := traitsOf(e.Data)
		if traits.deliverAt > now {
			d.delays.add(delayed{at: traits.deliverAt, pos: e.Position})
			d.read = after(e.Position)
			continue
		}
		c := d.chunkOwner(traits)
		if c == nil {
			c = d.pick()
		}
		if c == nil || !d.permitted() {
			return
		}
		d.send(c, e, 0)
		d.read = after(e.Position)
		d.keepChunks(c, traits)
	}
	d.read = next
}

// chunkOwner gives the consumer that got the first chunk of the same message, so that
// all go to one. It may overdraw its permits, by the chunks of that message at most.
func (d *shared) chunkOwner(t traits) *Consumer {
	if t.chunks <= 1 || t.chunk == 0 {
		return nil
	}
	return d.chunks[string(t.uuid)]
}

func (d *shared) keepChunks(c *Consumer, t traits) {
	switch {
	case t.chunks <= 1:
	case t.chunk == t.chunks-1:
		delete(d.chunks, string(t.uuid))
	case t.chunk == 0:
		d.chunks[string(t.uuid)] = c
	}
}
