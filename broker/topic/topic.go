package topic

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/broker/meter"
	"spoolctl/storage"
	"spoolctl/wire"
)

// Topic is a loaded topic: a persistent one over storage's, or a non-persistent one
// that exists in memory only.
type Topic struct {
	// What every publish touches comes first, side by side: see meter.Flow.
	r        *Registry
	store    *storage.Topic // nil for a non-persistent topic
	feed     *feed          // nil for a persistent topic
	policies atomic.Pointer[Policies]
	list     atomic.Pointer[[]*Subscription] // the same as subs, for committing and dispatching
	hungry   atomic.Int32                    // see dispatch.Options
	closed   atomic.Bool                     // publishes are ignored: the clients were told or will be
	lastIn   atomic.Int64                    // ms since 1970
	receipts []Receipt                       // used by Committed's one goroutine
	In       meter.Flow                      // messages and bytes published
	Writes   meter.Writes                    // entries made durable; persistent topics only

	name     wire.TopicName
	created  time.Time // when it was loaded
	explicit bool      // created on request: a non-persistent topic stays without clients

	making     chan struct{} // held while a subscription is made
	resolving  chan struct{} // held while the policies change
	describing chan struct{} // held while the properties change

	mu        sync.Mutex
	producers map[string]*Producer // by name
	exclusive *Producer            // who has the topic for itself
	waiting   []*Producer          // for being exclusive, in order
	epoch     uint64               // of exclusive access; counts who had it
	hasEpoch  bool
	subs      map[string]*Subscription
	fenced    bool               // closing: nobody may join
	compact   context.CancelFunc // ends the compaction that runs or waits for its turn; nil = none
	workers   sync.WaitGroup

	chunks     atomic.Int64
	lastUse    atomic.Int64 // by a producer or consumer, or that it was loaded; ms since 1970
	terminated atomic.Bool
	offloadRan atomic.Bool                     // offloading was asked for since the topic was loaded
	compacted  atomic.Pointer[lastOfCompacted] // see LastMessageID
}

func newTopic(r *Registry, name wire.TopicName) *Topic {
	t := &Topic{
		r: r, name: name, created: r.opt.Now(),
		making: make(chan struct{}, 1), resolving: make(chan struct{}, 1), describing: make(chan struct{}, 1),
		producers: make(map[string]*Producer), subs: make(map[string]*Subscription),
	}
	t.touch()
	t.list.Store(new([]*Subscription))
	if name.Domain == wire.NonPersistent {
		t.feed = newFeed(t)
	}
	return t
}

// start takes the loaded storage topic with its cursors.
func (t *Topic) start(ctx context.Context, st *storage.Topic) error {
	t.store = st
	if _, ended := st.Terminated(); ended {
		t.terminated.Store(true)
	}
	t.loadEpoch()
	if err := t.refresh(ctx); err != nil {
		return err
	}
	for _, c := range st.Cursors() {
		if c.Name() != storage.CompactionCursor {
			t.subs[c.Name()] = newSubscription(t, c.Name(), c)
		}
	}
	t.publishList()
	return nil
}

// Name is the topic's name.
func (t *Topic) Name() wire.TopicName { return t.name }

// Persistent says whether the topic's messages are stored.
func (t *Topic) Persistent() bool { return t.store != nil }

// Storage is the stored topic, nil for a non-persistent one.
func (t *Topic) Storage() *storage.Topic { return t.store }

// Terminated says whether the topic takes no more messages.
func (t *Topic) Terminated() bool { return t.terminated.Load() }

// Subscriptions lists the subscriptions, ordered by name.
func (t *Topic) Subscriptions() []*Subscription { return *t.list.Load() }

// Subscription gives one by name, or SubscriptionNotFound.
func (t *Topic) Subscription(name string) (*Subscription, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.subs[name]; s != nil {
		return s, nil
	}
	return nil, fault.New(fault.SubscriptionNotFound, "Subscription not found")
}

// Producers lists the producers that may publish, ordered by name.
func (t *Topic) Producers() []*Producer {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]*Producer, 0, len(t.producers))
	for _, p := range t.producers {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *Producer) int { return compareStrings(a.Name, b.Name) })
	return out
}

// publishList renews the list of subscriptions; the caller holds mu, or the topic is new.
func (t *Topic) publishList() {
	out := make([]*Subscription, 0, len(t.subs))
	for _, s := range t.subs {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Subscription) int { return compareStrings(a.name, b.name) })
	t.list.Store(&out)
}

// unused says whether the topic may be deleted without force; the caller holds mu.
func (t *Topic) unused() error {
	if len(t.producers)+len(t.waiting)+len(t.subs) > 0 {
		return fault.New(fault.Precondition, "Topic has active producers/subscriptions")
	}
	return nil
}

