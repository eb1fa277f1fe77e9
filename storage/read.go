package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spoolctl/storage/key"
	"spoolctl/storage/offload"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// EntryHeader is what the store keeps before each entry.
type EntryHeader = record.Header

// Entry is one stored publish. Data is what the producer sent, from the checksum magic on; it is never changed and may be
// kept.
type Entry struct {
	Position wire.Position
	Header   EntryHeader
	Data     []byte
}

// span is a run of entries of one ledger in one epoch, contiguous on disk, or in an object.
type span struct {
	epoch       uint64
	ledger      int64
	first, last int64 // [first, last)
	object      *offload.Object
}

// spans returns the runs that hold at most max entries from `from` on and before `to`.
func (ls Ledgers) spans(from, to wire.Position, max int64) []span {
	return ls.spansSince(0, from, to, max)
}

// spansSince is spans without the runs of which it is known that all was published before since (ms).
func (ls Ledgers) spansSince(since int64, from, to wire.Position, max int64) (out []span) {
	for i := ls.find(from.Ledger); i < len(ls) && max > 0; i++ {
		l := ls[i]
		first, end := int64(0), l.Entries
		if l.ID == from.Ledger {
			first = from.Entry
		}
		if l.ID > to.Ledger {
			return out
		}
		if l.ID == to.Ledger {
			end = min(end, to.Entry)
		}
		for first < end && max > 0 {
			lost, follows := l.lostFrom(first)
			if follows && lost.First <= first {
				first = lost.Last + 1
				continue
			}
			sp, published, ok := l.spanAt(first)
			if !ok {
				return out
			}
			sp.last = min(sp.last, end, first+max)
			if follows {
				sp.last = min(sp.last, lost.First)
			}
			if published == 0 || published >= since {
				out = append(out, sp)
			}
			max -= sp.last - first
			first = sp.last
		}
	}
	return out
}

// spanAt returns the run that holds the entry, from there on, and the largest publish time in it, 0 when not known. What is
// here is read here, also when an object has it too.
func (l *Ledger) spanAt(entry int64) (sp span, published int64, ok bool) {
	if p, end, ok := l.partAt(entry); ok {
		return span{epoch: p.epoch, ledger: l.ID, first: entry, last: end}, p.lastPublish, true
	}
	if l.Object == "" {
		return span{}, 0, false
	}
	return span{ledger: l.ID, first: entry, last: l.Entries, object: l.object()}, l.LastPublish, true
}

// entryReader reads entries of one topic.
type entryReader struct {
	r       pebble.Reader
	objects *objects // nil: offloaded entries cannot be read
	topic   string
}

// errStop ends a walk early without being an error.
var errStop = errors.New("stop")

