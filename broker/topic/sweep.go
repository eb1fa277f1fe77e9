package topic

import (
	"context"
	"time"

	"spoolctl/wire"
)

// upkeep starts what is done from time to time, each in a goroutine of the registry.
func (r *Registry) upkeep(ctx context.Context) {
	idle := map[*Subscription]bool{}
	for _, chore := range []struct {
		every time.Duration
		do    func(context.Context)
	}{
		{r.opt.Sweep, func(context.Context) { idle = r.sweep(idle) }},
		{r.opt.ExpiryCheck, r.CheckExpiry},
		{r.opt.QuotaCheck, r.CheckQuotas},
		{r.opt.InactiveCheck, r.CheckInactive},
		{r.opt.CompactionCheck, r.CheckCompaction},
		{visitEvery, r.CheckUnloaded},
	} {
		if chore.every <= 0 {
			continue
		}
		r.workers.Go(func() {
			tick := time.NewTicker(chore.every)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					chore.do(ctx)
				}
			}
		})
	}
}

// sweep removes what nobody uses and nobody would miss: subscriptions that are not durable and whose client never came
// back after a seek, and non-persistent topics that came into being by being used. was holds what had no consumers the
// last time; what has none now is returned.
func (r *Registry) sweep(was map[*Subscription]bool) map[*Subscription]bool {
	now := map[*Subscription]bool{}
	for _, t := range r.Loaded() {
		for _, s := range t.Subscriptions() {
			if s.durable || len(s.Consumers()) > 0 {
				continue
			}
			if was[s] {
				r.reap(s)
			} else {
				now[s] = true
			}
		}
		r.reapTopic(t)
	}
	return now
}

// reapTopic forgets a non-persistent topic without clients.
func (r *Registry) reapTopic(t *Topic) {
	if t.name.Domain != wire.NonPersistent || t.explicit || t.name.Partition() >= 0 {
		return
	}
	t.mu.Lock()
	used := t.unused() != nil
	t.mu.Unlock()
	if used {
		return
	}
	if s := r.beginClose(t); s != nil {
		// Nothing is stored, so closing cannot fail.
		_ = t.close(context.Background(), true)
		r.endClose(t.name, s)
	}
}
