package topic

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// Registry holds the topics that are loaded, and the tenants, namespaces and
// partitioned topics of the spool. Its methods may be called from any goroutine.
type Registry struct {
	opt   Options
	store *storage.Store

	mu     sync.Mutex
	slots  map[wire.TopicName]*slot
	closed bool

	defaults atomic.Pointer[map[string]json.RawMessage] // the broker's policies
	changes  atomic.Uint64                              // of stored policies, counted
	shared   sync.Map                                   // namespace -> *Policies; see sharedPolicies

	admin       chan struct{} // held while tenants, namespaces, policies or partition counts change
	schemaLocks *schemaLocks
	names       atomic.Uint64 // generated producer names
	started     time.Time
	background  context.Context // of what is done from time to time, and of compactions
	stop        context.CancelFunc
	workers     sync.WaitGroup
	compacting  chan struct{} // held while a topic is compacted
}

// slot is a topic's place while it is being loaded, is loaded, or is being closed.
type slot struct {
	ready chan struct{} // closed when topic or err is set
	topic *Topic
	err   error
	gone  chan struct{} // closed when the topic is closed; set when closing begins
}

// New makes a registry over an open store. On a new spool it creates the tenants
// public and pulsar with the namespaces public/default and pulsar/system.
func New(ctx context.Context, o Options) (*Registry, error) {
	r := &Registry{
		opt: o.withDefaults(), store: o.Store,
		slots: make(map[wire.TopicName]*slot), admin: make(chan struct{}, 1), schemaLocks: newSchemaLocks(), compacting: make(chan struct{}, 1),
	}
	r.started = r.opt.Now()
	doc := r.opt.Defaults.document()
	r.defaults.Store(&doc)
	if err := r.createDefaults(ctx); err != nil {
		return nil, err
	}
	r.background, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.upkeep(r.background)
	return r, nil
}

// Options are the options in effect.
func (r *Registry) Options() Options { return r.opt }

// Rest ends what is done in the background: the work that is done from time to time, and compactions. Close does so too.
func (r *Registry) Rest() {
	r.stop()
	r.workers.Wait()
}

