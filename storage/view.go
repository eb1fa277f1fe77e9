package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// TopicView is a topic of a stopped spool. Its answers come from the same code as those of an open topic.
type TopicView struct {
	TopicState
	s *Spool
}

func (t *TopicView) reader() entryReader {
	return entryReader{r: t.s.r, objects: t.s.objects, topic: t.Name}
}

// extend reads the extents, where they are missing, of the ledgers that hold the first max entries from `from` on, up to the
// ledger `last`.
func (t *TopicView) extend(from wire.Position, last, max int64) error {
	for i := t.Ledgers.find(from.Ledger); i < len(t.Ledgers) && t.Ledgers[i].ID <= last && max > 0; i++ {
		l := t.Ledgers[i]
		if l.unread {
			if max == 1 {
				if _, _, known := l.partAt(from.Entry); known {
					return nil
				}
				if found, err := t.oneExtent(l, from.Entry); found || err != nil {
					return err
				}
			}
			l.Extents = nil
			if err := t.loadExtents(t.s.r, l, t.s.meta.RecordedEpoch); err != nil {
				return fmt.Errorf("load %s: %w", t.Name, err)
			}
			l.unread = false
		}
		if max -= l.Entries; l.ID == from.Ledger {
			max += from.Entry
		}
	}
	return nil
}

// oneExtent reads the extent that holds an entry: a look at one entry need not read those of all its ledger.
func (t *TopicView) oneExtent(l *Ledger, entry int64) (found bool, err error) {
	lower, _ := key.ForExtents(l.ID)
	it, err := t.s.r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: key.ForExtent(l.ID, entry+1)})
	if err != nil {
		return false, fmt.Errorf("read %s: %w", key.Format(lower), err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return false, it.Error()
	}
	_, first, err := key.ParseExtent(it.Key())
	if err != nil {
		return false, t.corrupt(it.Key(), wire.Position{Ledger: l.ID}, err)
	}
	x, err := record.ParseExtent(first, it.Value())
	if err != nil {
		return false, t.corrupt(it.Key(), wire.Position{Ledger: l.ID, Entry: first}, err)
	}
	l.Extents = []record.Extent{x}
	return entry < x.End(), nil
}

