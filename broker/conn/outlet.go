package conn

import (
	"google.golang.org/protobuf/proto"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/topic"
	"spoolctl/wire/pb"
)

// The connection is the outlet of its producers and consumers.
var (
	_ dispatch.Outlet      = (*Conn)(nil)
	_ topic.ProducerOutlet = (*Conn)(nil)
)

// activeChangeVersion is the first protocol version with ACTIVE_CONSUMER_CHANGE.
const activeChangeVersion = int32(pb.ProtocolVersion_v12)

// Writable implements dispatch.Outlet.
func (c *Conn) Writable() bool { return c.out.writable() }

// Overloaded implements dispatch.Outlet.
func (c *Conn) Overloaded() bool { return c.out.size.Load() > overload }

// Deliver implements dispatch.Outlet.
func (c *Conn) Deliver(batch []dispatch.Delivery) { c.out.messages(batch) }

// ActiveChange implements dispatch.Outlet.
func (c *Conn) ActiveChange(consumerID uint64, active bool) {
	if c.protocol < activeChangeVersion {
		return
	}
	c.out.command(&pb.BaseCommand{
		Type:                 pb.BaseCommand_ACTIVE_CONSUMER_CHANGE.Enum(),
		ActiveConsumerChange: &pb.CommandActiveConsumerChange{ConsumerId: &consumerID, IsActive: &active},
	})
}

// ReachedEnd implements dispatch.Outlet. Only the Java client knows the command; others
// end the connection when they get it.
func (c *Conn) ReachedEnd(consumerID uint64) {
	if !c.speaksJava() {
		return
	}
	c.out.command(&pb.BaseCommand{
		Type:              pb.BaseCommand_REACHED_END_OF_TOPIC.Enum(),
		ReachedEndOfTopic: &pb.CommandReachedEndOfTopic{ConsumerId: &consumerID},
	})
}

// CloseConsumer implements dispatch.Outlet.
func (c *Conn) CloseConsumer(x *dispatch.Consumer) {
	c.mu.Lock()
	e := c.consumers.get(x.ID)
	switch {
	case e == nil || (e.c != nil && e.c.Consumer != x):
		c.mu.Unlock()
		return // the client closed it meanwhile
	case e.c == nil:
		e.early = true
		c.mu.Unlock()
		return // its SUBSCRIBE will be answered with an error
	}
	c.consumers.delete(x.ID)
	c.mu.Unlock()
	c.out.command(&pb.BaseCommand{
		Type:          pb.BaseCommand_CLOSE_CONSUMER.Enum(),
		CloseConsumer: &pb.CommandCloseConsumer{ConsumerId: proto.Uint64(x.ID), RequestId: proto.Uint64(noRequest)},
	})
}

// CloseProducer implements topic.ProducerOutlet.
func (c *Conn) CloseProducer(p *topic.Producer) {
	c.mu.Lock()
	e := c.producers.get(p.ID)
	switch {
	case e == nil || (e.p != nil && e.p != p):
		c.mu.Unlock()
		return
	case e.p == nil:
		e.early = true
		c.mu.Unlock()
		return
	}
	c.producers.delete(p.ID)
	c.mu.Unlock()
	c.out.command(&pb.BaseCommand{
		Type:          pb.BaseCommand_CLOSE_PRODUCER.Enum(),
		CloseProducer: &pb.CommandCloseProducer{ProducerId: proto.Uint64(p.ID), RequestId: proto.Uint64(noRequest)},
	})
}

// ProducerReady implements topic.ProducerOutlet.
func (c *Conn) ProducerReady(p *topic.Producer) { c.producerSuccess(p.Request, p) }

// Receipts implements topic.ProducerOutlet.
func (c *Conn) Receipts(rs []topic.Receipt) {
	c.out.receipts(rs)
	bytes := 0
	for i := range rs {
		bytes += rs[i].Size
	}
	c.PublishDone(bytes)
}

// PublishDone implements topic.ProducerOutlet.
func (c *Conn) PublishDone(bytes int) {
	left := c.publishing.Add(-int64(bytes))
	if limit := c.s.opt.MaxPublishing; left <= limit && left+int64(bytes) > limit {
		select {
		case c.published <- struct{}{}:
		default:
		}
	}
}