// Close closes every loaded topic; publishes under way are answered. Clients are not told
// to come back topic by topic: their connections are about to end, and a client that asks
// again on one that is ending may wait for its time-out. The store stays open.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.Rest()
	var errs []error
	for _, t := range r.Loaded() {
		if err := r.unload(ctx, t, false); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Loaded lists the topics in memory, ordered by name.
func (r *Registry) Loaded() []*Topic {
	r.mu.Lock()
	out := make([]*Topic, 0, len(r.slots))
	for _, s := range r.slots {
		if s.topic != nil && s.gone == nil {
			out = append(out, s.topic)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(out, func(a, b *Topic) int { return compareNames(a.name, b.name) })
	return out
}

// Peek gives a topic only if it is loaded.
func (r *Registry) Peek(name wire.TopicName) *Topic {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.slots[name]; s != nil && s.gone == nil {
		return s.topic
	}
	return nil
}

// Get gives an existing topic, loading it when needed; TopicNotFound otherwise.
func (r *Registry) Get(ctx context.Context, name wire.TopicName) (*Topic, error) {
	return r.acquire(ctx, name, func() (*Topic, error) {
		if name.Domain == wire.NonPersistent {
			if n, ok, err := r.partitions(name.Base()); err != nil {
				return nil, err
			} else if ok && name.Partition() >= 0 && name.Partition() < n {
				return r.create(ctx, name, nil)
			}
			return nil, notFound(name)
		}
		return r.open(ctx, name)
	})
}

// GetOrCreate gives a topic, creating it when that is allowed: as a partition of a
// partitioned topic, or automatically when force is set and the configuration and
// the namespace permit it. The namespace must exist.
func (r *Registry) GetOrCreate(ctx context.Context, name wire.TopicName, force bool) (*Topic, error) {
	return r.acquire(ctx, name, func() (*Topic, error) {
		if name.Domain == wire.Persistent {
			t, err := r.open(ctx, name)
			if !fault.Is(err, fault.TopicNotFound) {
				return t, err
			}
		}
		if err := r.mayCreate(name, force); err != nil {
			return nil, err
		}
		return r.create(ctx, name, nil)
	})
}

// Create makes a topic that does not exist yet; Exists otherwise.
func (r *Registry) Create(ctx context.Context, name wire.TopicName, properties map[string]string) (*Topic, error) {
	created := false
	t, err := r.acquire(ctx, name, func() (*Topic, error) {
		if err := r.checkNewName(name); err != nil {
			return nil, err
		}
		created = true
		t, err := r.create(ctx, name, properties)
		if t != nil {
			t.explicit = true
		}
		return t, err
	})
	if err != nil {
		return nil, err
	}
	if !created {
		return nil, fault.New(fault.Exists, "This topic already exists")
	}
	return t, nil
}

// acquire gives the loaded topic or has load make it; concurrent callers for one name
// share one load, and wait for a close under way.
func (r *Registry) acquire(ctx context.Context, name wire.TopicName, load func() (*Topic, error)) (*Topic, error) {
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return nil, fault.New(fault.NotReady, "the broker is stopping")
		}
		s := r.slots[name]
		if s == nil {
			s = &slot{ready: make(chan struct{})}
			r.slots[name] = s
			r.mu.Unlock()
			changes := r.changes.Load()
			t, err := load()
			r.mu.Lock()
			s.topic, s.err = t, err
			if err != nil {
				delete(r.slots, name)
			}
			close(s.ready)
			r.mu.Unlock()
			if err == nil && r.changes.Load() != changes {
				err = t.refresh(ctx) // policies may have changed before others could find the topic
			}
			return t, err
		}
		wait := s.ready
		if s.gone != nil {
			wait = s.gone
		}
		closing := s.gone != nil
		r.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fault.Wrap(fault.NotReady, ctx.Err(), "waiting for topic %s", name)
		}
		// The first caller's failure may have been its own deadline: try for oneself.
		if !closing && s.topic != nil {
			return s.topic, nil
		}
		if s.err != nil && !errors.Is(s.err, context.Canceled) && !errors.Is(s.err, context.DeadlineExceeded) {
			return nil, s.err
		}
	}
}

// open loads a persistent topic with its subscriptions.
func (r *Registry) open(ctx context.Context, name wire.TopicName) (*Topic, error) {
	t := newTopic(r, name)
	st, err := r.store.OpenTopic(ctx, name, t)
	if errors.Is(err, storage.ErrTopicNotFound) {
		return nil, notFound(name)
	}
	if err != nil {
		return nil, storeFault(err, "loading topic %s", name)
	}
	if err := t.start(ctx, st); err != nil {
		return nil, errors.Join(err, st.Close(ctx))
	}
	return t, nil
}

// create makes a topic, on disk when it is persistent.
func (r *Registry) create(ctx context.Context, name wire.TopicName, properties map[string]string) (*Topic, error) {
	t := newTopic(r, name)
	if name.Domain == wire.NonPersistent {
		return t, t.refresh(ctx)
	}
	st, err := r.store.CreateTopic(ctx, name, storage.TopicOptions{Properties: properties, Sink: t})
	if err != nil {
		return nil, storeFault(err, "creating topic %s", name)
	}
	if err := t.start(ctx, st); err != nil {
		return nil, errors.Join(err, st.Close(ctx))
	}
	r.opt.Logger.Info("topic created", "topic", name.String())
	return t, nil
}

// Unload closes a topic; its clients are told to reconnect, which loads it again.
func (r *Registry) Unload(ctx context.Context, name wire.TopicName) error {
	t, err := r.Get(ctx, name)
	if err != nil {
		return err
	}
	return r.unload(ctx, t, true)
}

func (r *Registry) unload(ctx context.Context, t *Topic, tell bool) error {
	s := r.beginClose(t)
	if s == nil {
		return nil
	}
	err := t.close(ctx, tell)
	r.endClose(t.name, s)
	return err
}

// beginClose reserves the closing of a topic; nil when somebody else has it.
func (r *Registry) beginClose(t *Topic) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slots[t.name]
	if s == nil || s.topic != t || s.gone != nil {
		return nil
	}
	s.gone = make(chan struct{})
	return s
}

