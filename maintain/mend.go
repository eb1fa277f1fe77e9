package maintain

import (
	"context"
	"errors"
	"fmt"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// lostRun is a stretch of entries that a ledger had and that are lost: [first, end).
type lostRun struct{ ledger, first, end int64 }

// mender makes the cursors of a spool that was put together fit its entries.
type mender struct {
	o    *Options
	dir  string
	only map[uint64]bool // topics, by id; nil: all
	lost int64           // entries that ledgers had and that are not there
}

// mend makes the cursors fit what is there: positions that are gone move, lost entries count as acknowledged, and the
// counts of what was consumed are made again from the entries.
func (m *mender) mend(ctx context.Context) error {
	if err := m.fillGaps(ctx); err != nil {
		return err
	}
	lost := map[string][]lostRun{}
	fixed := map[string][]byte{}
	err := m.eachTopic(ctx, func(s *storage.Spool, t *storage.TopicView) (err error) {
		lost[t.Name], err = lostRuns(s.Reader(), t)
		for _, l := range lost[t.Name] {
			m.lost += l.end - l.first
		}
		fit(t, fixed)
		return err
	})
	if err != nil {
		return err
	}
	if err := m.writeRecords(ctx, fixed); err != nil {
		return err
	}
	if m.lost > 0 {
		if err := m.passLost(ctx, lost); err != nil {
			return err
		}
	}
	clear(fixed)
	err = m.eachTopic(ctx, func(s *storage.Spool, t *storage.TopicView) error { return recount(s.Reader(), t, fixed) })
	if err != nil {
		return err
	}
	return m.writeRecords(ctx, fixed)
}

// eachTopic calls use for the topics that are meant.
func (m *mender) eachTopic(ctx context.Context, use func(s *storage.Spool, t *storage.TopicView) error) (err error) {
	s, err := storage.OpenRead(storage.ReadOptions{Dir: m.dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.EachTopic(func(h storage.TopicHead) error {
		if err := ctx.Err(); err != nil || (m.only != nil && !m.only[h.ID]) {
			return err
		}
		t, err := s.Topic(h.ID)
		if err != nil {
			return err
		}
		return use(s, t)
	})
}

// writeRecords stores records; nil deletes one.
func (m *mender) writeRecords(ctx context.Context, set map[string][]byte) error {
	if len(set) == 0 {
		return nil
	}
	return onDB(func(_ context.Context, db *pebble.DB) error {
		b := db.NewBatch()
		for k, v := range set {
			err := b.Set([]byte(k), v, nil)
			if v == nil {
				err = b.Delete([]byte(k), nil)
			}
			if err != nil {
				return err
			}
		}
		return b.Commit(pebble.Sync)
	})(ctx, m.dir)
}

// lostRuns finds the entries that t's ledgers had and that are not there.
func lostRuns(r pebble.Reader, t *storage.TopicView) (out []lostRun, err error) {
	for _, l := range t.Ledgers {
		if l.LocalDeleted {
			continue // its entries are in an object
		}
		next := int64(0)
		gap := func(to int64) {
			if to > next {
				out = append(out, lostRun{l.ID, next, to})
			}
			next = to + 1
		}
		for _, x := range l.Extents {
			err := eachKey(r, key.ForEntry(x.Epoch, l.ID, x.First), key.ForEntry(x.Epoch, l.ID, min(x.End(), l.Entries)), func(k []byte) error {
				_, _, e, err := key.ParseEntry(k)
				if err == nil {
					gap(e)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		gap(l.Entries)
	}
	return out, nil
}

func eachKey(r pebble.Reader, lower, upper []byte, do func(k []byte) error) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := do(it.Key()); err != nil {
			return err
		}
	}
	return it.Error()
}

// fit moves mark-delete positions into the ledgers that are left, and drops acknowledgements of ledgers that are not.
func fit(t *storage.TopicView, set map[string][]byte) {
	for _, c := range t.Cursors {
		after := c.MarkDelete
		if after.Entry < 1<<62 {
			after.Entry++
		}
		if p := t.Ledgers.Prev(after); p != c.MarkDelete {
			c.MarkDelete = p
			rec := cursorRecord(c)
			set[string(key.ForCursor(t.ID, c.ID))] = rec.Append(nil)
		}
		for _, id := range c.Acks.Ledgers() {
			if !t.Ledgers.Has(wire.Position{Ledger: id}) || id < c.MarkDelete.Ledger {
				set[string(key.ForHoles(t.ID, c.ID, id))] = nil
			}
		}
	}
}

func cursorRecord(c *storage.CursorState) record.Cursor {
	return record.Cursor{Name: c.Name, MarkDelete: c.MarkDelete, ConsumedMessages: c.Consumed.Messages, ConsumedBytes: c.Consumed.Bytes,
		Created: c.Created, LastActive: c.LastActive, Properties: c.Properties, Positions: c.Positions}
}

// passLost acknowledges the lost entries in every cursor: they cannot be delivered, and must not stay in a backlog for
// ever.
func (m *mender) passLost(ctx context.Context, lost map[string][]lostRun) error {
	return m.o.onStore(func(ctx context.Context, s *storage.Store) error {
		for full, runs := range lost {
			name, err := wire.ParseTopic(full)
			if err != nil || len(runs) == 0 {
				continue
			}
			t, err := s.OpenTopic(ctx, name, noSink{})
			if err != nil {
				return err
			}
			t.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
			for _, c := range t.Cursors() {
				if err := ackRuns(c, runs); err != nil {
					return fmt.Errorf("%s of %s: %w", c.Name(), full, err)
				}
			}
			if err := t.Close(ctx); err != nil {
				return err
			}
		}
		return nil
	})(ctx, m.dir)
}

// ackRuns acknowledges runs of entries that are not there.
func ackRuns(c *storage.Cursor, runs []lostRun) error {
	const most = 10_000
	var acks []storage.Ack
	for _, r := range runs {
		for e := r.first; e < r.end; e++ {
			// One byte, so that nobody looks for what is lost; the counts are made again afterwards.
			acks = append(acks, storage.Ack{Position: wire.Position{Ledger: r.ledger, Entry: e}, Bytes: 1})
			if len(acks) == most {
				if err := c.Ack(acks, nil); err != nil {
					return err
				}
				acks = acks[:0]
			}
		}
	}
	return c.Ack(acks, nil)
}

// recount makes the counts of what cursors have consumed again. A lost entry counts with the next one that is there.
func recount(r pebble.Reader, t *storage.TopicView, set map[string][]byte) error {
	at := func(p wire.Position) (storage.Consumed, error) {
		c, err := t.Cumulative(p)
		var bad *storage.CorruptError
		if err == nil || !(errors.As(err, &bad) || errors.Is(err, storage.ErrEntryNotFound)) {
			return c, err
		}
		return before(r, t, p)
	}
	for _, c := range t.Cursors {
		got, err := c.Recount(at)
		if errors.As(err, new(*storage.OffloadedError)) {
			continue // nobody can count; what it knew stays
		}
		if err != nil {
			return fmt.Errorf("%s of %s: %w", c.Name, t.Name, err)
		}
		if got == c.Consumed {
			continue
		}
		c.Consumed = got
		rec := cursorRecord(c)
		set[string(key.ForCursor(t.ID, c.ID))] = rec.Append(nil)
	}
	return nil
}

// before returns the topic's counts before the first entry after p that is there, or at the ledger's end.
func before(r pebble.Reader, t *storage.TopicView, p wire.Position) (out storage.Consumed, err error) {
	for _, l := range t.Ledgers {
		if l.ID != p.Ledger {
			continue
		}
		out = storage.Consumed{Messages: l.StartMessages + l.Messages, Bytes: l.StartBytes + l.Bytes}
		for _, x := range l.Extents {
			if x.End() <= p.Entry {
				continue
			}
			found := false
			it, err := r.NewIter(&pebble.IterOptions{LowerBound: key.ForEntry(x.Epoch, l.ID, max(x.First, p.Entry+1)), UpperBound: key.ForEntry(x.Epoch, l.ID, x.End())})
			if err != nil {
				return out, err
			}
			if it.First() {
				var h record.Header
				var data []byte
				if h, data, err = record.ParseHeader(it.Value()); err == nil {
					found = true
					out = storage.Consumed{Messages: h.TotalMessages - int64(h.Messages), Bytes: h.TotalBytes - int64(len(data))}
				}
			}
			if err := errors.Join(err, it.Close()); err != nil || found {
				return out, err
			}
		}
	}
	return out, nil
}
