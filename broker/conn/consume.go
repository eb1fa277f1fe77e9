package conn

import (
	"context"
	"fmt"
	"time"

	"spoolctl/broker/auth"
	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// consumer finds a consumer that is ready; nil when there is none of that id.
func (c *Conn) consumer(id uint64) *topic.Consumer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.consumers.get(id); e != nil {
		return e.c
	}
	return nil
}

// flow works on FLOW.
func (c *Conn) flow(body []byte) error {
	id, permits, err := wire.ParseFlow(body)
	if err != nil {
		return err
	}
	if x := c.consumer(id); x != nil && permits > 0 {
		x.Flow(int(permits))
	}
	return nil
}

// acknowledge works on ACK. One that asks for an answer gets it when it is durable.
func (c *Conn) acknowledge(body []byte) error {
	if err := wire.ParseAck(body, &c.ack); err != nil {
		return err
	}
	a := &c.ack
	x := c.consumer(a.ConsumerID)
	if !a.HasRequestID {
		if x == nil {
			return nil
		}
		if err := c.acks.Ack(x, a, nil); err != nil {
			c.log.Warn("an acknowledgement was not stored", "topic", x.Sub.Topic().Name().String(), "subscription", x.Sub.Name(), "error", err)
		}
		return nil
	}
	consumer, request := a.ConsumerID, a.RequestID
	most, least := a.TxnMost, a.TxnLeast
	answer := func(err error) { c.ackResponse(consumer, request, most, least, err) }
	if x == nil {
		answer(fault.New(fault.ConsumerNotFound, "consumer %d is not on this connection", consumer))
		return nil
	}
	if err := c.acks.Ack(x, a, answer); err != nil {
		answer(err)
	}
	return nil
}

func (c *Conn) ackResponse(consumer, request, most, least uint64, err error) {
	r := &pb.CommandAckResponse{ConsumerId: &consumer, RequestId: &request, TxnidMostBits: &most, TxnidLeastBits: &least}
	if err != nil {
		code, words := serverError(err)
		r.Error, r.Message = enum(code), text(words)
	}
	c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_ACK_RESPONSE.Enum(), AckResponse: r})
}

// subscribe works on SUBSCRIBE.
func (c *Conn) subscribe(m *pb.CommandSubscribe) {
	id, request := m.GetConsumerId(), m.GetRequestId()
	name, err := wire.ParseTopic(m.GetTopic())
	if err != nil {
		c.refuse(request, err)
		return
	}
	c.mu.Lock()
	if old := c.consumers.get(id); old != nil {
		ready := old.c != nil
		c.mu.Unlock()
		if ready {
			c.success(request)
		} else {
			c.fail(request, pb.ServerError_ServiceNotReady, "Consumer is already present on the connection")
		}
		return
	}
	e := &consumerEntry{done: make(chan struct{})}
	c.consumers.set(id, e)
	c.mu.Unlock()
	c.task(func(ctx context.Context) {
		defer close(e.done)
		x, err := c.addConsumer(ctx, name, m)
		c.mu.Lock()
		if err == nil && (e.early || e.closed) {
			err = fault.New(fault.NotReady, "the consumer was closed; try again")
		}
		if err == nil {
			e.c = x
		} else if c.consumers.get(id) == e {
			c.consumers.delete(id)
		}
		c.mu.Unlock()
		if err != nil {
			if x != nil {
				x.Leave()
			}
			c.refuse(request, err)
			return
		}
		c.success(request)
	})
}

