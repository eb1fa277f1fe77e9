package storage

import (
	"sync/atomic"
	"time"

	"spoolctl/storage/record"
)

// counters are the store's own counters since it was opened; bumped once per batch.
type counters struct {
	batches, entries, operations, bytes atomic.Int64
	commitNanos                         atomic.Int64
	trimmedLedgers, trimmedBytes        atomic.Int64
	recoveredLedgers, recoveredTopics   atomic.Int64
	quarantined                         atomic.Int64
}

func (c *counters) batch(b *batch, took time.Duration) {
	c.batches.Add(1)
	c.entries.Add(int64(b.entries))
	c.operations.Add(int64(b.ops))
	c.bytes.Add(b.bytes)
	c.commitNanos.Add(int64(took))
}

// StoreStats are counters since the store was opened, and gauges of now.
type StoreStats struct {
	Batches, Entries, Operations, Bytes int64         // committed
	CommitTime                          time.Duration // sum over the batches, from queueing the first operation to durable
	QueueOps                            int           // operations that wait
	QueueBytes                          int64         // payload bytes that wait
	TailCacheBytes                      int64
	TrimmedLedgers, TrimmedBytes        int64
	RecoveredLedgers, RecoveredTopics   int64
	QuarantinedEntries                  int64 // found damaged
}

// Stats returns the store's counters.
func (s *Store) Stats() StoreStats {
	ops, bytes := s.queue.depth()
	return StoreStats{
		Batches: s.stats.batches.Load(), Entries: s.stats.entries.Load(), Operations: s.stats.operations.Load(),
		Bytes: s.stats.bytes.Load(), CommitTime: time.Duration(s.stats.commitNanos.Load()),
		QueueOps: ops, QueueBytes: bytes, TailCacheBytes: s.tails.used.Load(),
		TrimmedLedgers: s.stats.trimmedLedgers.Load(), TrimmedBytes: s.stats.trimmedBytes.Load(),
		RecoveredLedgers: s.stats.recoveredLedgers.Load(), RecoveredTopics: s.stats.recoveredTopics.Load(),
		QuarantinedEntries: s.stats.quarantined.Load(),
	}
}

// TopicStats are a topic's counts: what is stored now, and what was ever added.
type TopicStats struct {
	Entries, Messages, Bytes                int64
	AddedEntries, AddedMessages, AddedBytes int64
	Ledgers                                 int
	LastPublish                             int64 // ms since the epoch, 0 when unknown
}

// Stats returns the topic's counts.
func (t *Topic) Stats() TopicStats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ledgers.stats()
}

func (ls Ledgers) stats() TopicStats {
	start, end := ls.Start(), ls.End()
	s := TopicStats{
		Entries: end.Entries - start.Entries, Messages: end.Messages - start.Messages, Bytes: end.Bytes - start.Bytes,
		AddedEntries: end.Entries, AddedMessages: end.Messages, AddedBytes: end.Bytes, Ledgers: len(ls),
	}
	for _, l := range ls {
		s.LastPublish = max(s.LastPublish, l.LastPublish)
	}
	return s
}

// LedgerInfo is a ledger as people see it.
type LedgerInfo struct {
	ID int64
	record.Ledger
}

// Ledgers returns the topic's ledgers by rising id.
func (t *Topic) Ledgers() []LedgerInfo {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]LedgerInfo, len(t.ledgers))
	for i, l := range t.ledgers {
		out[i] = LedgerInfo{l.ID, l.Ledger}
	}
	return out
}
