package dispatch

import (
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// multi is what shared and key_shared have in common: what is in the clients' hands,
// redelivery counts, delayed entries, the unacked budgets.
type multi struct {
	base
	counts  map[wire.Position]uint32 // how often an entry was sent again
	delays  delays
	unacked int64 // sum over the consumers
	blocked bool  // the subscription's budget is used up
	endTold bool
}

func (d *multi) init(o Options, pass func()) {
	d.base.init(o, pass)
	d.counts = make(map[wire.Position]uint32)
}

// restart forgets what is not in the clients' hands and reads again from the
// mark-delete position. The caller holds mu.
func (d *multi) restart() {
	d.gen++
	d.read = after(d.Source.MarkDelete())
	d.delays.clear()
	d.endTold = false
}

// permitted says whether the budget lets anything be sent; the caller holds mu.
func (d *multi) permitted() bool { return !d.closed && !d.blocked }

// held says whether a budget of unacknowledged messages stops anybody; the caller holds mu.
func (d *multi) held() bool {
	for _, c := range d.consumers {
		if c.blocked {
			return true
		}
	}
	return d.blocked
}

// wait puts a pass at the time of the next delayed entry; the caller holds mu.
func (d *multi) wait() {
	if at, ok := d.delays.next(); ok {
		d.pump.kickAt(d.Now(), time.UnixMilli(at))
	}
}

// send collects an entry for a consumer and books it as in flight; the caller holds mu.
func (d *multi) send(c *Consumer, e *storage.PendingEntry, hash uint16) {
	n := unackedIn(e)
	d.learn(n)
	if c.held == nil {
		c.held = make(map[wire.Position]held)
	}
	c.held[e.Position] = held{messages: n, of: e.Header.Messages, bytes: int32(len(e.Data)), hash: hash}
	c.unacked += int64(n)
	d.unacked += int64(n)
	if d.UnackedPerConsumer > 0 && c.unacked >= int64(d.UnackedPerConsumer) {
		c.blocked = true
	}
	if d.UnackedPerSubscription > 0 && d.unacked >= int64(d.UnackedPerSubscription) {
		d.blocked = true
	}
	c.collect(Delivery{
		Message: wire.Message{Position: e.Position, RedeliveryCount: d.counts[e.Position], AckSet: e.Remaining},
		Data:    e.Data,
	}, int64(n))
}

// take reduces what a consumer holds of an entry to left messages; the caller holds
// mu. It gives the entry's booking before and whether the consumer held it.
func (d *multi) take(c *Consumer, p wire.Position, left int32) (held, bool) {
	h, ok := c.held[p]
	if !ok {
		return h, false
	}
	done := h.messages - left
	if left <= 0 {
		delete(c.held, p)
		done = h.messages
	} else {
		rest := h
		rest.messages = left
		c.held[p] = rest
	}
	c.unacked -= int64(done)
	d.unacked -= int64(done)
	if c.blocked && c.unacked <= int64(d.UnackedPerConsumer)/2 {
		c.blocked = false
	}
	if d.blocked && d.unacked <= int64(d.UnackedPerSubscription)/2 {
		d.blocked = false
	}
	return h, true
}

// Sizes implements Dispatcher.
func (d *multi) Sizes(c *Consumer, acks []storage.Ack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range acks {
		if h, ok := c.held[acks[i].Position]; ok {
			acks[i].Messages, acks[i].Bytes = h.of, int64(h.bytes)
		}
	}
}

// holder finds who holds an entry: the hinted consumer first; the caller holds mu.
func (d *multi) holder(hint *Consumer, p wire.Position) *Consumer {
	if hint != nil {
		if _, ok := hint.held[p]; ok {
			return hint
		}
	}
	for _, c := range d.consumers {
		if _, ok := c.held[p]; ok {
			return c
		}
	}
	return nil
}

// settle books acknowledgements; done is called for entries that are wholly
// acknowledged, with their holder. The caller holds mu.
func (d *multi) settle(hint *Consumer, acks []Acked, done func(c *Consumer, p wire.Position, h held)) {
	now := d.Now()
	var messages int64
	for _, a := range acks {
		c := d.holder(hint, a.Position)
		if c != nil {
			h, _ := d.take(c, a.Position, a.Left)
			messages += int64(h.messages - a.Left)
			if a.Left <= 0 {
				done(c, a.Position, h)
			}
		}
		if a.Left <= 0 {
			delete(d.counts, a.Position)
		}
	}
	if hint != nil {
		hint.acked(now, messages, d.Meters)
	}
}

// prune drops what the cursor has passed meanwhile from the clients' hands and the
// counts, after skipping or clearing; the caller holds mu.
func (d *multi) prune(done func(c *Consumer, p wire.Position, h held)) {
	for _, c := range d.consumers {
		for p := range c.held {
			if d.Source.Acked(p) {
				h, _ := d.take(c, p, 0)
				done(c, p, h)
			}
		}
	}
	for p := range d.counts {
		if d.Source.Acked(p) {
			delete(d.counts, p)
		}
	}
}

// flushAll sends what the pass collected; the caller holds mu.
func (d *multi) flushAll() {
	now := d.Now()
	for _, c := range d.consumers {
		c.flush(now, d.Meters)
	}
}

// snapshot describes the state; the caller holds mu.
func (d *multi) snapshot() Snapshot {
	s := d.base.snapshot()
	s.Unacked, s.Blocked, s.Delayed = d.unacked, d.blocked, d.delays.len()
	return s
}

// tellEnd says once to all consumers that a terminated topic is done; the caller holds mu.
func (d *multi) tellEnd() {
	if d.endTold || d.unacked > 0 || d.delays.len() > 0 || d.Terminated == nil || !d.Terminated() {
		return
	}
	d.endTold = true
	for _, c := range d.consumers {
		c.Outlet.ReachedEnd(c.ID)
	}
}
