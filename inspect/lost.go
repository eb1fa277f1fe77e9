package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// lostEntries is what is known about entries that cannot be read, so that
// each stretch is noted once and no bad block is read again and again: Pebble
// takes about a second to look for the flipped bit of one.
type lostEntries struct {
	files map[string]bool // tables that were looked through
	keys  []lostKeys
	noted []lostSpan
}

type lostKeys struct {
	damage.BadKeys
	file string
}

// lostSpan is a stretch of entries of one ledger, [first, end).
type lostSpan struct{ ledger, first, end int64 }

func (l *lostEntries) isNoted(span lostSpan) bool {
	return slices.ContainsFunc(l.noted, func(n lostSpan) bool {
		return n.ledger == span.ledger && n.first <= span.first && span.end <= n.end
	})
}

// keyAt is the key of the entry at p, nil when no extent holds it.
func keyAt(t *storage.TopicView, p wire.Position) []byte {
	for _, l := range t.Ledgers {
		if l.ID != p.Ledger {
			continue
		}
		for _, x := range l.Extents {
			if x.First <= p.Entry && p.Entry < x.End() {
				return key.ForEntry(x.Epoch, p.Ledger, p.Entry)
			}
		}
	}
	return nil
}

// holding returns the lost stretch that k is in.
func (l *lostEntries) holding(k []byte) (lostKeys, bool) {
	for _, b := range l.keys {
		if (b.After == nil || bytes.Compare(k, b.After) > 0) && bytes.Compare(k, b.Last) <= 0 {
			return b, true
		}
	}
	return lostKeys{}, false
}

// learn looks through the tables that Pebble has found damaged since.
func (s *Session) learn() {
	for _, c := range s.spool.Corruptions() {
		if s.lost.files[c.Path] {
			continue
		}
		if s.lost.files == nil {
			s.lost.files = map[string]bool{}
		}
		s.lost.files[c.Path] = true
		bad, err := damage.FindBadKeys(s.o.FS, c.Path)
		if err != nil {
			continue // without it the way past the damage is only slower
		}
		for _, b := range bad {
			s.lost.keys = append(s.lost.keys, lostKeys{b, s.o.FS.PathJoin(storage.StoreDir, s.o.FS.PathBase(c.Path))})
		}
	}
}

// readAt is storage.TopicView.ReadAt without reading what is known to be lost.
func (s *Session) readAt(ctx context.Context, t *storage.TopicView, p wire.Position) (storage.Entry, error) {
	if err := s.knownLost(t, p); err != nil {
		return storage.Entry{}, err
	}
	e, err := t.ReadAt(ctx, p)
	if err != nil {
		s.learn()
	}
	return e, err
}

// headerAt is storage.TopicView.HeaderAt without reading what is known to be lost.
func (s *Session) headerAt(ctx context.Context, t *storage.TopicView, p wire.Position) (storage.EntryHeader, error) {
	if err := errors.Join(ctx.Err(), s.knownLost(t, p)); err != nil {
		return storage.EntryHeader{}, err
	}
	h, _, err := t.HeaderAt(p)
	if err != nil {
		s.learn()
	}
	return h, err
}

func (s *Session) knownLost(t *storage.TopicView, p wire.Position) error {
	if k := keyAt(t, p); k != nil {
		if b, lost := s.lost.holding(k); lost {
			return &storage.CorruptError{Topic: t.Name, Position: p, Key: k, Cause: fmt.Errorf("%s cannot be read at byte %d", b.file, b.Offset)}
		}
	}
	return nil
}

// walk calls each for the stored entries of t in [from, to), like
// storage.TopicView.Walk, but steps over entries that cannot be read and notes
// them as problems.
func (s *Session) walk(ctx context.Context, t *storage.TopicView, from, to wire.Position, each func(storage.Entry) (bool, error)) error {
	return s.walkSettled(ctx, t, from, to, each, func() bool { return true })
}

// walkSettled is walk that calls settle before it notes a problem, and ends
// when settle wants no more.
func (s *Session) walkSettled(ctx context.Context, t *storage.TopicView, from, to wire.Position, each func(storage.Entry) (bool, error), settle func() bool) error {
	for {
		err := t.Walk(ctx, from, to, each)
		if err != nil && !settle() {
			return nil
		}
		away := new(storage.OffloadedError)
		if errors.As(err, &away) {
			if from = s.skipOffloaded(t, away); !from.Less(to) {
				return nil
			}
			continue
		}
		bad := new(storage.CorruptError)
		if err == nil || !errors.As(err, &bad) || bad.Topic == "" || bad.Position.Less(from) {
			return err
		}
		next := s.skip(t, bad.Position, bad.Cause)
		if !next.Less(to) || !bad.Position.Less(next) {
			return nil
		}
		from = next
	}
}

