package conn

import (
	"context"

	"google.golang.org/protobuf/proto"

	"spoolctl/broker/auth"
	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// joinTries is how often attaching to a topic is tried when it is just being closed.
const joinTries = 3

// send works on SEND, the hot one: nothing here is decoded twice or waits, except for
// room in the commit queue.
func (c *Conn) send(body, entry []byte) error {
	s, err := wire.ParseSend(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	e := c.producers.get(s.ProducerID)
	var p *topic.Producer
	if e != nil {
		p = e.p
	}
	c.mu.Unlock()
	if p == nil {
		// Closed by the broker while this was on its way: the client sends it again.
		c.log.Debug("a message for a producer that is not here was ignored", "producer", s.ProducerID)
		return nil
	}
	c.publishing.Add(int64(len(entry)))
	if err := p.Publish(s, entry); err != nil {
		c.PublishDone(len(entry))
		code, text := serverError(err)
		c.out.small(func(dst []byte) []byte {
			return wire.AppendSendError(dst, s.ProducerID, s.SequenceID, code, text)
		})
	}
	return nil
}

// producer works on PRODUCER.
func (c *Conn) producer(m *pb.CommandProducer) {
	id, request := m.GetProducerId(), m.GetRequestId()
	name, err := wire.ParseTopic(m.GetTopic())
	if err != nil {
		c.refuse(request, err)
		return
	}
	c.mu.Lock()
	if old := c.producers.get(id); old != nil {
		p := old.p
		c.mu.Unlock()
		if p == nil {
			c.fail(request, pb.ServerError_ServiceNotReady, "Producer is already present on the connection")
		} else {
			c.producerSuccess(request, p)
		}
		return
	}
	e := &producerEntry{done: make(chan struct{})}
	c.producers.set(id, e)
	c.mu.Unlock()
	c.task(func(ctx context.Context) {
		defer close(e.done)
		p, err := c.addProducer(ctx, name, m)
		c.mu.Lock()
		// Under the lock, so that a close by the broker finds either nothing or all.
		if err == nil && (e.early || e.closed) {
			err = fault.New(fault.NotReady, "the producer was closed; try again")
		}
		if err == nil {
			e.p = p
		} else if c.producers.get(id) == e {
			c.producers.delete(id)
		}
		c.mu.Unlock()
		if err != nil {
			if p != nil {
				p.Drop()
			}
			c.refuse(request, err)
			return
		}
		c.producerSuccess(request, p)
	})
}

// addProducer attaches a producer to its topic.
func (c *Conn) addProducer(ctx context.Context, name wire.TopicName, m *pb.CommandProducer) (*topic.Producer, error) {
	if err := c.s.opt.Authorizer.Authorize(ctx, c.identity, auth.Produce, name.String(), ""); err != nil {
		return nil, fault.Wrap(fault.Unauthorized, err, "not allowed to produce to %s", name)
	}
	o := topic.ProducerOptions{
		ID: m.GetProducerId(), Request: m.GetRequestId(), Name: m.GetProducerName(),
		Generated: !m.GetUserProvidedProducerName(), Epoch: m.GetEpoch(), Access: m.GetProducerAccessMode(),
		TopicEpoch: m.GetTopicEpoch(), HasTopicEpoch: m.TopicEpoch != nil, Encrypted: m.GetEncrypted(),
		Metadata: keyValues(m.GetMetadata()), Address: c.nc.RemoteAddr().String(), Version: c.version, Outlet: c,
	}
	for try := 1; ; try++ {
		t, err := c.s.opt.Registry.GetOrCreate(ctx, name, true)
		if err != nil {
			return nil, err
		}
		if o.Schema, err = c.producerSchema(ctx, name, m.GetSchema()); err != nil {
			return nil, err
		}
		p, err := t.AddProducer(ctx, o)
		if fault.Is(err, fault.NotReady) && try < joinTries {
			continue // it was just being closed: load it anew
		}
		if err != nil {
			return nil, err
		}
		if sub := m.GetInitialSubscriptionName(); sub != "" {
			if err := c.s.opt.Registry.InitialSubscription(ctx, t, sub); err != nil {
				return p, err
			}
		}
		return p, nil
	}
}

// producerSuccess answers PRODUCER, a second time when a producer that waited got its topic.
func (c *Conn) producerSuccess(request uint64, p *topic.Producer) {
	ready := p.Ready()
	s := &pb.CommandProducerSuccess{
		RequestId: &request, ProducerName: &p.Name, LastSequenceId: proto.Int64(p.LastSequence()), ProducerReady: &ready,
		SchemaVersion: p.Schema,
	}
	if p.Access != pb.ProducerAccessMode_Shared && ready {
		s.TopicEpoch = proto.Uint64(p.TopicEpoch.Load())
	}
	c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_PRODUCER_SUCCESS.Enum(), ProducerSuccess: s})
}

// closeProducer works on CLOSE_PRODUCER. It is answered when everything that the
// producer sent before is; closing one that is not there works.
func (c *Conn) closeProducer(m *pb.CommandCloseProducer) {
	id, request := m.GetProducerId(), m.GetRequestId()
	c.mu.Lock()
	e := c.producers.get(id)
	if e != nil {
		e.closed = true
		c.producers.delete(id)
	}
	c.mu.Unlock()
	if e == nil {
		c.success(request)
		return
	}
	c.task(func(ctx context.Context) {
		<-e.done
		if e.p != nil {
			if err := e.p.Close(ctx); err != nil {
				return // the connection is ending
			}
		}
		c.success(request)
	})
}

// keyValues makes a map of a client's pairs.
func keyValues(pairs []*pb.KeyValue) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		out[printable(p.GetKey())] = printable(p.GetValue())
	}
	return out
}
