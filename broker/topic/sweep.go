package topic

import (
	"context"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// sweep removes, from time to time, what nobody uses: subscriptions that are not
// durable and whose client never came back after a seek, and non-persistent topics that
// came into being by being used.
func (r *Registry) sweep(ctx context.Context) {
	tick := time.NewTicker(r.opt.Sweep)
	defer tick.Stop()
	idle := make(map[*Subscription]bool) // seen without consumers at the last tick
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := make(map[*Subscription]bool)
		for _, t := range r.Loaded() {
			for _, s := range t.Subscriptions() {
				if s.durable || len(s.Consumers()) > 0 {
					continue
				}
				if idle[s] {
					r.reap(s)
				} else {
					now[s] = true
				}
			}
			r.reapTopic(t)
		}
		idle = now
	}
}

// reapTopic forgets a non-persistent topic without clients.
func (r *Registry) reapTopic(t *Topic) {
	if t.name.Domain != wire.NonPersistent || t.explicit || t.name.Partition() >= 0 || t.unused() != nil {
		return
	}
	if s := r.beginClose(t); s != nil {
		// Nothing is stored, so closing cannot fail.
		_ = t.close(context.Background(), true)
		r.endClose(t.name, s)
	}
}

// applyRetention tells the store how long acknowledged entries stay.
func (t *Topic) applyRetention() {
	o := t.r.opt
	p := storage.TrimPolicy{RetentionTime: o.RetentionTime, RetentionBytes: o.RetentionSize}
	var ns struct {
		Minutes int64 `json:"retentionTimeInMinutes"`
		MB      int64 `json:"retentionSizeInMB"`
	}
	if found, err := t.r.policy(t.name.NamespaceName(), "retention_policies", &ns); err != nil {
		t.r.opt.Logger.Warn("retention of the namespace cannot be read; the default applies", "topic", t.name.String(), "error", err)
	} else if found {
		p = storage.TrimPolicy{RetentionTime: time.Duration(ns.Minutes) * time.Minute, RetentionBytes: ns.MB << 20}
	}
	t.store.SetTrimPolicy(p)
}

// ApplyRetention renews the retention of the loaded topics of a namespace after its
// policy changed.
func (r *Registry) ApplyRetention(ns wire.NamespaceName) {
	for _, t := range r.Loaded() {
		if t.store != nil && t.name.NamespaceName() == ns {
			t.applyRetention()
		}
	}
}
