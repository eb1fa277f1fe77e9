package topic

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// SubscribeOptions are a SUBSCRIBE request.
type SubscribeOptions struct {
	Name       string
	Durable    bool
	Earliest   bool           // where a new subscription starts, when Start is nil
	Start      *wire.Position // where one that is not durable starts: at this entry
	Rollback   time.Duration  // start so long before now instead; 0 = not
	Replicated bool
	Properties map[string]string
	Consumer   dispatch.ConsumerOptions
}

// Subscribe attaches a consumer, making the subscription when there is none and that is
// allowed. It refuses with ConsumerBusy, ConsumerAssign, NotAllowed, SubscriptionNotFound,
// NotReady.
func (t *Topic) Subscribe(ctx context.Context, o SubscribeOptions) (*Consumer, error) {
	if err := t.checkSubscribe(&o); err != nil {
		return nil, err
	}
	for {
		s, err := t.subscriptionFor(ctx, &o)
		if err != nil {
			return nil, err
		}
		end, err := s.take(ctx)
		if fault.Is(err, fault.SubscriptionNotFound) {
			if t.isFenced() {
				return nil, fault.New(fault.NotReady, "topic %s is being closed; try again", t.name)
			}
			continue // deleted meanwhile: make it anew
		}
		if err != nil {
			return nil, err
		}
		c, err := s.join(o.Consumer)
		end()
		if err != nil && !s.durable && len(s.Consumers()) == 0 {
			t.r.reap(s)
		}
		return c, err
	}
}

func (t *Topic) isFenced() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fenced
}

func (t *Topic) checkSubscribe(o *SubscribeOptions) error {
	if o.Name == "" {
		return fault.New(fault.Invalid, "Empty subscription name")
	}
	single := o.Consumer.Type == pb.CommandSubscribe_Exclusive || o.Consumer.Type == pb.CommandSubscribe_Failover
	types := t.Policies().types
	switch {
	case len(types) > 0 && !slices.Contains(types, o.Consumer.Type.String()):
		return fault.New(fault.NotAllowed, "Topic[%s] doesn't support %s sub type; allowed are %s", t.name, o.Consumer.Type, strings.Join(types, ", "))
	case o.Consumer.ReadCompacted && t.store == nil:
		return fault.New(fault.NotAllowed, "readCompacted only valid on persistent topics")
	case o.Consumer.ReadCompacted && !single:
		return fault.New(fault.NotAllowed, "readCompacted only allowed on failover or exclusive subscriptions")
	}
	if t.store == nil {
		o.Durable = false
	}
	return nil
}

// subscriptionFor gives the subscription, making it when there is none.
func (t *Topic) subscriptionFor(ctx context.Context, o *SubscribeOptions) (*Subscription, error) {
	t.mu.Lock()
	s, fenced := t.subs[o.Name], t.fenced
	t.mu.Unlock()
	switch {
	case fenced:
		return nil, fault.New(fault.NotReady, "topic %s is being closed; try again", t.name)
	case s != nil && s.durable != o.Durable && t.store != nil:
		return nil, fault.New(fault.NotAllowed, "Subscription %s exists already with another durability", o.Name)
	case s != nil:
		return s, nil
	}
	if o.Durable {
		if auto, err := t.r.autoSubscriptions(t.name); err != nil {
			return nil, err
		} else if !auto {
			return nil, fault.New(fault.SubscriptionNotFound, "Subscription %s does not exist, and subscriptions are not created automatically here", o.Name)
		}
	}
	at, err := t.startOf(ctx, o)
	if err != nil {
		return nil, err
	}
	s, err = t.newSubscription(ctx, NewSubscription{Name: o.Name, Durable: o.Durable, At: at, Properties: o.Properties, Replicated: o.Replicated})
	if fault.Is(err, fault.Exists) {
		return t.Subscription(o.Name) // somebody else made it
	}
	return s, err
}

