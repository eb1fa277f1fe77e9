package topic

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire/pb"
)

// Subscription is one named reader of a topic: its cursor and its dispatcher.
type Subscription struct {
	current atomic.Pointer[dispatcherBox]
	t       *Topic
	name    string
	cursor  *storage.Cursor // nil on a non-persistent topic
	durable bool
	created time.Time
	meters  dispatch.Meters

	// turn is held while consumers join or the cursor is moved, so that these do not
	// cross; it may be held across I/O.
	turn   chan struct{}
	limits [2]int // of unacknowledged messages, that the dispatcher was made with; only with turn held

	mu         sync.Mutex // guards what follows
	properties map[string]string
	replicated bool
	deleted    bool // only with turn held

	left    atomic.Int64 // when a consumer last left; ms since 1970
	expired atomic.Int64 // messages
	lapsed  atomic.Int64 // when messages last expired; ms since 1970
}

// dispatcherBox lets an interface be swapped atomically.
type dispatcherBox struct{ dispatch.Dispatcher }

// Consumer is an attached consumer with its subscription.
type Consumer struct {
	*dispatch.Consumer
	Sub *Subscription
}

func newSubscription(t *Topic, name string, c *storage.Cursor) *Subscription {
	s := &Subscription{t: t, name: name, cursor: c, created: t.r.opt.Now(), turn: make(chan struct{}, 1)}
	if c != nil {
		s.durable = c.Durable()
		s.properties = c.Properties()
	}
	s.use(pb.CommandSubscribe_Exclusive)
	return s
}

// use makes a new dispatcher of a type the subscription's.
func (s *Subscription) use(typ pb.CommandSubscribe_SubType) {
	r, p := s.t.r, s.t.Policies()
	s.limits = [2]int{p.UnackedPerConsumer, p.UnackedPerSubscription}
	o := dispatch.Options{
		Type: typ, Partition: s.t.name.Partition(), Meters: &s.meters, Now: r.opt.Now,
		Logger:     s.log,
		Terminated: s.t.Terminated, Hungry: &s.t.hungry,
		UnackedPerConsumer: s.limits[0], UnackedPerSubscription: s.limits[1],
		FailoverDelay: r.opt.FailoverDelay,
	}
	var d dispatch.Dispatcher
	if s.cursor == nil {
		d = dispatch.NewDirect(o)
	} else {
		o.Source = s.cursor
		d = dispatch.New(o)
	}
	if old := s.current.Swap(&dispatcherBox{d}); old != nil {
		old.Close()
	}
}

// log is made when it is needed: loggers with attributes of their own would take much memory where there are many subscriptions.
func (s *Subscription) log() *slog.Logger {
	return s.t.r.opt.Logger.With("topic", s.t.name.String(), "subscription", s.name)
}

func (s *Subscription) disp() dispatch.Dispatcher { return s.current.Load().Dispatcher }

// Topic is the subscription's topic.
func (s *Subscription) Topic() *Topic { return s.t }

// Name is the subscription's name.
func (s *Subscription) Name() string { return s.name }

// Durable says whether the subscription outlives its consumers and the daemon.
func (s *Subscription) Durable() bool { return s.durable }

// Cursor is the stored cursor, nil on a non-persistent topic.
func (s *Subscription) Cursor() *storage.Cursor { return s.cursor }

// Meters are the subscription's counters.
func (s *Subscription) Meters() *dispatch.Meters { return &s.meters }

// Type is the subscription's type: that of its consumers, or of the last ones.
func (s *Subscription) Type() pb.CommandSubscribe_SubType { return s.disp().Type() }

// Consumers lists the attached consumers.
func (s *Subscription) Consumers() []*dispatch.Consumer { return s.disp().Consumers() }

// Expired counts the messages that expired since the topic was loaded.
func (s *Subscription) Expired() int64 { return s.expired.Load() }

// Dispatch describes the dispatcher's state.
func (s *Subscription) Dispatch() dispatch.Snapshot { return s.disp().Snapshot() }

// Properties are the client's properties of the subscription.
func (s *Subscription) Properties() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.properties)
}

