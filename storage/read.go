package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spoolctl/storage/key"
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

// span is a run of entries of one ledger in one epoch: contiguous on disk.
type span struct {
	epoch       uint64
	ledger      int64
	first, last int64 // [first, last)
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
			x, ok := l.extentAt(first)
			if !ok {
				return out
			}
			n := min(x.End(), end, first+max)
			if x.LastPublish == 0 || x.LastPublish >= since {
				out = append(out, span{x.Epoch, l.ID, first, n})
			}
			max -= n - first
			first = n
		}
	}
	return out
}

// entryReader reads entries of one topic.
type entryReader struct {
	r     pebble.Reader
	topic string
}

// errStop ends a walk early without being an error.
var errStop = errors.New("stop")

// walk calls each for every entry of the spans in order. The entry's Data is valid during the call only. An entry that is
// missing or cannot be decoded ends the walk with *CorruptError. each may return errStop.
func (er entryReader) walk(ctx context.Context, spans []span, each func(Entry) error) (err error) {
	if len(spans) == 0 {
		return nil
	}
	it, err := er.r.NewIter(nil)
	if err != nil {
		return fmt.Errorf("read %s: %w", er.topic, err)
	}
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	for _, sp := range spans {
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
			pos.Entry = id
			v, err := it.ValueAndErr()
			if err != nil {
				return er.corrupt(pos, it.Key(), err)
			}
			h, data, err := record.ParseHeader(v)
			if err != nil {
				return er.corrupt(pos, it.Key(), err)
			}
			if err := each(Entry{pos, h, data}); err != nil {
				if errors.Is(err, errStop) {
					return nil
				}
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
	}
	return nil
}

// missing says that the entries from p up to, not including, next are not there.
func (er entryReader) missing(p wire.Position, k []byte, next int64) error {
	return &CorruptError{Topic: er.topic, Position: p, Key: slices.Clone(k), Cause: fmt.Errorf("entry is missing: %w", ErrEntryNotFound), next: next}
}

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

// header reads the header of an entry that lies in an extent of the ledger, and the length of its data.
func (er entryReader) header(ledger int64, x record.Extent, entry int64) (h EntryHeader, size int, err error) {
	k := key.ForEntry(x.Epoch, ledger, entry)
	pos := wire.Position{Ledger: ledger, Entry: entry}
	found, err := get(er.r, k, func(v []byte) error {
		var data []byte
		if h, data, err = record.ParseHeader(v); err != nil {
			return er.corrupt(pos, k, err)
		}
		size = len(data)
		return nil
	})
	if err == nil && !found {
		err = er.corrupt(pos, k, fmt.Errorf("entry is missing: %w", ErrEntryNotFound))
	}
	return h, size, err
}

// locate finds the extent of a stored entry; it returns ErrEntryNotFound when none is stored at p.
func (ls Ledgers) locate(topic string, p wire.Position) (record.Extent, error) {
	if l := ls.byID(p.Ledger); l != nil && p.Entry >= 0 && p.Entry < l.Entries {
		if x, ok := l.extentAt(p.Entry); ok {
			return x, nil
		}
	}
	return record.Extent{}, fmt.Errorf("%s %s: %w", topic, p, ErrEntryNotFound)
}

// seekTime returns the position of the first entry of the spans published at ms or later, else end.
func (er entryReader) seekTime(ctx context.Context, spans []span, ms int64, end wire.Position) (wire.Position, error) {
	found := end
	err := er.walk(ctx, spans, func(e Entry) error {
		if e.Header.PublishTime >= ms {
			found = e.Position
			return errStop
		}
		return nil
	})
	return found, err
}