// startOf gives the mark-delete position of a new subscription.
func (t *Topic) startOf(ctx context.Context, o *SubscribeOptions) (wire.Position, error) {
	switch {
	case t.store == nil:
		return wire.Latest(), nil
	case o.Rollback > 0:
		p, err := t.store.SeekTime(ctx, t.r.opt.Now().Add(-o.Rollback).UnixMilli())
		return before(p), storeFault(err, "finding the start of subscription %s", o.Name)
	case o.Start == nil && o.Earliest:
		return wire.Earliest(), nil
	case o.Start == nil:
		return wire.Latest(), nil
	}
	// The entry itself is delivered too: it may be a batch that was read in part, and
	// the client wants it or drops it.
	if p := *o.Start; p != wire.Latest() {
		return before(p), nil
	}
	return wire.Latest(), nil
}

// before is the mark-delete position after which p comes next.
func before(p wire.Position) wire.Position {
	if p.Entry < 0 {
		return p
	}
	return wire.Position{Ledger: p.Ledger, Entry: p.Entry - 1}
}

// NewSubscription describes a subscription to be created.
type NewSubscription struct {
	Name       string
	Durable    bool
	At         wire.Position // the last position that counts as acknowledged
	Properties map[string]string
	Replicated bool
}

// CreateSubscription makes a subscription without a consumer; Exists otherwise.
func (t *Topic) CreateSubscription(ctx context.Context, n NewSubscription) error {
	_, err := t.newSubscription(ctx, n)
	return err
}

// newSubscription makes a subscription; Exists otherwise. Subscriptions of a topic are made one at a time, so that whoever
// is told that one exists finds it.
func (t *Topic) newSubscription(ctx context.Context, n NewSubscription) (*Subscription, error) {
	if n.Name == storage.CompactionCursor {
		return nil, fault.New(fault.NotAllowed, "%s is the cursor of topic compaction; choose another name", n.Name)
	}
	select {
	case t.making <- struct{}{}:
		defer func() { <-t.making }()
	case <-ctx.Done():
		return nil, fault.Wrap(fault.NotReady, ctx.Err(), "waiting for another subscription of %s", t.name)
	}
	if _, err := t.Subscription(n.Name); err == nil {
		return nil, fault.New(fault.Exists, "Subscription already exists for topic")
	}
	if limit := t.Policies().MaxSubscriptions; limit > 0 && len(t.Subscriptions()) >= limit {
		return nil, fault.New(fault.NotAllowed, "Exceed the maximum number of subscriptions of the topic: %s", t.name)
	}
	var c *storage.Cursor
	if t.store != nil {
		var err error
		c, err = t.store.CreateCursor(ctx, storage.CursorOptions{Name: n.Name, MarkDelete: n.At, Durable: n.Durable, Properties: n.Properties})
		if err != nil {
			return nil, storeFault(err, "creating subscription %s", n.Name)
		}
	}
	s := newSubscription(t, n.Name, c)
	s.replicated = n.Replicated
	s.properties = maps.Clone(n.Properties)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fenced {
		return nil, fault.New(fault.NotReady, "topic %s is being closed; try again", t.name)
	}
	t.subs[n.Name] = s
	t.publishList()
	return s, nil
}

// InitialSubscription makes the durable subscription that a producer asks for, at the
// start of its topic, unless it is there.
func (r *Registry) InitialSubscription(ctx context.Context, t *Topic, name string) error {
	if _, err := t.Subscription(name); err == nil || t.store == nil {
		return nil
	}
	if auto, err := r.autoSubscriptions(t.name); err != nil {
		return err
	} else if !auto {
		return fault.New(fault.NotAllowed, "Could not create the initial subscription due to the auto subscription creation is not allowed.")
	}
	err := t.CreateSubscription(ctx, NewSubscription{Name: name, Durable: true, At: wire.Earliest()})
	if fault.Is(err, fault.Exists) {
		return nil
	}
	return err
}
