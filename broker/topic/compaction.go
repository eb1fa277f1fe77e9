package topic

import (
	"context"
	"slices"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// JobStatus is Pulsar's JSON of how work on a topic stands that goes on in the background.
type JobStatus struct {
	Status    string `json:"status"` // NOT_RUN since the topic was loaded, RUNNING, SUCCESS or ERROR
	LastError string `json:"lastError"`
}

func jobStatus(running, ran bool, err error) JobStatus {
	switch {
	case running:
		return JobStatus{Status: "RUNNING"}
	case err != nil:
		return JobStatus{Status: "ERROR", LastError: err.Error()}
	case ran:
		return JobStatus{Status: "SUCCESS"}
	}
	return JobStatus{Status: "NOT_RUN"}
}

// Compact compacts the topic in the background, so that readers of the compacted topic get the last message of each key
// only. It refuses with Conflict while that goes on or waits for its turn, NotAllowed, NotReady.
func (t *Topic) Compact() error {
	if t.store == nil {
		return fault.New(fault.NotAllowed, "Compaction of a non-persistent topic is not allowed: nothing is stored")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.fenced:
		return fault.New(fault.NotReady, "topic %s is being closed; try again", t.name)
	case t.compact != nil:
		return fault.New(fault.Conflict, "Compaction of %s is already in progress", t.name)
	}
	ctx, cancel := context.WithCancel(t.r.background)
	t.compact = cancel
	t.workers.Go(func() {
		t.runCompaction(ctx)
		t.mu.Lock()
		t.compact = nil
		t.mu.Unlock()
		cancel()
	})
	return nil
}

// runCompaction compacts the topic when it is its turn: one at a time is compacted, as each takes much memory.
func (t *Topic) runCompaction(ctx context.Context) {
	select {
	case t.r.compacting <- struct{}{}:
		defer func() { <-t.r.compacting }()
	case <-ctx.Done():
		return
	}
	log := t.r.opt.Logger.With("topic", t.name.String())
	switch err := t.store.Compact(ctx); {
	case err == nil:
		c := t.store.Compaction()
		log.Info("topic compacted", "removed", c.Removed, "entries", c.Entries, "bytes", c.Bytes, "took", c.Took)
	case ctx.Err() == nil:
		log.Warn("a topic was not compacted", "error", err)
	}
}

// CompactionStatus tells how compaction stands; NotAllowed for a non-persistent topic.
func (t *Topic) CompactionStatus() (JobStatus, error) {
	if t.store == nil {
		return JobStatus{}, fault.New(fault.NotAllowed, "a non-persistent topic is not compacted: nothing is stored")
	}
	t.mu.Lock()
	running := t.compact != nil
	t.mu.Unlock()
	c := t.store.Compaction()
	return jobStatus(running, !c.Succeeded.IsZero(), c.Err), nil
}

// CheckCompaction compacts the loaded topics that got more since their last compaction than their policy allows, and lets
// subscriptions that read the compacted topic pass what they do not get.
func (r *Registry) CheckCompaction(ctx context.Context) {
	for _, t := range r.Loaded() {
		if t.store == nil || ctx.Err() != nil {
			continue
		}
		for _, s := range t.Subscriptions() {
			if err := s.passCompacted(ctx); err != nil && !fault.Is(err, fault.SubscriptionNotFound) {
				r.opt.Logger.Warn("a subscription does not pass what was compacted", "topic", t.name.String(), "subscription", s.name, "error", err)
			}
		}
		after := t.Policies().CompactAfter
		if after <= 0 || t.uncompacted() <= after {
			continue
		}
		if err := t.Compact(); err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotReady) {
			r.opt.Logger.Warn("a topic was not compacted", "topic", t.name.String(), "error", err)
		}
	}
}

// uncompacted is how many bytes came since the last compaction.
func (t *Topic) uncompacted() int64 {
	if c := t.store.Cursor(storage.CompactionCursor); c != nil {
		return c.Backlog().Bytes
	}
	return t.store.Stats().Bytes
}

