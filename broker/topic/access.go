package topic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire/pb"
)

// epochProperty keeps the topic epoch of exclusive access in the topic's properties.
const epochProperty = "__topic_epoch"

// AddProducer attaches a producer by the rules of its access mode. A producer that has
// to wait for exclusive access is returned with Ready false and told later. It refuses
// with ProducerBusy, ProducerFenced, Terminated, QuotaHeld, QuotaExceeded, NotReady.
func (t *Topic) AddProducer(ctx context.Context, o ProducerOptions) (*Producer, error) {
	if o.Name == "" {
		o.Name, o.Generated = t.r.producerName(), true
	}
	p := &Producer{
		ID: o.ID, Request: o.Request, Name: o.Name, Generated: o.Generated, Epoch: o.Epoch, Access: o.Access, Schema: o.Schema,
		Metadata: maps.Clone(o.Metadata), Address: o.Address, Version: o.Version, Connected: t.r.opt.Now(),
		t: t, outlet: o.Outlet,
	}
	if err := t.checkEncryption(o.Encrypted); err != nil {
		return nil, err
	}
	if err := t.checkQuota(); err != nil {
		return nil, err
	}
	if err := t.checkSpace(); err != nil {
		return nil, err
	}
	done, err := t.deduplicate(ctx, p)
	if err != nil {
		return nil, err
	}
	kick, acquired, err := t.admit(p, o)
	done()
	if err != nil {
		return nil, err
	}
	for _, old := range kick {
		old.failed.Store(true)
		old.outlet.CloseProducer(old)
	}
	if acquired {
		if err := t.saveEpoch(ctx, p); err != nil {
			t.removeProducer(p)
			return nil, err
		}
	}
	return p, nil
}

// producerName makes up a name that no other producer of this spool has.
func (r *Registry) producerName() string {
	return fmt.Sprintf("%s-%d-%d", r.opt.Cluster, r.started.UnixMilli(), r.names.Add(1))
}

func (t *Topic) checkEncryption(encrypted bool) error {
	if !encrypted && t.Policies().Encryption {
		return fault.New(fault.Precondition, "Encryption is required in %s", t.name)
	}
	return nil
}

// checkSpace refuses producers, with NotReady, while the store takes no entries for want of space. Where the spool is and
// how much is free is in the log.
func (t *Topic) checkSpace() error {
	var full *storage.NoSpaceError
	if t.store == nil || !errors.As(t.r.store.Health(), &full) {
		return nil
	}
	return fault.New(fault.NotReady, "the broker's disk is nearly full: it takes no messages until there is room; try again then")
}

// admit decides by the access mode, and puts p where it belongs. kick are the producers
// that have to go; acquired says that p has the topic for itself now.
func (t *Topic) admit(p *Producer, o ProducerOptions) (kick []*Producer, acquired bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fenced {
		return nil, false, fault.New(fault.NotReady, "topic %s is being closed; try again", t.name)
	}
	if t.terminated.Load() {
		return nil, false, fault.New(fault.Terminated, "Topic was already terminated")
	}
	if err := t.replaceNamesake(p); err != nil {
		return nil, false, err
	}
	if limit := t.Policies().MaxProducers; limit > 0 && len(t.producers) >= limit {
		return nil, false, fault.New(fault.ProducerBusy, "Topic reached max producers limit")
	}
	if o.HasTopicEpoch && t.hasEpoch && o.TopicEpoch < t.epoch && o.Access != pb.ProducerAccessMode_Shared {
		return nil, false, fault.New(fault.ProducerFenced, "Topic epoch has already moved. Current epoch: %d, Producer epoch: %d", t.epoch, o.TopicEpoch)
	}
	switch o.Access {
	case pb.ProducerAccessMode_Shared:
		if holder := t.holder(); holder != nil {
			return nil, false, fault.New(fault.ProducerBusy, "Topic has an existing exclusive producer: %s", holder.Name)
		}
		t.join(p)
		return nil, false, nil
	case pb.ProducerAccessMode_Exclusive:
		if holder := t.holder(); holder != nil {
			return nil, false, fault.New(fault.ProducerFenced, "Topic has an existing exclusive producer: %s", holder.Name)
		}
		if len(t.producers) > 0 {
			return nil, false, fault.New(fault.ProducerFenced, "Topic has existing shared producers")
		}
	case pb.ProducerAccessMode_WaitForExclusive:
		if t.exclusive != nil || len(t.producers) > 0 {
			t.waiting = append(t.waiting, p)
			return nil, false, nil
		}
	case pb.ProducerAccessMode_ExclusiveWithFencing:
		kick = append(kick, t.waiting...)
		for _, other := range t.producers {
			kick = append(kick, other)
		}
		t.waiting, t.exclusive = nil, nil
		clear(t.producers)
	default:
		return nil, false, fault.New(fault.NotAllowed, "unknown producer access mode %d", int32(o.Access))
	}
	if o.HasTopicEpoch {
		t.epoch = o.TopicEpoch
	} else if t.hasEpoch {
		t.epoch++
	}
	t.hasEpoch = true
	t.exclusive = p
	p.TopicEpoch.Store(t.epoch)
	t.join(p)
	return kick, true, nil
}

