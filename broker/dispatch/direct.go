package dispatch

import (
	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// Fresh is one entry of a topic that keeps nothing.
type Fresh struct {
	Position wire.Position
	Messages int32
	Data     []byte // from the checksum magic on; immutable
}

// Direct serves a subscription of a topic that keeps nothing: what comes is sent at
// once, or dropped and counted when the consumer it is for has no permits.
type Direct struct {
	base
	ranges ranges
	active *Consumer
	last   int // index of the consumer that got the last entry
}

// NewDirect makes the dispatcher of a non-persistent subscription.
func NewDirect(o Options) *Direct {
	d := &Direct{}
	d.init(o.withDefaults(), func() {})
	return d
}

func (d *Direct) keyed() bool { return d.Options.Type == pb.CommandSubscribe_Key_Shared }

func (d *Direct) failover() bool { return d.Options.Type == pb.CommandSubscribe_Failover }

// Add attaches a consumer.
func (d *Direct) Add(c *Consumer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Options.Type == pb.CommandSubscribe_Exclusive && len(d.consumers) > 0 {
		return fault.New(fault.ConsumerBusy, "Exclusive consumer is already connected")
	}
	if d.keyed() {
		if err := d.ranges.add(c); err != nil {
			return err
		}
	}
	if err := d.attach(c); err != nil {
		d.ranges.remove(c)
		return err
	}
	c.d = d
	c.tellActive = d.failover()
	d.choose()
	return nil
}

// Remove detaches a consumer.
func (d *Direct) Remove(c *Consumer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.detach(c) {
		d.ranges.remove(c)
		d.choose()
	}
}

// choose picks the active consumer; the caller holds mu.
func (d *Direct) choose() {
	before := d.active
	d.active = pickActive(d.consumers, d.Partition)
	if !d.failover() || before == d.active {
		return
	}
	for _, c := range d.consumers {
		if (c == before || c == d.active) && !c.tellActive {
			c.Outlet.ActiveChange(c.ID, c == d.active)
		}
	}
}

// Flow gives a consumer permits.
func (d *Direct) Flow(c *Consumer, messages int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.permit(c, messages)
	if c.tellActive {
		c.tellActive = false
		c.Outlet.ActiveChange(c.ID, c == d.active)
	}
}

// Sizes does nothing: nothing is kept.
func (d *Direct) Sizes(*Consumer, []storage.Ack) {}

// Acked counts; nothing is kept that could be acknowledged.
func (d *Direct) Acked(c *Consumer, acks []Acked) {
	if c != nil {
		c.acked(d.Now(), sum(acks), d.Meters)
	}
}

// Redeliver does nothing: nothing is kept.
func (d *Direct) Redeliver(*Consumer, []wire.Position, uint64, bool) {}

// Reset does nothing: there is no position.
func (d *Direct) Reset() {}

// Snapshot describes the state for statistics.
func (d *Direct) Snapshot() Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.snapshot()
	if d.active != nil && (d.failover() || d.Options.Type == pb.CommandSubscribe_Exclusive) {
		s.Active = d.active.Name
	}
	if d.keyed() {
		for i := range s.Consumers {
			s.Consumers[i].Ranges = d.ranges.of(s.Consumers[i].Consumer)
		}
	}
	return s
}

// Publish sends entries in order, to the consumers whose turn or key it is. It is
// called by the topic's one worker.
func (d *Direct) Publish(entries []Fresh) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	var dropped, droppedBytes int64
	for i := range entries {
		e := &entries[i]
		c := d.target(e)
		if c == nil || c.permits <= 0 || c.Outlet.Overloaded() {
			dropped += int64(e.Messages)
			droppedBytes += int64(len(e.Data))
			continue
		}
		c.collect(Delivery{Message: wire.Message{Position: e.Position}, Data: e.Data}, int64(e.Messages))
	}
	if dropped > 0 {
		d.Meters.Dropped.Add(now, dropped, droppedBytes)
	}
	for _, c := range d.consumers {
		c.flush(now, d.Meters)
	}
}

// target chooses the consumer of an entry; the caller holds mu.
func (d *Direct) target(e *Fresh) *Consumer {
	switch d.Options.Type {
	case pb.CommandSubscribe_Key_Shared:
		return d.ranges.owner(traitsOf(e.Data).hash)
	case pb.CommandSubscribe_Shared:
		var best *Consumer
		at := d.last
		for i := range d.consumers {
			j := (d.last + 1 + i) % len(d.consumers)
			if c := d.consumers[j]; c.permits > 0 && (best == nil || c.Priority < best.Priority) {
				best, at = c, j
			}
		}
		d.last = at
		return best
	default:
		return d.active
	}
}