// resume gives up a closing that was only reserved.
func (r *Registry) resume(s *slot) {
	r.mu.Lock()
	close(s.gone)
	s.gone = nil
	r.mu.Unlock()
}

func (r *Registry) endClose(name wire.TopicName, s *slot) {
	r.mu.Lock()
	delete(r.slots, name)
	close(s.gone)
	r.mu.Unlock()
}

// Delete removes a topic and everything it holds. Without force it refuses, with
// Precondition, while the topic has producers or subscriptions with consumers or any
// subscription at all, as Pulsar does.
func (r *Registry) Delete(ctx context.Context, name wire.TopicName, force bool) error {
	t, err := r.Get(ctx, name)
	if err != nil {
		return err
	}
	refuse := (*Topic).unused
	if force {
		refuse = func(*Topic) error { return nil }
	}
	return r.remove(ctx, t, refuse)
}

// remove deletes a topic unless refuse has something against it, which is asked while nobody can join.
func (r *Registry) remove(ctx context.Context, t *Topic, refuse func(*Topic) error) error {
	name := t.name
	s := r.beginClose(t)
	if s == nil {
		return fault.New(fault.NotReady, "topic %s is being closed; try again", name)
	}
	t.mu.Lock()
	err := refuse(t)
	t.fenced = err == nil
	t.mu.Unlock()
	if err != nil {
		r.resume(s)
		return err
	}
	defer r.endClose(name, s)
	if err := t.close(ctx, true); err != nil {
		return err
	}
	if name.Domain == wire.Persistent {
		if err := r.store.DeleteTopic(ctx, name); err != nil {
			return storeFault(err, "deleting topic %s", name)
		}
	}
	if name.Partition() < 0 {
		if err := r.dropTopicPolicies(ctx, name); err != nil {
			return err
		}
		if err := r.dropSchema(ctx, storage.SchemaSubject(name)); err != nil {
			return err
		}
	}
	r.opt.Logger.Info("topic deleted", "topic", name.String())
	return nil
}

// Exists says whether a topic exists, on disk or (non-persistent) in memory.
func (r *Registry) Exists(name wire.TopicName) bool {
	if name.Domain == wire.Persistent {
		return r.store.HasTopic(name)
	}
	return r.Peek(name) != nil
}

// lockAdmin takes the right to change names; the returned function gives it back.
func (r *Registry) lockAdmin(ctx context.Context) (func(), error) {
	select {
	case r.admin <- struct{}{}:
		return func() { <-r.admin }, nil
	case <-ctx.Done():
		return nil, fault.Wrap(fault.NotReady, ctx.Err(), "waiting for another change")
	}
}

func notFound(name wire.TopicName) error {
	return fault.New(fault.TopicNotFound, "Topic %s not found", name)
}

func compareNames(a, b wire.TopicName) int {
	as, bs := a.String(), b.String()
	switch {
	case as < bs:
		return -1
	case as > bs:
		return 1
	}
	return 0
}

// storeFault turns an error of the store into a refusal.
func storeFault(err error, format string, args ...any) error {
	kind := fault.Persistence
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrTerminated):
		kind = fault.Terminated
	case errors.Is(err, storage.ErrTopicNotFound):
		kind = fault.TopicNotFound
	case errors.Is(err, storage.ErrTopicExists):
		kind = fault.Exists
	case errors.Is(err, storage.ErrCursorNotFound):
		kind = fault.SubscriptionNotFound
	case errors.Is(err, storage.ErrCursorExists):
		kind = fault.Exists
	case errors.Is(err, storage.ErrEntryNotFound):
		kind = fault.MessageNotFound
	case errors.Is(err, storage.ErrTooLarge):
		kind = fault.NotAllowed
	case errors.Is(err, storage.ErrBadName):
		kind = fault.Invalid
	case errors.Is(err, storage.ErrClosed), errors.Is(err, storage.ErrTopicOpen),
		errors.Is(err, storage.ErrBackpressure), errors.Is(err, storage.ErrStoreDeadline),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind = fault.NotReady
	}
	return fault.Wrap(kind, err, format, args...)
}
