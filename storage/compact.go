package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"spoolctl/storage/compaction"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// Topic compaction keeps the last message of each key in a ledger of its own. Its entries begin with the position that they
// had. The cursor CompactionCursor stands where the last compaction ended and names the ledger; it keeps the topic's ledgers
// until they are compacted. What a compaction left that broke off is removed by the next one.

// CompactionCursor is the cursor of topic compaction, and compactedLedger the property with the ledger's id; both are
// called as in Pulsar.
const (
	CompactionCursor = "__compaction"
	compactedLedger  = "CompactedTopicLedger"
)

// ErrCompacting says that the topic is being compacted already.
var ErrCompacting = errors.New("the topic is being compacted already")

const (
	positionLen      = 16       // before each compacted entry
	compactionMemory = 64 << 20 // for what is known of keys
	compactionBatch  = 256 << 10
)

// compacting is a topic's compacted ledger; the topic's lock guards it.
type compacting struct {
	running bool
	ledger  *Ledger       // nil = never compacted; it does not change any more
	horizon wire.Position // the last position that was compacted
	stale   []*Ledger     // left of compactions that broke off
	last    CompactionInfo
}

// CompactionInfo is how compaction stands for a topic.
type CompactionInfo struct {
	Running        bool
	Ledger         int64         // -1 = never compacted
	Horizon        wire.Position // the last position that was compacted
	Entries, Bytes int64         // of the compacted ledger; bytes with the positions
	Removed        int64         // messages that the last compaction since the topic was opened left out
	Succeeded      time.Time     // when that was; zero = not since then
	Failed         time.Time     // when one failed last; zero = not since then
	Took           time.Duration // of the last
	Err            error         // of the last
}

func loadCompacted(st *TopicState) (c compacting) {
	id := int64(-1)
	for _, cur := range st.Cursors {
		if v, ok := cur.Positions[compactedLedger]; ok && cur.Name == CompactionCursor {
			id, c.horizon = v, cur.MarkDelete
		}
	}
	for _, l := range st.Compacted {
		if l.ID == id && l.State == record.LedgerClosed {
			c.ledger = l
		} else {
			c.stale = append(c.stale, l)
		}
	}
	return c
}

// Compaction returns how compaction stands.
func (t *Topic) Compaction() CompactionInfo {
	t.mu.RLock()
	defer t.mu.RUnlock()
	info := t.compact.last
	info.Running, info.Ledger = t.compact.running, -1
	if l := t.compact.ledger; l != nil {
		info.Ledger, info.Horizon, info.Entries, info.Bytes = l.ID, t.compact.horizon, l.Entries, l.Bytes
	}
	return info
}

// Compact compacts what was published since the last compaction together with its result; durable on return. It returns
// ErrCompacting, ErrClosed, *CorruptError.
func (t *Topic) Compact(ctx context.Context) error {
	t.mu.Lock()
	if t.compact.running {
		t.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrCompacting, t.full)
	}
	t.compact.running = true
	t.mu.Unlock()
	start := t.s.opt.Now()
	stats, err := t.runCompaction(ctx)
	now := t.s.opt.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.compact.running = false
	last := &t.compact.last
	last.Took, last.Err = now.Sub(start), err
	if err != nil {
		last.Failed = now
		return fmt.Errorf("compact %s: %w", t.full, err)
	}
	last.Succeeded, last.Removed = now, stats.Messages-stats.KeptMessages
	return nil
}

func (t *Topic) runCompaction(ctx context.Context) (stats compaction.Stats, err error) {
	c := t.Cursor(CompactionCursor)
	if c == nil {
		if c, err = t.CreateCursor(ctx, CursorOptions{Name: CompactionCursor, MarkDelete: wire.Earliest(), Durable: true}); err != nil {
			return stats, err
		}
	}
	if err := t.dropStale(ctx); err != nil {
		return stats, err
	}
	t.mu.RLock()
	before, from, horizon := t.compact.ledger, wire.Earliest(), t.ledgers.LastConfirmed()
	if before != nil {
		from = after(t.compact.horizon)
	}
	something := t.ledgers.Has(t.ledgers.Normal(from))
	t.mu.RUnlock()
	if !something {
		return stats, nil // nothing came since
	}
	w, err := t.newCompacted(ctx)
	if err != nil {
		return stats, err
	}
	stats, err = compaction.Run(ctx, t.compactionSource(before, from, horizon), compaction.Options{
		MemoryBytes: compactionMemory, Emit: func(e compaction.Entry) error { return w.add(ctx, e) },
	})
	if err == nil {
		err = w.close(ctx)
	}
	if err == nil {
		err = c.ackWait(ctx, horizon, map[string]int64{compactedLedger: w.ledger.ID})
	}
	t.mu.Lock()
	if err != nil {
		t.compact.stale = append(t.compact.stale, w.ledger)
		t.mu.Unlock()
		return stats, err
	}
	t.compact.ledger, t.compact.horizon = w.ledger, horizon
	if before != nil {
		t.compact.stale = append(t.compact.stale, before)
	}
	t.mu.Unlock()
	return stats, t.dropStale(ctx)
}

