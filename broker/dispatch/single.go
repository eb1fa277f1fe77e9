package dispatch

import (
	"cmp"
	"slices"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// single serves one consumer at a time: the only one of an exclusive subscription, or
// the active one of a failover subscription.
type single struct {
	base
	active  *Consumer
	holdTil time.Time // nothing is sent before; set when a live active consumer was pre-empted
	endTold bool
	sent    sent // to the active consumer since the last rewind
}

func newSingle(o Options) *single {
	d := &single{}
	d.init(o, d.pass)
	return d
}

func (d *single) failover() bool { return d.Options.Type == pb.CommandSubscribe_Failover }

func (d *single) Add(c *Consumer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.failover() && len(d.consumers) > 0 {
		return fault.New(fault.ConsumerBusy, "Exclusive consumer is already connected")
	}
	if err := d.attach(c); err != nil {
		return err
	}
	c.d = d
	c.tellActive = d.failover()
	d.choose()
	return nil
}

func (d *single) Remove(c *Consumer) {
	d.mu.Lock()
	ok := d.detach(c)
	if ok {
		d.choose()
	}
	d.mu.Unlock()
	if ok {
		d.pump.kick()
	}
}

// choose picks the active consumer and, when that changes, starts over at the first
// unacknowledged entry. The caller holds mu.
func (d *single) choose() {
	next := pickActive(d.consumers, d.Partition)
	if next == d.active {
		return
	}
	before := d.active
	d.active = next
	d.rewind()
	d.holdTil = time.Time{}
	if before != nil && next != nil && slices.Contains(d.consumers, before) {
		d.holdTil = d.Now().Add(d.FailoverDelay)
	}
	if !d.failover() {
		return
	}
	// A client that has not sent a FLOW yet may not have registered its consumer; it
	// is told with its first FLOW.
	for _, c := range d.consumers {
		if (c == before || c == next) && !c.tellActive {
			c.Outlet.ActiveChange(c.ID, c == next)
		}
	}
}

// pickActive chooses among the consumers with the lowest priority number: on a
// partition by its index over their names, else the one that came first.
func pickActive(consumers []*Consumer, partition int) *Consumer {
	if len(consumers) == 0 {
		return nil
	}
	top := 1
	for top < len(consumers) && consumers[top].Priority == consumers[0].Priority {
		top++
	}
	if partition < 0 {
		return consumers[0]
	}
	named := slices.Clone(consumers[:top])
	slices.SortStableFunc(named, func(a, b *Consumer) int { return cmp.Compare(a.Name, b.Name) })
	return named[partition%top]
}

// rewind makes the next read start at the first unacknowledged entry. The caller holds mu.
func (d *single) rewind() {
	d.gen++
	d.read = after(d.Source.MarkDelete())
	d.endTold = false
	d.sent.clear()
}

func (d *single) Flow(c *Consumer, messages int) {
	d.mu.Lock()
	d.permit(c, messages)
	if c.tellActive {
		c.tellActive = false
		c.Outlet.ActiveChange(c.ID, c == d.active)
	}
	d.mu.Unlock()
	d.pump.kick()
}

// Sizes implements Dispatcher.
func (d *single) Sizes(_ *Consumer, acks []storage.Ack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range acks {
		if x, ok := d.sent.find(acks[i].Position); ok {
			acks[i].Messages, acks[i].Bytes = x.messages, int64(x.bytes)
		}
	}
}

func (d *single) Acked(c *Consumer, acks []Acked) {
	if c == nil {
		return
	}
	c.acked(d.Now(), sum(acks), d.Meters)
}

func (d *single) Redeliver(c *Consumer, _ []wire.Position, epoch uint64, hasEpoch bool) {
	d.mu.Lock()
	if hasEpoch {
		c.epoch, c.HasEpoch = epoch, true
	}
	if c == d.active {
		d.rewind()
	}
	d.mu.Unlock()
	d.pump.kick()
}

func (d *single) Reset() {
	d.mu.Lock()
	d.rewind()
	d.mu.Unlock()
	d.pump.kick()
}

func (d *single) Snapshot() Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.snapshot()
	if d.active != nil {
		s.Active = d.active.Name
	}
	return s
}

func (d *single) pass() {
	for d.step() {
	}
}

// step makes one read and sends it; false when there is nothing more to do now.
func (d *single) step() bool {
	d.mu.Lock()
	c := d.active
	if d.closed || c == nil || !c.ready() {
		d.hungry.set(false)
		d.mu.Unlock()
		return false
	}
	if !d.holdTil.IsZero() {
		if now := d.Now(); now.Before(d.holdTil) {
			d.pump.kickAt(now, d.holdTil)
			d.mu.Unlock()
			return false
		}
		d.holdTil = time.Time{}
		d.rewind() // the former one may have acknowledged more
	}
	d.hungry.set(true)
	from, gen, n := d.read, d.gen, d.entriesFor(c.permits)
	d.mu.Unlock()

	read := d.Source.Pending
	if c.ReadCompacted {
		read = d.Source.PendingCompacted
	}
	got, next, err := read(d.ctx, from, n, readBytes, d.buf[:0])
	d.buf = got

	d.mu.Lock()
	defer d.mu.Unlock()
	defer clear(got)
	if err != nil {
		d.failed(err)
		return false
	}
	if gen != d.gen || c != d.active || d.closed {
		return !d.closed
	}
	if len(got) == 0 {
		d.read = next
		d.reachedEnd(c)
		return false
	}
	for i := range got {
		if c.permits <= 0 {
			next = got[i].Position
			break
		}
		n := unackedIn(&got[i])
		d.learn(n)
		d.sent.add(got[i].Position, got[i].Header.Messages, len(got[i].Data))
		c.collect(Delivery{Message: wire.Message{Position: got[i].Position, AckSet: got[i].Remaining}, Data: got[i].Data}, int64(n))
	}
	d.read = next
	c.flush(d.Now(), d.Meters)
	return true
}

func (d *single) reachedEnd(c *Consumer) {
	if !d.endTold && d.Terminated != nil && d.Terminated() {
		d.endTold = true
		c.Outlet.ReachedEnd(c.ID)
	}
}