// close ends the topic's work: publishes under way are completed and answered, then the
// clients are told to come back, if tell is set, then the cursors are made durable.
func (t *Topic) close(ctx context.Context, tell bool) error {
	t.mu.Lock()
	t.fenced = true
	if t.compact != nil {
		t.compact()
	}
	t.mu.Unlock()
	t.closed.Store(true)
	if t.feed != nil {
		t.feed.close()
	}
	for _, p := range t.attached() {
		if err := p.settled(ctx); err != nil {
			break // the rest is answered by the store or not at all
		}
	}
	if tell {
		for _, p := range t.attached() {
			p.outlet.CloseProducer(p)
		}
	}
	for _, s := range t.Subscriptions() {
		s.shut(tell)
	}
	t.workers.Wait()
	if t.store == nil {
		return nil
	}
	return storeFault(t.store.Close(ctx), "closing topic %s", t.name)
}

// attached lists all producers, those that wait included.
func (t *Topic) attached() []*Producer {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.waiting)
	for _, p := range t.producers {
		out = append(out, p)
	}
	return out
}

// Terminate ends a persistent topic: no more messages are taken, subscriptions can
// read what is there. It gives the last position.
func (t *Topic) Terminate(ctx context.Context) (wire.Position, error) {
	if t.store == nil {
		return wire.Position{}, fault.New(fault.NotAllowed, "Termination of a non-persistent topic is not allowed")
	}
	last, err := t.store.Terminate(ctx)
	if err != nil {
		return last, storeFault(err, "terminating topic %s", t.name)
	}
	t.terminated.Store(true)
	for _, p := range t.attached() {
		if err := p.settled(ctx); err != nil {
			return last, storeFault(err, "terminating topic %s", t.name)
		}
		p.fail()
	}
	for _, s := range t.Subscriptions() {
		s.disp().Wake()
	}
	return last, nil
}

// Truncate removes everything that is stored, whatever retention says; subscriptions go on at the end.
func (t *Topic) Truncate(ctx context.Context) error {
	if t.store == nil {
		return fault.New(fault.Precondition, "Truncation of a non-persistent topic is not allowed: nothing is stored")
	}
	_, err := t.store.Truncate(ctx)
	for _, s := range t.Subscriptions() {
		s.disp().Acked(nil, nil) // its cursor may have moved, also when not all was done
	}
	return storeFault(err, "truncating topic %s", t.name)
}

// Find gives the position of the first entry that was published at a time, ms since 1970, or later, or the one after the
// last entry.
func (t *Topic) Find(ctx context.Context, ms int64) (wire.Position, error) {
	if t.store == nil {
		return wire.Position{}, fault.New(fault.NotAllowed, "Finding messages of a non-persistent topic is not allowed: nothing is stored")
	}
	p, err := t.store.SeekTime(ctx, ms)
	return p, storeFault(err, "finding a message by time")
}

// LastMessageID is the id of the newest message; entry -1 when the topic is empty.
func (t *Topic) LastMessageID(ctx context.Context) (wire.MessageID, error) {
	id := wire.MessageID{Position: wire.Position{Ledger: -1, Entry: -1}, Partition: int32(t.name.Partition()), Batch: -1}
	if t.store == nil {
		return id, fault.New(fault.NotAllowed, "Get last message id is for persistent topics only")
	}
	id.Position = t.store.LastConfirmed()
	if id.Entry < 0 {
		return id, nil
	}
	e, err := t.store.ReadAt(ctx, id.Position)
	if err != nil {
		// Trimmed: the position still tells clients that nothing newer is there.
		return id, ignoreGone(err)
	}
	if n, batch := batchSize(e.Data); batch {
		id.Batch = n - 1
	}
	return id, nil
}

// batchSize tells the number of messages in an entry and whether it is a batch.
func batchSize(data []byte) (int32, bool) {
	parts, err := wire.SplitEntry(data)
	if err != nil {
		return 1, false
	}
	m, err := wire.ParseMetadata(parts.Metadata)
	if err != nil {
		return 1, false
	}
	return max(1, m.NumMessages), m.HasNumMessages
}

// ignoreGone drops the error of an entry that is not stored any more.
func ignoreGone(err error) error {
	if err = storeFault(err, "reading an entry"); fault.Is(err, fault.MessageNotFound) {
		return nil
	}
	return err
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// ReadAt reads one stored entry; MessageNotFound when it is not there.
func (t *Topic) ReadAt(ctx context.Context, p wire.Position) (storage.Entry, error) {
	if t.store == nil {
		return storage.Entry{}, fault.New(fault.NotAllowed, "Reading messages of a non-persistent topic is not allowed: nothing is stored")
	}
	e, err := t.store.ReadAt(ctx, p)
	if errors.Is(err, storage.ErrEntryNotFound) {
		return e, fault.New(fault.MessageNotFound, "Message not found")
	}
	return e, storeFault(err, "reading entry %s of %s", p, t.name)
}