// holder is who has the topic for itself, or is the first to wait for it.
func (t *Topic) holder() *Producer {
	if t.exclusive == nil && len(t.waiting) > 0 {
		return t.waiting[0]
	}
	return t.exclusive
}

func (t *Topic) join(p *Producer) {
	t.producers[p.Name] = p
	p.ready.Store(true)
}

// replaceNamesake lets a producer that reconnected take the place of its former self,
// and refuses another one of the same name.
func (t *Topic) replaceNamesake(p *Producer) error {
	old := t.producers[p.Name]
	if old == nil {
		for _, w := range t.waiting {
			if w.Name == p.Name {
				old = w
			}
		}
	}
	if old == nil {
		return nil
	}
	if !p.Generated || !old.Generated || p.ID != old.ID || p.Epoch <= old.Epoch {
		return fault.New(fault.ProducerBusy, "Producer with name '%s' is already connected to topic", p.Name)
	}
	old.failed.Store(true)
	t.take(old)
	return nil
}

// take removes a producer from the lists; the caller holds mu.
func (t *Topic) take(p *Producer) {
	if t.producers[p.Name] == p {
		delete(t.producers, p.Name)
	}
	if t.exclusive == p {
		t.exclusive = nil
	}
	for i, w := range t.waiting {
		if w == p {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			break
		}
	}
}

// removeProducer detaches a producer and gives the topic to the first that waits.
func (t *Topic) removeProducer(p *Producer) {
	t.touch()
	t.mu.Lock()
	t.take(p)
	var next *Producer
	if t.exclusive == nil && len(t.producers) == 0 && len(t.waiting) > 0 && !t.fenced {
		next = t.waiting[0]
		t.waiting = t.waiting[1:]
		if t.hasEpoch {
			t.epoch++
		}
		t.hasEpoch = true
		t.exclusive = next
		next.TopicEpoch.Store(t.epoch)
		t.join(next)
		t.workers.Add(1)
	}
	t.mu.Unlock()
	if next == nil {
		return
	}
	go func() {
		defer t.workers.Done()
		if err := t.saveEpoch(context.Background(), next); err != nil {
			next.fail()
			return
		}
		next.outlet.ProducerReady(next)
	}()
}

// saveEpoch makes the topic epoch durable before its holder hears of it.
func (t *Topic) saveEpoch(ctx context.Context, p *Producer) error {
	if t.store == nil {
		return nil
	}
	return t.changeProperties(ctx, func(props map[string]string) {
		props[epochProperty] = strconv.FormatUint(p.TopicEpoch.Load(), 10)
	})
}

func (t *Topic) loadEpoch() {
	if v, ok := t.store.Properties()[epochProperty]; ok {
		if n, err := strconv.ParseUint(v, 10, 64); err == nil {
			t.epoch, t.hasEpoch = n, true
		}
	}
}
