package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// mender makes the cursors of a spool that was put together fit its entries.
type mender struct {
	o    *Options
	dir  string
	only map[uint64]bool // topics, by id; nil: all
	lost int64           // entries that ledgers had and that are not there, and of which nobody knew
}

// mend makes the records fit what is there: ledgers note the entries that are lost, which storage then passes over;
// positions that are gone move, and the counts of what was consumed are made again from the entries.
func (m *mender) mend(ctx context.Context) error {
	if err := m.fillGaps(ctx); err != nil {
		return err
	}
	fixed := map[string][]byte{}
	err := m.eachTopic(ctx, func(s *storage.Spool, t *storage.TopicView) error {
		for _, l := range t.Ledgers {
			if err := m.examine(s.Reader(), t.ID, l, fixed); err != nil {
				return err
			}
		}
		fit(t, fixed)
		return nil
	})
	if err != nil {
		return err
	}
	if err := m.writeRecords(ctx, fixed); err != nil {
		return err
	}
	clear(fixed)
	err = m.eachTopic(ctx, func(s *storage.Spool, t *storage.TopicView) error { return recount(t, fixed) })
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

// examine reads a ledger's entries, and notes in its record which are lost. The publish times of one that has all are made
// sure of: its record may have been made from what is left of it.
func (m *mender) examine(r pebble.Reader, topic uint64, l *storage.Ledger, set map[string][]byte) error {
	if l.LocalDeleted || l.Entries == 0 {
		return nil // its entries are in an object
	}
	was := l.Ledger
	known := int64(0)
	for _, run := range l.Lost {
		known += run.Len()
	}
	next := int64(0)
	l.Lost = nil
	gap := func(to int64) {
		if to > next {
			l.Lost = append(l.Lost, record.Run{First: next, Last: to - 1})
			m.lost += to - next
		}
		next = to + 1
	}
	var span record.Extent
	for _, x := range l.Extents {
		err := eachEntry(r, key.ForEntry(x.Epoch, l.ID, x.First), key.ForEntry(x.Epoch, l.ID, min(x.End(), l.Entries)), func(entry int64, h record.Header) {
			gap(entry)
			span.Published(h.PublishTime)
		})
		if err != nil {
			return err
		}
	}
	gap(l.Entries)
	m.lost -= known
	if len(l.Lost) == 0 && l.State == record.LedgerClosed {
		l.FirstPublish, l.LastPublish = span.FirstPublish, span.LastPublish
	}
	if !slices.Equal(l.Lost, was.Lost) || l.FirstPublish != was.FirstPublish || l.LastPublish != was.LastPublish {
		set[string(key.ForLedger(topic, l.ID))] = l.Append(nil)
	}
	return nil
}

func eachEntry(r pebble.Reader, lower, upper []byte, do func(entry int64, h record.Header)) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		_, _, entry, err := key.ParseEntry(it.Key())
		if err != nil {
			return err
		}
		if h, _, err := record.ParseHeader(it.Value()); err == nil { // else it is as lost as if it were not there
			do(entry, h)
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

// recount makes the counts of what cursors have consumed again.
func recount(t *storage.TopicView, set map[string][]byte) error {
	for _, c := range t.Cursors {
		got, err := c.Recount(t.Cumulative)
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