// SetProperties replaces the subscription's properties; durable on return.
func (s *Subscription) SetProperties(ctx context.Context, p map[string]string) error {
	if s.cursor != nil {
		if err := s.cursor.SetProperties(ctx, p); err != nil {
			return storeFault(err, "storing the properties of subscription %s", s.name)
		}
	}
	s.mu.Lock()
	s.properties = maps.Clone(p)
	s.mu.Unlock()
	return nil
}

// take waits for the subscription's turn and gives the function that ends it. It
// refuses with SubscriptionNotFound when the subscription was deleted meanwhile.
func (s *Subscription) take(ctx context.Context) (func(), error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fault.Wrap(fault.NotReady, ctx.Err(), "subscription %s is busy", s.name)
	}
	if s.gone() {
		<-s.turn
		return nil, fault.New(fault.SubscriptionNotFound, "Subscription not found")
	}
	return func() { <-s.turn }, nil
}

func (s *Subscription) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleted
}

// join attaches a consumer; the caller holds the turn.
func (s *Subscription) join(o dispatch.ConsumerOptions) (*Consumer, error) {
	d := s.disp()
	attached := len(d.Consumers())
	p := s.t.Policies()
	switch {
	case attached == 0 && (d.Type() != o.Type || s.limits != [2]int{p.UnackedPerConsumer, p.UnackedPerSubscription}):
		s.use(o.Type)
		d = s.disp()
	case d.Type() != o.Type:
		return nil, fault.New(fault.ConsumerBusy, "Subscription is of different type")
	}
	if limit := p.MaxPerSubscription; limit > 0 && attached >= limit {
		return nil, fault.New(fault.ConsumerBusy, "Subscription reached max consumers limit")
	}
	if limit := p.MaxConsumers; limit > 0 && s.t.consumers() >= limit {
		return nil, fault.New(fault.ConsumerBusy, "Topic reached max consumers limit")
	}
	c := dispatch.NewConsumer(o)
	if err := d.Add(c); err != nil {
		return nil, err
	}
	return &Consumer{Consumer: c, Sub: s}, nil
}

func (t *Topic) consumers() (n int) {
	for _, s := range t.Subscriptions() {
		n += len(s.Consumers())
	}
	return n
}

// Leave detaches a consumer whose client closed it or went away. A subscription that
// is not durable ends with its last consumer.
func (c *Consumer) Leave() {
	c.Dispatcher().Remove(c.Consumer)
	c.Sub.left.Store(c.Sub.t.r.opt.Now().UnixMilli())
	c.Sub.t.touch()
	if !c.Sub.durable && len(c.Sub.Consumers()) == 0 {
		c.Sub.t.r.reap(c.Sub)
	}
}

// reap ends a subscription that is not durable, unless somebody joined again.
func (r *Registry) reap(s *Subscription) {
	ctx := context.Background()
	end, err := s.take(ctx)
	if err != nil {
		return
	}
	defer end()
	if len(s.Consumers()) > 0 {
		return
	}
	if err := s.drop(ctx); err != nil {
		r.opt.Logger.Warn("cannot end a subscription that is not durable", "topic", s.t.name.String(), "subscription", s.name, "error", err)
	}
	r.reapTopic(s.t)
}

// drop deletes the subscription with its cursor; the caller holds the turn and has
// disconnected the consumers.
func (s *Subscription) drop(ctx context.Context) error {
	if s.cursor != nil {
		if err := s.t.store.DeleteCursor(ctx, s.name); err != nil {
			return storeFault(err, "deleting subscription %s", s.name)
		}
	}
	s.mu.Lock()
	s.deleted = true
	s.mu.Unlock()
	s.disp().Close()
	s.t.mu.Lock()
	if s.t.subs[s.name] == s {
		delete(s.t.subs, s.name)
		s.t.publishList()
	}
	s.t.mu.Unlock()
	return nil
}

// disconnect tells every consumer to come back later, except the one given.
func (s *Subscription) disconnect(except *dispatch.Consumer) {
	d := s.disp()
	for _, c := range d.Consumers() {
		if c != except {
			d.Remove(c)
			c.Outlet.CloseConsumer(c)
		}
	}
}

// shut ends the subscription's work because its topic closes. Consumers are told to come
// back, if tell is set.
func (s *Subscription) shut(tell bool) {
	s.mu.Lock()
	s.deleted = true
	s.mu.Unlock()
	if tell {
		s.disconnect(nil)
	}
	s.disp().Close()
}