// skip notes that the entry at p cannot be read, with those behind it that
// cannot either, and returns the next position that can be, or the place after
// the last entry.
func (s *Session) skip(t *storage.TopicView, p wire.Position, cause error) wire.Position {
	if away := new(storage.OffloadedError); errors.As(cause, &away) {
		return s.skipOffloaded(t, away)
	}
	next, inObject := behindObject(t, p, cause)
	if !inObject {
		s.learn()
		next = s.nextReadable(t, p)
	}
	for _, l := range t.Ledgers {
		if l.ID < p.Ledger || l.ID > next.Ledger {
			continue
		}
		span := lostSpan{l.ID, 0, l.Entries}
		if l.ID == p.Ledger {
			span.first = p.Entry
		}
		if l.ID == next.Ledger {
			span.end = next.Entry
		}
		s.note(t, span, cause)
	}
	return next
}

// note adds a stretch of lost entries to the problems, once.
func (s *Session) note(t *storage.TopicView, span lostSpan, cause error) {
	if span.first >= span.end {
		return
	}
	if s.lost.isNoted(span) {
		return
	}
	s.lost.noted = append(s.lost.noted, span)
	n := span.end - span.first
	first := wire.Position{Ledger: span.ledger, Entry: span.first}
	which := "entry " + first.String()
	if n > 1 {
		which = fmt.Sprintf("entries %s to %s", first, wire.Position{Ledger: span.ledger, Entry: span.end - 1})
	}
	p := damage.Problem{
		What:    fmt.Sprintf("%s: %s cannot be read: %s", t.Name, which, firstLine(cause)),
		Ledgers: []int64{span.ledger}, Lost: &n,
	}
	if k := keyAt(t, first); k != nil {
		if b, ok := s.lost.holding(k); ok {
			p.File, p.Offset, p.Length = b.file, &b.Offset, &b.Length
		}
	}
	s.problem(p)
}

// nextReadable finds the first position after p whose entry can be read.
func (s *Session) nextReadable(t *storage.TopicView, p wire.Position) wire.Position {
	for _, l := range t.Ledgers {
		if l.ID < p.Ledger {
			continue
		}
		if l.LocalDeleted && l.ID > p.Ledger {
			return wire.Position{Ledger: l.ID}
		}
		for _, x := range l.Extents {
			first, end := x.First, min(x.End(), l.Entries)
			if l.ID == p.Ledger {
				first = max(first, p.Entry+1)
			}
			if first >= end {
				continue
			}
			if e, ok := s.firstEntry(x.Epoch, l.ID, first, end); ok {
				return wire.Position{Ledger: l.ID, Entry: e}
			}
		}
	}
	return t.Ledgers.Next(t.Ledgers.LastConfirmed())
}

// firstEntry finds the first readable entry in [first, end) of a run: behind
// the blocks that are known to be bad, and behind one that is not in growing
// steps and then back.
func (s *Session) firstEntry(epoch uint64, ledger, first, end int64) (int64, bool) {
	from := key.ForEntry(epoch, ledger, first)
	for b, lost := s.lost.holding(from); lost; b, lost = s.lost.holding(from) {
		from = append(bytes.Clone(b.Last), 0)
	}
	upper := key.ForEntry(epoch, ledger, end)
	if bytes.Compare(from, upper) >= 0 {
		return 0, false
	}
	it, err := s.spool.Reader().NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: upper})
	if err != nil {
		return 0, false
	}
	defer func() { _ = it.Close() }() // its errors were met while iterating
	ok := it.First()
	for step := int64(1); !ok; step *= 2 {
		if it.Error() == nil || first+step/2 >= end-1 {
			return 0, false
		}
		ok = it.SeekGE(key.ForEntry(epoch, ledger, min(first+step, end-1)))
	}
	_, _, found, err := key.ParseEntry(it.Key())
	if err != nil {
		return 0, false
	}
	for it.Prev() {
		if _, _, e, err := key.ParseEntry(it.Key()); err == nil {
			found = e
		}
	}
	return found, true
}
