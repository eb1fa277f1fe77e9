package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/offload"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// Where the entries of a ledger are.
const (
	InSpool    = "spool"
	InBoth     = "spool and object"
	InObject   = "object"
	notInSpool = "in object storage only, and no bucket is named"
)

// whereIs tells where a ledger's entries are.
func whereIs(l *storage.Ledger) string {
	switch {
	case l.LocalDeleted:
		return InObject
	case l.Object != "":
		return InBoth
	}
	return InSpool
}

// bucket is the object store as storage is to see it: an object that is missing
// is one that has lost all its bytes, so that it is damage of one ledger and
// not the end of an answer.
type bucket struct{ offload.Bucket }

// ReadAt implements offload.Bucket.
func (b bucket) ReadAt(ctx context.Context, name string, p []byte, offset int64) error {
	err := b.Bucket.ReadAt(ctx, name, p, offset)
	if errors.Is(err, offload.ErrMissing) {
		return missingObject{err}
	}
	return err
}

// missingObject is also an io.ErrUnexpectedEOF.
type missingObject struct{ error }

func (missingObject) Is(target error) bool { return target == io.ErrUnexpectedEOF }

func (e missingObject) Unwrap() error { return e.error }

// bucket is nil without an object store.
func (s *Session) bucket() offload.Bucket {
	if s.o.Bucket == nil {
		return nil
	}
	return bucket{s.o.Bucket}
}

// Away reports whether an answer left out entries because they are in object
// storage and Options.Bucket is nil.
func (s *Session) Away() bool { return s.away }

// skipOffloaded notes that a ledger's entries are not in the spool, once, and
// returns the position behind them.
func (s *Session) skipOffloaded(t *storage.TopicView, away *storage.OffloadedError) wire.Position {
	s.away = true
	for _, l := range t.Ledgers {
		if span := (lostSpan{l.ID, 0, l.Entries}); l.ID == away.Ledger && !s.lost.isNoted(span) {
			s.lost.noted = append(s.lost.noted, span)
			s.problem(damage.Problem{Ledgers: []int64{l.ID},
				What: fmt.Sprintf("%s: the %s of ledger %d are %s: object %s", t.Name, entries(l.Entries), l.ID, notInSpool, l.Object)})
		}
	}
	return t.Ledgers.Normal(wire.Position{Ledger: away.Ledger + 1})
}

func entries(n int64) string {
	if n == 1 {
		return "one entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// behindObject is the place behind what cannot be read of an object from p on;
// ok is false when the entry at p is in the spool.
func behindObject(t *storage.TopicView, p wire.Position, cause error) (next wire.Position, ok bool) {
	for _, l := range t.Ledgers {
		if l.ID != p.Ledger || !l.LocalDeleted {
			continue
		}
		next = wire.Position{Ledger: p.Ledger, Entry: p.Entry + 1}
		if bad := new(offload.DamagedError); errors.As(cause, &bad) {
			next.Entry = max(next.Entry, min(bad.Next, l.Entries))
		}
		return t.Ledgers.Normal(next), true
	}
	return p, false
}

// publishedByRecord is the publish time of an offloaded entry as far as the
// ledger's record tells: zero when it does not.
func publishedByRecord(t *storage.TopicView, p wire.Position) time.Time {
	for _, l := range t.Ledgers {
		if l.ID == p.Ledger && p.Entry == 0 {
			return fromMillis(l.FirstPublish)
		}
	}
	return time.Time{}
}

// objects checks the entries of every object that a ledger has.
func (v *verifier) objects() error {
	if v.o.Fast || v.s.o.Bucket == nil {
		return nil
	}
	return v.eachReadable((*storage.Spool).Brief, func(t *storage.TopicView) error {
		for _, l := range t.Ledgers {
			if l.Object == "" {
				continue
			}
			if err := v.object(t, l); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachReadable calls each for the topics that can be loaded; the others were
// found before.
func (v *verifier) eachReadable(read func(*storage.Spool, uint64) (*storage.TopicView, error), each func(*storage.TopicView) error) error {
	heads, err := v.s.heads(v.ctx)
	if err != nil {
		return err
	}
	for _, h := range heads {
		t, err := read(v.s.spool, h.ID)
		if err == nil {
			err = each(t)
		} else if isDamage(err) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// object reads one object from end to end. It counts its entries unless they
// were read in the spool.
func (v *verifier) object(t *storage.TopicView, l *storage.Ledger) error {
	counted := *v.out
	w := &entryChecks{v: v, t: t}
	for from := int64(0); from < l.Entries; {
		err := v.readObject(l, from, func(e storage.Entry) error {
			from = e.Position.Entry + 1
			_, err := w.entry(e)
			return errors.Join(err, v.ctx.Err())
		})
		switch bad := new(offload.DamagedError); {
		case err == nil:
			from = l.Entries
		case !errors.As(err, &bad):
			return err
		default:
			v.add(Finding{Check: CheckObjects, Topic: t.Name, Position: wire.Position{Ledger: l.ID, Entry: from}.String(), File: l.Object, Offset: &bad.Offset,
				What: fmt.Sprintf("entries %d to %d of ledger %d cannot be read: %s", from, bad.Next-1, l.ID, firstLine(bad))})
			w.gap, from = true, max(from+1, bad.Next)
		}
	}
	w.ledgerEnd()
	if l.LocalDeleted {
		v.out.Offloaded -= l.Entries
	} else {
		v.out.Entries, v.out.Messages, v.out.Bytes = counted.Entries, counted.Messages, counted.Bytes
	}
	return nil
}

func (v *verifier) readObject(l *storage.Ledger, from int64, each func(storage.Entry) error) error {
	ref := offload.Ref{Spool: v.s.source.UUID, Ledger: l.ID, Entries: l.Entries}
	r, err := offload.Open(v.ctx, offload.OpenOptions{Bucket: v.s.bucket(), Object: offload.Object{Ref: ref, Name: l.Object, Size: l.ObjectBytes}})
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Read(v.ctx, from, int(l.Entries-from), math.MaxInt, func(id int64, value []byte) error {
		h, data, err := record.ParseHeader(value)
		if err != nil {
			v.find(CheckObjects, "", wire.Position{Ledger: l.ID, Entry: id}.String(), "%s: %s", l.Object, firstLine(err))
			return nil
		}
		return each(storage.Entry{Position: wire.Position{Ledger: l.ID, Entry: id}, Header: h, Data: data})
	})
}
