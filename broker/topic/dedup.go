package topic

import (
	"context"
	"errors"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
)

// While deduplication is off for a loaded topic, the store knows none of its producers: what it knew would be out of date
// when deduplication is switched on again. A producer begins and ends to be deduplicated by being made anew.

// follow makes a stored topic follow its new policies; nobody can attach meanwhile.
func (t *Topic) follow(ctx context.Context, p *Policies) error {
	old := t.policies.Swap(p)
	if p.Deduplicate && (old == nil || old.Deduplicate) {
		return nil
	}
	err := t.retireProducers(ctx)
	if err == nil {
		err = t.forgetProducers(ctx, func(*storage.ProducerState) bool { return true })
	}
	if err != nil && p.Deduplicate {
		off := *p // by what the store still knows, new messages could be taken for old ones
		off.Deduplicate = false
		t.policies.Store(&off)
	}
	return err
}

// retireProducers makes the clients of producers that are not deduplicated as they should be make them again, after what
// they sent is answered.
func (t *Topic) retireProducers(ctx context.Context) error {
	want := t.Policies().Deduplicate
	var errs []error
	for _, p := range t.attached() {
		if (p.dedup != nil) != want {
			errs = append(errs, p.retire(ctx))
		}
	}
	return errors.Join(errs...)
}

// forgetProducers drops what deduplication knows of the chosen producers, none of which may be attached.
func (t *Topic) forgetProducers(ctx context.Context, chosen func(*storage.ProducerState) bool) error {
	var names []string
	for _, p := range t.store.ProducerStates() {
		if chosen(p) {
			names = append(names, p.Name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return storeFault(t.store.DropProducers(ctx, names), "forgetting the producers of %s", t.name)
}

// forgetInactive drops what deduplication knows of producers that are gone and stored nothing since a time.
func (t *Topic) forgetInactive(ctx context.Context, since time.Time) error {
	// Nobody attaches meanwhile: an attached producer's state must stay.
	select {
	case t.resolving <- struct{}{}:
		defer func() { <-t.resolving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	used := make(map[string]bool, len(t.producers)+len(t.waiting))
	for name := range t.producers {
		used[name] = true
	}
	for _, p := range t.waiting {
		used[p.Name] = true
	}
	t.mu.Unlock()
	return t.forgetProducers(ctx, func(p *storage.ProducerState) bool { return !used[p.Name()] && p.LastUse().Before(since) })
}

// deduplicate gives a new producer what deduplication knows of it, if that is on. Forgetting waits for it.
func (t *Topic) deduplicate(ctx context.Context, p *Producer) (done func(), err error) {
	if t.store == nil {
		return func() {}, nil
	}
	select {
	case t.resolving <- struct{}{}:
	case <-ctx.Done():
		return nil, fault.Wrap(fault.NotReady, ctx.Err(), "waiting for a change of the policies of %s", t.name)
	}
	if t.Policies().Deduplicate {
		p.dedup = t.store.ProducerState(p.Name)
	}
	return func() { <-t.resolving }, nil
}

// LastSequence is the highest sequence id that is stored or on its way, of a producer that is deduplicated; else -1.
func (p *Producer) LastSequence() int64 {
	if p.dedup == nil {
		return -1
	}
	return p.dedup.LastSequence()
}
