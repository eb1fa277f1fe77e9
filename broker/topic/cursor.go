package topic

import (
	"context"
	"math/bits"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// acks is memory for one acknowledgement.
type acks struct {
	store []storage.Ack
	done  []dispatch.Acked
}

// Acknowledger holds the memory for acknowledgements of one connection, which come
// from one goroutine. The zero value is ready.
type Acknowledger struct{ acks }

// Ack records an acknowledgement of a consumer. done is called when it is durable, if
// not nil; it must not block. Only a failure to take it at all is returned, and done is
// not called then.
func (a *Acknowledger) Ack(c *Consumer, ack *wire.Ack, done func(error)) error {
	s := c.Sub
	finish := func() {
		if done != nil {
			done(nil)
		}
	}
	switch {
	case ack.HasTxn:
		return fault.New(fault.NotAllowed, "transactions are not available on this broker")
	case len(ack.IDs) == 0:
		finish()
		return nil
	case s.cursor == nil:
		a.done = append(a.done[:0], dispatch.Acked{Messages: int32(len(ack.IDs))})
		c.Dispatcher().Acked(c.Consumer, a.done)
		finish()
		return nil
	case ack.Cumulative:
		if t := c.Type; t == pb.CommandSubscribe_Shared || t == pb.CommandSubscribe_Key_Shared {
			finish() // as Pulsar does: it means nothing there
			return nil
		}
		return a.cumulative(c, ack, done)
	}
	return a.individual(c, ack, done)
}

func (a *Acknowledger) individual(c *Consumer, ack *wire.Ack, done func(error)) error {
	s := c.Sub
	a.store, a.done = a.store[:0], a.done[:0]
	for i := range ack.IDs {
		if x, ok := s.toAck(&ack.IDs[i]); ok {
			a.store = append(a.store, x)
		}
	}
	c.Dispatcher().Sizes(c.Consumer, a.store)
	if err := s.cursor.Ack(a.store, done); err != nil {
		return storeFault(err, "storing an acknowledgement")
	}
	for i := range a.store {
		x := &a.store[i]
		d := dispatch.Acked{Position: x.Position, Messages: max(1, x.Messages)}
		if x.Remaining != nil && !s.cursor.Acked(x.Position) {
			d.Left = ones(s.cursor.Remaining(x.Position))
			d.Messages = 1
		}
		a.done = append(a.done, d)
	}
	c.Dispatcher().Acked(c.Consumer, a.done)
	clear(a.store)
	return nil
}

// toAck turns a wire id into the store's; false for a part of a batch when parts are
// not kept.
func (s *Subscription) toAck(id *wire.AckID) (storage.Ack, bool) {
	x := storage.Ack{Position: id.Position}
	if len(id.AckSet) == 0 || ones(id.AckSet) == 0 {
		return x, true
	}
	if !s.t.r.opt.BatchIndexAck {
		return x, false
	}
	x.Remaining = id.AckSet
	return x, true
}

func (a *Acknowledger) cumulative(c *Consumer, ack *wire.Ack, done func(error)) error {
	s := c.Sub
	id := &ack.IDs[len(ack.IDs)-1]
	x, ok := s.toAck(id)
	if !ok {
		x.Position = before(id.Position) // everything before the batch
	}
	var props map[string]int64
	if len(ack.Properties) > 0 {
		props = make(map[string]int64, len(ack.Properties))
		for _, p := range ack.Properties {
			props[p.Key] = int64(p.Value)
		}
	}
	if err := s.cursor.AckCumulative(x, props, done); err != nil {
		return storeFault(err, "storing an acknowledgement")
	}
	a.done = append(a.done[:0], dispatch.Acked{Position: x.Position, Messages: 1})
	c.Dispatcher().Acked(c.Consumer, a.done)
	return nil
}

func ones(words []uint64) (n int32) {
	for _, w := range words {
		n += int32(bits.OnesCount64(w))
	}
	return n
}

// SeekTarget says where a subscription is to be moved.
type SeekTarget struct {
	Position  wire.Position // the next entry to be delivered is the first at or after it
	Remaining []uint64      // of a batch at Position: what is still to be delivered; nil = all
	Time      int64         // ms since 1970: the first entry published then or later; used when HasTime
	HasTime   bool
}

// Seek moves the subscription; durable on return. Its consumers are disconnected and
// come back by themselves.
func (s *Subscription) Seek(ctx context.Context, to SeekTarget) error {
	if s.cursor == nil {
		return fault.New(fault.NotAllowed, "Reset cursor on a non-persistent topic is not allowed")
	}
	end, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer end()
	p := to.Position
	if to.HasTime {
		if p, err = s.t.Find(ctx, to.Time); err != nil {
			return err
		}
	} else if p == wire.Latest() {
		p = s.t.store.Next(s.t.store.LastConfirmed())
	}
	s.disconnect(nil)
	if err := s.cursor.Seek(ctx, p); err != nil {
		return storeFault(err, "moving subscription %s", s.name)
	}
	s.disp().Reset()
	if to.Remaining != nil && !to.HasTime && s.t.r.opt.BatchIndexAck {
		x, ok := s.toAck(&wire.AckID{Position: p, AckSet: to.Remaining})
		if ok && x.Remaining != nil {
			if err := s.cursor.Ack([]storage.Ack{x}, nil); err != nil {
				return storeFault(err, "moving subscription %s", s.name)
			}
		}
	}
	return nil
}

// Clear acknowledges everything that is stored.
func (s *Subscription) Clear(ctx context.Context) error {
	return s.moved(ctx, func(c *storage.Cursor) error { return c.Clear(ctx) })
}

// Skip acknowledges the next messages and says how many there were.
func (s *Subscription) Skip(ctx context.Context, messages int64) (skipped int64, err error) {
	err = s.moved(ctx, func(c *storage.Cursor) error {
		var err error
		skipped, err = c.Skip(ctx, messages)
		return err
	})
	return skipped, err
}

func (s *Subscription) moved(ctx context.Context, move func(*storage.Cursor) error) error {
	if s.cursor == nil {
		return fault.New(fault.NotAllowed, "not allowed on a non-persistent topic: nothing is stored")
	}
	end, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := move(s.cursor); err != nil {
		return storeFault(err, "moving subscription %s", s.name)
	}
	s.disp().Acked(nil, nil)
	return nil
}

// Peek gives the n-th entry, from 1, that a consumer would get next; MessageNotFound
// when there are not so many. It changes nothing.
func (s *Subscription) Peek(ctx context.Context, n int) (storage.PendingEntry, error) {
	if s.cursor == nil {
		return storage.PendingEntry{}, fault.New(fault.NotAllowed, "Peek messages on a non-persistent topic is not allowed")
	}
	if n < 1 {
		return storage.PendingEntry{}, fault.New(fault.Precondition, "Message position must be 1 or more")
	}
	from := s.cursor.MarkDelete()
	from.Entry++
	var buf []storage.PendingEntry
	for {
		got, next, err := s.cursor.Pending(ctx, from, min(n, 1000), 1<<20, buf[:0])
		if err != nil {
			return storage.PendingEntry{}, storeFault(err, "reading subscription %s", s.name)
		}
		if len(got) == 0 {
			return storage.PendingEntry{}, fault.New(fault.MessageNotFound, "Message not found")
		}
		if n <= len(got) {
			return got[n-1], nil
		}
		n -= len(got)
		from, buf = next, got
	}
}

// Delete removes the subscription; Precondition while it has consumers, unless force,
// which disconnects them.
func (s *Subscription) Delete(ctx context.Context, force bool) error {
	return s.remove(ctx, nil, force, fault.New(fault.Precondition, "Subscription has active connected consumers"))
}

// Unsubscribe removes the subscription for its consumer; ConsumerBusy while it has
// others, unless force.
func (c *Consumer) Unsubscribe(ctx context.Context, force bool) error {
	return c.Sub.remove(ctx, c.Consumer, force, fault.New(fault.ConsumerBusy, "Unconnected or shared consumer attempting to unsubscribe"))
}

func (s *Subscription) remove(ctx context.Context, by *dispatch.Consumer, force bool, busy *fault.Error) error {
	end, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, c := range s.Consumers() {
		if c != by && !force {
			return busy
		}
	}
	s.disconnect(by)
	if by != nil {
		s.disp().Remove(by)
	}
	return s.drop(ctx)
}

// Redeliver makes messages in the consumer's hands deliverable again; nil: all.
func (c *Consumer) Redeliver(positions []wire.Position, epoch uint64, hasEpoch bool) {
	c.Dispatcher().Redeliver(c.Consumer, positions, epoch, hasEpoch)
}