// passCompacted acknowledges what the subscription's consumers were not sent because compaction left it out. They do not
// acknowledge it, and it would keep the topic's ledgers for as long as they are there.
func (s *Subscription) passCompacted(ctx context.Context) error {
	if !s.readsCompacted() {
		return nil
	}
	return s.moved(ctx, func(c *storage.Cursor) error {
		if !s.readsCompacted() {
			return nil
		}
		to := s.disp().Snapshot().ReadPosition
		mark := c.MarkDelete()
		pending, _, err := c.PendingCompacted(ctx, mark, 1, 1, nil)
		if err != nil {
			return err
		}
		if len(pending) > 0 && pending[0].Position.Less(to) {
			to = pending[0].Position
		}
		if to.Entry--; !mark.Less(to) {
			return nil
		}
		return c.AckCumulative(storage.Ack{Position: to}, nil, nil)
	})
}

// readsCompacted reports whether all consumers read the compacted topic; there must be some.
func (s *Subscription) readsCompacted() bool {
	all := s.Consumers()
	return len(all) > 0 && !slices.ContainsFunc(all, func(c *dispatch.Consumer) bool { return !c.ReadCompacted })
}

// maxUnpacked bounds what a compressed batch may grow to, in bytes.
const maxUnpacked = 256 << 20

// lastOfCompacted is the last message of a compacted ledger; entry -1 when there is none.
type lastOfCompacted struct {
	ledger int64
	at     wire.Position
	batch  int32 // -1 = it is no batch
}

// LastMessageID is the id of the newest message that the consumer can get; entry -1 when there is none.
func (c *Consumer) LastMessageID(ctx context.Context) (wire.MessageID, error) {
	t := c.Sub.t
	id, err := t.LastMessageID(ctx)
	if err != nil || !c.ReadCompacted {
		return id, err
	}
	info := t.store.Compaction()
	if info.Ledger < 0 || info.Horizon.Less(id.Position) && id.Entry >= 0 {
		return id, nil // something came since
	}
	// The newest message may have been a deletion, of which compaction left nothing.
	last := t.compacted.Load()
	if last == nil || last.ledger != info.Ledger {
		if last, err = t.scanCompacted(ctx, info); err != nil {
			return id, err
		}
		t.compacted.Store(last)
	}
	id.Position, id.Batch = last.at, last.batch
	return id, nil
}

// scanCompacted finds the last entry that a compaction left.
func (t *Topic) scanCompacted(ctx context.Context, info storage.CompactionInfo) (*lastOfCompacted, error) {
	last := storage.Entry{Position: wire.Position{Ledger: -1, Entry: -1}}
	var buf []storage.Entry
	for from := wire.Earliest(); !info.Horizon.Less(from); {
		got, err := t.store.ReadCompacted(ctx, from, 1024, 1<<20, buf[:0])
		if err != nil {
			return nil, storeFault(err, "reading what was compacted of %s", t.name)
		}
		for i := range got {
			if !info.Horizon.Less(got[i].Position) {
				last = got[i]
			}
		}
		if len(got) == 0 {
			break
		}
		buf, from = got, wire.Position{Ledger: got[len(got)-1].Position.Ledger, Entry: got[len(got)-1].Position.Entry + 1}
	}
	return &lastOfCompacted{info.Ledger, last.Position, lastInBatch(last.Data)}, nil
}

// lastInBatch is the index of a batch's last message that compaction left, -1 when the entry is no batch.
func lastInBatch(data []byte) int32 {
	n, batch := batchSize(data)
	if !batch {
		return -1
	}
	last := n - 1 // also when only its consumer can read it
	parts, _ := wire.SplitEntry(data)
	m, _ := wire.ParseMetadata(parts.Metadata) // batchSize could
	payload, err := wire.Decompress(&m, parts.Payload, maxUnpacked)
	if err != nil {
		return last
	}
	for s, err := range wire.Unbatch(&m, payload) {
		if err != nil {
			return n - 1
		}
		if !s.Meta.GetCompactedOut() {
			last = s.Index
		}
	}
	return last
}