// walk calls each for every entry of the spans in order. The entry's Data is valid during the call only. An entry that is
// missing or cannot be decoded ends the walk with *CorruptError. each may return errStop.
func (er entryReader) walk(ctx context.Context, spans []span, each func(Entry) error) (err error) {
	var it *pebble.Iterator
	defer func() {
		if it != nil {
			err = firstError(err, it.Close())
		}
	}()
	for _, sp := range spans {
		if sp.object != nil {
			err = er.walkObject(ctx, sp, each)
		} else {
			if it == nil {
				if it, err = er.r.NewIter(nil); err != nil {
					return fmt.Errorf("read %s: %w", er.topic, err)
				}
			}
			err = er.walkStored(ctx, it, sp, each)
		}
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (er entryReader) walkStored(ctx context.Context, it *pebble.Iterator, sp span, each func(Entry) error) error {
	it.SetBounds(key.ForEntry(sp.epoch, sp.ledger, sp.first), key.ForEntry(sp.epoch, sp.ledger, sp.last))
	want := sp.first
	for ok := it.First(); ok; ok = it.Next() {
		if want&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		_, _, id, err := key.ParseEntry(it.Key())
		pos := wire.Position{Ledger: sp.ledger, Entry: want}
		if err == nil && id != want {
			return er.missing(pos, it.Key(), id)
		}
		if err != nil {
			return er.corrupt(pos, it.Key(), err)
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return er.corrupt(pos, it.Key(), err)
		}
		h, data, err := record.ParseHeader(v)
		if err != nil {
			return er.corrupt(pos, it.Key(), err)
		}
		if err := each(Entry{pos, h, data}); err != nil {
			return err
		}
		want = id + 1
	}
	if err := it.Error(); err != nil {
		return er.corrupt(wire.Position{Ledger: sp.ledger, Entry: want}, nil, err)
	}
	if want != sp.last {
		return er.missing(wire.Position{Ledger: sp.ledger, Entry: want}, key.ForEntry(sp.epoch, sp.ledger, want), sp.last)
	}
	return nil
}

// missing says that the entries from p up to, not including, next are not there.
func (er entryReader) missing(p wire.Position, k []byte, next int64) error {
	return &CorruptError{Topic: er.topic, Position: p, Key: slices.Clone(k), Cause: missingError{}, next: next}
}

// missingError is an ErrEntryNotFound of an entry that must be there.
type missingError struct{}

func (missingError) Error() string { return "it is missing" }

func (missingError) Unwrap() error { return ErrEntryNotFound }

func (er entryReader) corrupt(p wire.Position, k []byte, cause error) error {
	return &CorruptError{Topic: er.topic, Position: p, Key: slices.Clone(k), Cause: cause}
}

// read appends copies of the spans' entries to dst until maxBytes of payload are passed.
func (er entryReader) read(ctx context.Context, spans []span, maxBytes int, dst []Entry) ([]Entry, error) {
	total := 0
	var chunk []byte
	err := er.walk(ctx, spans, func(e Entry) error {
		if len(chunk)+len(e.Data) > cap(chunk) {
			chunk = make([]byte, 0, max(readChunk, len(e.Data)))
		}
		n := len(chunk)
		chunk = append(chunk, e.Data...)
		e.Data = chunk[n:len(chunk):len(chunk)]
		dst = append(dst, e)
		if total += len(e.Data); total >= maxBytes {
			return errStop
		}
		return nil
	})
	return dst, err
}

// readChunk is how much memory a read takes at a time, so that entries cost no allocation each.
const readChunk = 128 << 10

// header reads the header of the span's first entry, and the length of its data.
func (er entryReader) header(ctx context.Context, sp span) (h EntryHeader, size int, err error) {
	if sp.object != nil {
		sp.last = sp.first + 1
		err = er.walkObject(ctx, sp, func(e Entry) error {
			h, size = e.Header, len(e.Data)
			return nil
		})
		return h, size, err
	}
	k := key.ForEntry(sp.epoch, sp.ledger, sp.first)
	pos := wire.Position{Ledger: sp.ledger, Entry: sp.first}
	found, err := get(er.r, k, func(v []byte) (err error) {
		var data []byte
		h, data, err = record.ParseHeader(v)
		size = len(data)
		return err
	})
	switch {
	case err != nil:
		err = er.corrupt(pos, k, err)
	case !found:
		err = er.corrupt(pos, k, missingError{})
	}
	return h, size, err
}

// locate finds the run that begins with a stored entry; it returns ErrEntryNotFound when none is stored at p.
func (ls Ledgers) locate(topic string, p wire.Position) (span, error) {
	if l := ls.byID(p.Ledger); l != nil && p.Entry >= 0 && p.Entry < l.Entries && !l.lost(p.Entry) {
		if sp, _, ok := l.spanAt(p.Entry); ok {
			return sp, nil
		}
	}
	return span{}, fmt.Errorf("%s %s: %w", topic, p, ErrEntryNotFound)
}

// seekTime returns the position of the first entry of a walk that was published at ms or later, else end.
func seekTime(ms int64, end wire.Position, walk func(each func(Entry) error) error) (wire.Position, error) {
	found := end
	err := walk(func(e Entry) error {
		if e.Header.PublishTime >= ms {
			found = e.Position
			return errStop
		}
		return nil
	})
	return found, err
}