// ackWait acknowledges everything up to p; durable on return.
func (c *Cursor) ackWait(ctx context.Context, p wire.Position, properties map[string]int64) error {
	result := make(chan error, 1)
	if err := c.AckCumulative(Ack{Position: p}, properties, func(err error) { result <- err }); err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dropStale removes compacted ledgers that are of no use.
func (t *Topic) dropStale(ctx context.Context) error {
	t.mu.RLock()
	stale := t.compact.stale
	t.mu.RUnlock()
	if len(stale) == 0 {
		return nil
	}
	err := t.s.control(ctx, func(b *batch) error {
		for _, l := range stale {
			if err := t.s.dropLedger(b, t.id, l); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		t.mu.Lock()
		t.compact.stale = nil // only one compaction runs
		t.mu.Unlock()
	}
	return err
}

// compactionSource gives what the last compaction kept, and the entries after it up to the horizon.
func (t *Topic) compactionSource(before *Ledger, first, horizon wire.Position) compaction.Source {
	return func(ctx context.Context, from wire.Position, each func(compaction.Entry) error) error {
		give := func(e Entry) error {
			return each(compaction.Entry{Position: e.Position, Header: e.Header, Data: e.Data})
		}
		if before != nil && from.Less(first) {
			i, err := t.compactedAt(ctx, before, from)
			if err == nil {
				err = t.walkCompacted(ctx, before, i, give)
			}
			if err != nil {
				return err
			}
		}
		if from.Less(first) {
			from = first
		}
		return t.walkStored(ctx, 0, from, after(horizon), give)
	}
}

// walkCompacted calls each for the entries of a compacted ledger from the i-th on, with the positions that they had.
func (t *Topic) walkCompacted(ctx context.Context, l *Ledger, i int64, each func(Entry) error) error {
	spans := Ledgers{l}.spans(wire.Position{Ledger: l.ID, Entry: i}, l.end(), l.Entries)
	return t.reader().walk(ctx, spans, func(e Entry) error {
		if len(e.Data) < positionLen {
			return t.reader().corrupt(e.Position, nil, fmt.Errorf("%w: a compacted entry without a position", record.ErrMalformed))
		}
		e.Position = wire.Position{Ledger: int64(binary.BigEndian.Uint64(e.Data)), Entry: int64(binary.BigEndian.Uint64(e.Data[8:]))}
		e.Data = e.Data[positionLen:]
		return each(e)
	})
}

// compactedAt returns the number of the first entry of a compacted ledger that was at p or after it.
func (t *Topic) compactedAt(ctx context.Context, l *Ledger, p wire.Position) (int64, error) {
	low, high := int64(0), l.Entries
	for low < high {
		middle := low + (high-low)/2
		var at wire.Position
		err := t.walkCompacted(ctx, l, middle, func(e Entry) error {
			at = e.Position
			return errStop
		})
		if err != nil {
			return 0, err
		}
		if at.Less(p) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// compactedWriter writes a compacted ledger.
type compactedWriter struct {
	t      *Topic
	w      *writer
	ledger *Ledger
	batch  []Entry // not written yet; Data begins with the position
	bytes  int
}

// newCompacted makes an empty compacted ledger.
func (t *Topic) newCompacted(ctx context.Context) (*compactedWriter, error) {
	l := &Ledger{ID: t.s.ids.newLedger(), Ledger: record.Ledger{Created: t.s.opt.Now(), Compacted: true}}
	err := t.s.control(ctx, func(b *batch) error {
		b.usesIDs = true
		return b.Set(key.ForLedger(t.id, l.ID), l.Append(nil), nil)
	})
	return &compactedWriter{t: t, ledger: l, w: &writer{topic: t, id: l.ID}}, err
}

func (c *compactedWriter) add(ctx context.Context, e compaction.Entry) error {
	data := make([]byte, 0, positionLen+len(e.Data))
	data = binary.BigEndian.AppendUint64(data, uint64(e.Position.Ledger))
	data = binary.BigEndian.AppendUint64(data, uint64(e.Position.Entry))
	c.batch = append(c.batch, Entry{Position: e.Position, Header: e.Header, Data: append(data, e.Data...)})
	if c.bytes += len(e.Data); c.bytes < compactionBatch {
		return nil
	}
	return c.flush(ctx)
}

// flush writes what is gathered; durable on return. When ctx ends first, the ledger is worth nothing any more.
func (c *compactedWriter) flush(ctx context.Context) error {
	entries := c.batch
	c.batch, c.bytes = nil, 0
	return c.t.s.control(ctx, func(b *batch) error {
		c.t.mu.RLock()
		closed := c.t.closed
		c.t.mu.RUnlock()
		if closed {
			return ErrClosed
		}
		l := c.ledger
		for i := range entries {
			e := &entries[i]
			c.t.s.committer.store(b, c.w, l.Entries, &e.Header, e.Data)
			b.bytes += int64(len(e.Data))
			x := l.grow(b.epoch, l.Entries)
			x.lastPublish = max(x.lastPublish, e.Header.PublishTime)
			l.Entries++
			l.Messages += int64(e.Header.Messages)
			l.Bytes += int64(len(e.Data))
			stretch(&l.Ledger, e.Header.PublishTime)
		}
		return nil
	})
}

// close records the ledger as complete.
func (c *compactedWriter) close(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	c.ledger.State, c.ledger.Closed = record.LedgerClosed, c.t.s.opt.Now()
	rec := c.ledger.Append(nil)
	return c.t.s.control(ctx, func(b *batch) error { return b.Set(key.ForLedger(c.t.id, c.ledger.ID), rec, nil) })
}

// ReadCompacted is Read for readers of the compacted topic: from `from` up to the horizon it gives what the last compaction
// kept, with the positions that it had, and after it the ordinary entries.
func (t *Topic) ReadCompacted(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	for {
		t.mu.RLock()
		l, horizon := t.compact.ledger, t.compact.horizon
		t.mu.RUnlock()
		if l == nil || horizon.Less(from) {
			return t.Read(ctx, from, maxEntries, maxBytes, dst)
		}
		out, err := t.readCompacted(ctx, l, from, maxEntries, maxBytes, dst)
		t.mu.RLock()
		replaced := t.compact.ledger != l
		t.mu.RUnlock()
		switch {
		case len(out) > len(dst):
			return out, nil // an error comes again
		case err == nil:
			return t.Read(ctx, after(horizon), maxEntries, maxBytes, dst)
		case !replaced:
			return dst, err
		}
	}
}

func (t *Topic) readCompacted(ctx context.Context, l *Ledger, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	i, err := t.compactedAt(ctx, l, from)
	if err != nil || i == l.Entries {
		return dst, err
	}
	err = t.walkCompacted(ctx, l, i, func(e Entry) error {
		e.Data = slices.Clone(e.Data)
		dst = append(dst, e)
		maxBytes -= len(e.Data)
		if maxEntries--; maxEntries <= 0 || maxBytes <= 0 {
			return errStop
		}
		return nil
	})
	return dst, err
}

// PendingCompacted is Pending for readers of the compacted topic. A cursor at the topic's start also gets what was compacted
// before its ledger went; there, nothing can be acknowledged.
func (c *Cursor) PendingCompacted(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []PendingEntry) (out []PendingEntry, next wire.Position, err error) {
	buf := c.t.s.entries.get()
	defer c.t.s.entries.put(buf)
	st, ls := c.lock()
	if start := (wire.Position{Ledger: ls[0].ID, Entry: -1}); st.MarkDelete == start && from == after(start) {
		from = wire.Earliest()
	}
	c.unlock()
	for out = dst; len(out) == len(dst); {
		entries, err := c.t.ReadCompacted(ctx, from, maxEntries, maxBytes, (*buf)[:0])
		*buf = entries
		if err != nil {
			return dst, from, err
		}
		if len(entries) == 0 {
			c.caughtUp()
			return dst, from, nil
		}
		st, ls := c.lock()
		for i := range entries {
			e := &entries[i]
			from = after(e.Position)
			if e.Position.Ledger >= ls[0].ID && st.Acked(e.Position) {
				continue
			}
			part, _ := st.Acks.Partial(e.Position)
			out = append(out, PendingEntry{*e, part.Words})
		}
		c.unlock()
		clear(entries)
	}
	return out, from, nil
}