// Cursor returns the state of a subscription's cursor, nil when there is none.
func (t *TopicView) Cursor(name string) *CursorState {
	for _, c := range t.Cursors {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Stats returns the topic's counts.
func (t *TopicView) Stats() TopicStats { return t.Ledgers.stats() }

// Walk calls each for every stored entry in [from, to) in order; Data is valid during the call only. each ends the walk
// by returning false or an error. Damage ends it with *CorruptError.
func (t *TopicView) Walk(ctx context.Context, from, to wire.Position, each func(Entry) (more bool, err error)) error {
	from, to = t.Ledgers.Normal(from), t.Ledgers.Normal(to)
	if err := t.extend(from, to.Ledger, 1<<62); err != nil {
		return err
	}
	spans := t.Ledgers.spans(from, to, 1<<62)
	return t.reader().walk(ctx, spans, stopping(each))
}

// WalkSince is Walk over all entries published at ms (milliseconds since the epoch) or later; runs of older entries are
// skipped unread.
func (t *TopicView) WalkSince(ctx context.Context, ms int64, each func(Entry) (more bool, err error)) error {
	first, end := t.Ledgers.First(), t.Ledgers.last().end()
	if err := t.extend(first, end.Ledger, 1<<62); err != nil {
		return err
	}
	spans := t.Ledgers.spansSince(ms, first, end, 1<<62)
	step := stopping(each)
	return t.reader().walk(ctx, spans, func(e Entry) error {
		if e.Header.PublishTime < ms {
			return nil
		}
		return step(e)
	})
}

func stopping(each func(Entry) (bool, error)) func(Entry) error {
	return func(e Entry) error {
		more, err := each(e)
		if err == nil && !more {
			err = errStop
		}
		return err
	}
}

// Read is Topic.Read on a stopped spool.
func (t *TopicView) Read(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	from = t.Ledgers.Normal(from)
	end := t.Ledgers.last().end()
	if err := t.extend(from, end.Ledger, int64(maxEntries)); err != nil {
		return dst, err
	}
	spans := t.Ledgers.spans(from, end, int64(maxEntries))
	return t.reader().read(ctx, spans, maxBytes, dst)
}

// ReadAt reads one entry. It returns ErrEntryNotFound when none is stored at p.
func (t *TopicView) ReadAt(ctx context.Context, p wire.Position) (Entry, error) {
	if !t.Ledgers.Has(p) {
		return Entry{}, fmt.Errorf("%s %s: %w", t.Name, p, ErrEntryNotFound)
	}
	got, err := t.Read(ctx, p, 1, 1, nil)
	if err != nil || len(got) == 0 || got[0].Position != p {
		return Entry{}, firstError(err, fmt.Errorf("%s %s: %w", t.Name, p, ErrEntryNotFound))
	}
	return got[0], nil
}

// SeekTime is Topic.SeekTime on a stopped spool.
func (t *TopicView) SeekTime(ctx context.Context, ms int64) (wire.Position, error) {
	first, end := t.Ledgers.First(), t.Ledgers.last().end()
	if err := t.extend(first, end.Ledger, 1<<62); err != nil {
		return end, err
	}
	spans := t.Ledgers.spansSince(ms, first, end, 1<<62)
	return seekTime(ms, end, func(each func(Entry) error) error { return t.reader().walk(ctx, spans, each) })
}

// Cumulative returns the topic's counts of messages and bytes, ever, up to and including the entry at p.
func (t *TopicView) Cumulative(p wire.Position) (Consumed, error) {
	p, lost := t.Ledgers.lostUpTo(p)
	if c, known := t.Ledgers.known(p); known {
		return c, nil
	}
	return readCumulative(p, lost, t.HeaderAt)
}

// HeaderAt returns the header of the entry at p and the length of its data, in bytes. It returns ErrEntryNotFound when none
// is stored there, *CorruptError.
func (t *TopicView) HeaderAt(p wire.Position) (EntryHeader, int, error) {
	if err := t.extend(p, p.Ledger, 1); err != nil {
		return EntryHeader{}, 0, err
	}
	sp, err := t.Ledgers.locate(t.Name, p)
	if err != nil {
		return EntryHeader{}, 0, err
	}
	return t.reader().header(context.Background(), sp)
}

// Backlog returns a cursor's backlog: Cursor.Backlog on a stopped spool.
func (t *TopicView) Backlog(c *CursorState) Backlog { return c.Backlog(t.Ledgers) }

// Pending is Cursor.Pending on a stopped spool; the first call's `from` is wire.Earliest().
func (t *TopicView) Pending(ctx context.Context, c *CursorState, from wire.Position, maxEntries, maxBytes int, dst []PendingEntry) (out []PendingEntry, next wire.Position, err error) {
	return pending(ctx, stoppedCursor{t, c}, new([]Entry), from, maxEntries, maxBytes, dst)
}

type stoppedCursor struct {
	t *TopicView
	c *CursorState
}

func (s stoppedCursor) lock() (*CursorState, Ledgers) { return s.c, s.t.Ledgers }

func (stoppedCursor) unlock() {}

func (stoppedCursor) caughtUp() {}

func (s stoppedCursor) read(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	return s.t.Read(ctx, from, maxEntries, maxBytes, dst)
}

// Trimmable reports for each ledger whether it may go and why, as the broker would decide with the policy now.
func (t *TopicView) Trimmable(p TrimPolicy, now time.Time) []Trimmable {
	marks := make([]mark, len(t.Cursors))
	for i, c := range t.Cursors {
		marks[i] = mark{c.Name, c.MarkDelete}
	}
	return t.Ledgers.trimmable(marks, p, now)
}
