package topic

import (
	"context"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/wire"
)

// visitEvery is how often topics that nobody uses are loaded for what their policies want done as time passes.
const visitEvery = time.Hour

// CheckUnloaded does for stored topics that are not loaded what time brings about: messages and subscriptions expire, a
// backlog grows too old for its quota, ledgers are kept no longer. It loads one after the other, and only those with such a
// policy.
func (r *Registry) CheckUnloaded(ctx context.Context) {
	for _, name := range r.store.TopicNames(wire.NamespaceName{}) {
		if ctx.Err() != nil {
			return
		}
		if r.Peek(name) != nil {
			continue // the other checks have it
		}
		if err := r.visit(ctx, name); err != nil && ctx.Err() == nil && !fault.Is(err, fault.TopicNotFound) && !fault.Is(err, fault.NotReady) {
			r.opt.Logger.Warn("a topic that is not loaded cannot be looked after", "topic", name.String(), "error", err)
		}
	}
}

func (r *Registry) visit(ctx context.Context, name wire.TopicName) error {
	l, err := r.layers(name)
	if err != nil {
		return err
	}
	p, err := l.resolve()
	if err != nil || !p.timely() {
		return err
	}
	t, err := r.Get(ctx, name)
	if err != nil {
		return err
	}
	if err := t.expire(ctx); err != nil {
		return err
	}
	if err := t.applyQuotas(ctx); err != nil {
		return err
	}
	if _, err := t.store.Trim(ctx); err != nil {
		return storeFault(err, "trimming %s", name)
	}
	t.mu.Lock()
	producers := len(t.producers) + len(t.waiting)
	t.mu.Unlock()
	if producers+t.consumers() > 0 {
		return nil
	}
	return r.unload(ctx, t, true) // a client that came meanwhile is told to come again
}

// timely reports whether anything becomes due by the passing of time alone.
func (p *Policies) timely() bool {
	for _, q := range p.quotas {
		if q.age > 0 {
			return true
		}
	}
	return p.TTL > 0 || p.Retention.RetentionTime > 0
}
