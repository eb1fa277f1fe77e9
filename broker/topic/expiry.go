package topic

import (
	"context"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/storage/policy"
	"spoolctl/wire"
)

// Which topics are deleted when nobody uses them; Pulsar's names. A topic with a producer or consumer is in use.
const (
	InactiveNoSubscriptions = "delete_when_no_subscriptions"
	InactiveCaughtUp        = "delete_when_subscriptions_caught_up" // also with subscriptions, when none has a backlog
)

// CheckExpiry acknowledges messages that are older than their time to live and deletes subscriptions that nobody used for
// too long, of all loaded topics; and it drops what deduplication knows of producers that are long gone.
func (r *Registry) CheckExpiry(ctx context.Context) {
	for _, t := range r.Loaded() {
		if t.store == nil || ctx.Err() != nil {
			continue
		}
		if err := t.expire(ctx); err != nil {
			r.opt.Logger.Warn("what is too old cannot be removed", "topic", t.name.String(), "error", err)
		}
	}
}

func (t *Topic) expire(ctx context.Context) error {
	p, now := t.Policies(), t.r.opt.Now()
	for _, s := range t.Subscriptions() {
		if p.SubscriptionExpiry > 0 && s.durable {
			gone, err := s.deleteUnused(ctx, now.Add(-p.SubscriptionExpiry))
			if err != nil {
				return err
			}
			if gone {
				continue
			}
		}
		if p.TTL > 0 {
			if _, err := s.Expire(ctx, now.Add(-p.TTL)); err != nil {
				return err
			}
		}
	}
	if p.Deduplicate && t.r.opt.ProducerMemory > 0 {
		return t.forgetInactive(ctx, now.Add(-t.r.opt.ProducerMemory))
	}
	return nil
}

// Expire acknowledges the messages before the first one that was published at a time or later, and says how many there
// were. Publish times are the producers'.
func (s *Subscription) Expire(ctx context.Context, before time.Time) (expired int64, err error) {
	if s.cursor == nil {
		return 0, fault.New(fault.NotAllowed, "Expire messages on a non-persistent topic is not allowed: nothing is stored")
	}
	h, _, some, err := s.cursor.OldestUnacked()
	if err != nil {
		return 0, storeFault(err, "looking at the backlog of subscription %s", s.name)
	}
	if !some || h.PublishTime >= before.UnixMilli() {
		return 0, nil
	}
	first, err := s.t.Find(ctx, before.UnixMilli())
	if err != nil {
		return 0, err
	}
	err = s.moved(ctx, func(c *storage.Cursor) error {
		had := c.Backlog().Messages
		done := make(chan error, 1)
		if err := c.AckCumulative(storage.Ack{Position: wire.Position{Ledger: first.Ledger, Entry: first.Entry - 1}}, nil, func(err error) { done <- err }); err != nil {
			return err
		}
		select {
		case err := <-done:
			expired = max(0, had-c.Backlog().Messages)
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if expired > 0 {
		s.expired.Add(expired)
		s.lapsed.Store(s.t.r.opt.Now().UnixMilli())
		s.t.r.opt.Logger.Debug("messages expired", "topic", s.t.name.String(), "subscription", s.name, "messages", expired)
	}
	return expired, err
}

// deleteUnused deletes the subscription when nobody has used it since a time. A use is an acknowledgement, a consumer, or
// that the topic was loaded: what happened before that and was not an acknowledgement is not known any more.
func (s *Subscription) deleteUnused(ctx context.Context, since time.Time) (bool, error) {
	used := s.cursor.State().LastActive
	for _, at := range []time.Time{s.created, time.UnixMilli(s.left.Load())} {
		if at.After(used) {
			used = at
		}
	}
	if !used.Before(since) || len(s.Consumers()) > 0 {
		return false, nil
	}
	err := s.Delete(ctx, false) // not when a consumer came meanwhile
	if fault.Is(err, fault.Precondition) || fault.Is(err, fault.SubscriptionNotFound) {
		return false, nil
	}
	if err == nil {
		s.t.r.opt.Logger.Info("a subscription that nobody used was deleted", "topic", s.t.name.String(), "subscription", s.name, "unusedSince", used)
	}
	return err == nil, err
}

// CheckInactive deletes the loaded topics that nobody has used for as long as their policy allows.
func (r *Registry) CheckInactive(ctx context.Context) {
	for _, t := range r.Loaded() {
		if t.store == nil || ctx.Err() != nil || !t.inactive() {
			continue
		}
		err := r.remove(ctx, t, func(t *Topic) error {
			if !t.idle() {
				return fault.New(fault.Precondition, "the topic is in use again")
			}
			return nil
		})
		switch {
		case err == nil:
			r.opt.Logger.Info("a topic that nobody used was deleted", "topic", t.name.String())
		case !fault.Is(err, fault.Precondition) && !fault.Is(err, fault.NotReady):
			r.opt.Logger.Warn("a topic that nobody uses cannot be deleted", "topic", t.name.String(), "error", err)
		}
	}
}

// inactive reports whether the topic's policy wants it deleted now.
func (t *Topic) inactive() bool {
	p := t.Policies()
	rule := p.inactive
	unused := t.r.opt.Now().Sub(time.UnixMilli(t.lastUse.Load()))
	if !rule.Delete || unused < policy.Span(rule.Seconds, time.Second) {
		return false
	}
	// What retention keeps is kept for somebody who comes later.
	if keep := p.Retention.RetentionTime; t.store.Stats().Entries > 0 && (keep < 0 || unused < keep) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle()
}

// idle reports whether nobody uses the topic; the caller holds mu.
func (t *Topic) idle() bool {
	if len(t.producers)+len(t.waiting) > 0 {
		return false
	}
	for _, s := range t.subs {
		if t.Policies().inactive.Mode != InactiveCaughtUp || len(s.Consumers()) > 0 || s.cursor.Backlog().Entries > 0 {
			return false
		}
	}
	return true
}

// touch notes that the topic is used.
func (t *Topic) touch() { t.lastUse.Store(t.r.opt.Now().UnixMilli()) }