// addConsumer attaches a consumer to its subscription.
func (c *Conn) addConsumer(ctx context.Context, name wire.TopicName, m *pb.CommandSubscribe) (*topic.Consumer, error) {
	if err := c.s.opt.Authorizer.Authorize(ctx, c.identity, auth.Consume, name.String(), m.GetSubscription()); err != nil {
		return nil, fault.Wrap(fault.Unauthorized, err, "not allowed to consume from %s", name)
	}
	o := topic.SubscribeOptions{
		Name: m.GetSubscription(), Durable: m.GetDurable(), Earliest: m.GetInitialPosition() == pb.CommandSubscribe_Earliest,
		Rollback:   time.Duration(min(m.GetStartMessageRollbackDurationSec(), 1<<32)) * time.Second,
		Replicated: m.GetReplicateSubscriptionState(), Properties: keyValues(m.GetSubscriptionProperties()),
		Consumer: dispatch.ConsumerOptions{
			ID: m.GetConsumerId(), Name: m.GetConsumerName(), Type: m.GetSubType(), Priority: m.GetPriorityLevel(),
			Partition: int32(name.Partition()), ReadCompacted: m.GetReadCompacted(), Metadata: keyValues(m.GetMetadata()),
			Address: c.nc.RemoteAddr().String(), Version: c.version,
			Epoch: m.GetConsumerEpoch(), HasEpoch: m.ConsumerEpoch != nil,
			Connected: time.Now(), Outlet: c,
		},
	}
	if o.Consumer.Name == "" {
		o.Consumer.Name = fmt.Sprintf("%s-%d", c.nc.RemoteAddr(), m.GetConsumerId())
	}
	if m.StartMessageId != nil && !o.Durable {
		o.Start = new(messageID(m.GetStartMessageId()).Position)
	}
	if k := m.GetKeySharedMeta(); k != nil && o.Consumer.Type == pb.CommandSubscribe_Key_Shared {
		o.Consumer.Sticky = k.GetKeySharedMode() == pb.KeySharedMode_STICKY
		o.Consumer.OutOfOrder = k.GetAllowOutOfOrderDelivery()
		for _, r := range k.GetHashRanges() {
			o.Consumer.Ranges = append(o.Consumer.Ranges, dispatch.KeyRange{Start: r.GetStart(), End: r.GetEnd()})
		}
	}
	for try := 1; ; try++ {
		t, err := c.s.opt.Registry.GetOrCreate(ctx, name, m.GetForceTopicCreation())
		if err != nil {
			return nil, err
		}
		if s, ok := c.schemaOf(m.GetSchema()); ok {
			if err := t.ConsumerSchema(ctx, s); err != nil {
				return nil, err
			}
		}
		x, err := t.Subscribe(ctx, o)
		if fault.Is(err, fault.NotReady) && try < joinTries {
			continue // it was just being closed: load it anew
		}
		return x, err
	}
}

// messageID turns a protobuf message id into the wire package's.
func messageID(m *pb.MessageIdData) wire.MessageID {
	return wire.MessageID{
		Position:  wire.Position{Ledger: int64(m.GetLedgerId()), Entry: int64(m.GetEntryId())},
		Partition: m.GetPartition(), Batch: m.GetBatchIndex(),
	}
}

// closeConsumer works on CLOSE_CONSUMER; closing one that is not there works.
func (c *Conn) closeConsumer(m *pb.CommandCloseConsumer) {
	id, request := m.GetConsumerId(), m.GetRequestId()
	c.mu.Lock()
	e := c.consumers.get(id)
	if e != nil {
		e.closed = true
		c.consumers.delete(id)
	}
	c.mu.Unlock()
	if e == nil {
		c.success(request)
		return
	}
	c.task(func(context.Context) {
		<-e.done
		if e.c != nil {
			e.c.Leave()
		}
		c.success(request)
	})
}

// need finds the consumer that a request is about, or answers that there is none.
func (c *Conn) need(id, request uint64) *topic.Consumer {
	x := c.consumer(id)
	if x == nil {
		c.fail(request, pb.ServerError_MetadataError, "Consumer not found")
	}
	return x
}

// unsubscribe works on UNSUBSCRIBE.
func (c *Conn) unsubscribe(m *pb.CommandUnsubscribe) {
	id, request := m.GetConsumerId(), m.GetRequestId()
	x := c.need(id, request)
	if x == nil {
		return
	}
	c.task(func(ctx context.Context) {
		err := x.Unsubscribe(ctx, m.GetForce())
		if err == nil {
			c.mu.Lock()
			if e := c.consumers.get(id); e != nil && e.c == x {
				c.consumers.delete(id)
			}
			c.mu.Unlock()
		}
		c.finish(request, err)
	})
}

// redeliver works on REDELIVER_UNACKNOWLEDGED_MESSAGES, which has no answer.
func (c *Conn) redeliver(m *pb.CommandRedeliverUnacknowledgedMessages) {
	x := c.consumer(m.GetConsumerId())
	if x == nil {
		return
	}
	var positions []wire.Position
	if n := len(m.GetMessageIds()); n > 0 {
		positions = make([]wire.Position, 0, n)
		for _, id := range m.GetMessageIds() {
			positions = append(positions, messageID(id).Position)
		}
	}
	x.Redeliver(positions, m.GetConsumerEpoch(), m.ConsumerEpoch != nil)
}

// seek works on SEEK.
func (c *Conn) seek(m *pb.CommandSeek) {
	request := m.GetRequestId()
	x := c.need(m.GetConsumerId(), request)
	if x == nil {
		return
	}
	var to topic.SeekTarget
	switch {
	case m.MessageId != nil:
		id := m.GetMessageId()
		if first := id.GetFirstChunkMessageId(); first != nil {
			id = first // a chunked message is read from its first chunk on
		}
		to.Position = messageID(id).Position
		for _, w := range id.GetAckSet() {
			to.Remaining = append(to.Remaining, uint64(w))
		}
	case m.MessagePublishTime != nil:
		to.Time, to.HasTime = int64(m.GetMessagePublishTime()), true
	default:
		c.fail(request, pb.ServerError_MetadataError, "seek needs a message id or a time")
		return
	}
	c.task(func(ctx context.Context) { c.finish(request, x.Sub.Seek(ctx, to)) })
}
