package compaction

import (
	"context"
	"errors"
	"fmt"

	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/RoaringBitmap/roaring/v2"
)

// Entry is a stored entry. Data is valid during the call that it is an argument of. The header of an entry that Run emits
// is that of the original: its counts are of the batch with all of its messages, as consumers count permits, and its
// totals are of the topic.
type Entry struct {
	Position wire.Position
	Header   record.Header
	Data     []byte
}

// Source gives each the entries of a topic from a position on, in order, up to an end that stays the same, and returns the
// error that each returned. It is read several times and must give the same entries each time. A topic that was compacted
// before begins with the result of that.
type Source func(ctx context.Context, from wire.Position, each func(Entry) error) error

// Options say how a topic is compacted.
type Options struct {
	MemoryBytes   int64 // for what is known of keys; besides it, an entry is held, decompressed. Default 64 MiB
	MaxEntryBytes int   // a batch that is larger when decompressed is kept whole; default 64 MiB
	RetainNullKey bool  // messages without a key stay; Pulsar's topicCompactionRetainNullKey, off as there
	Emit          func(Entry) error
}

// Stats say what a run did.
type Stats struct {
	Entries, Messages, Bytes             int64 // of the source
	KeptEntries, KeptMessages, KeptBytes int64 // emitted; bytes without headers
	Whole                                int64 // entries kept because they could not be taken apart
	Passes                               int   // how often the source was read, wholly or from a window on
}

// ErrSourceChanged is returned when the source does not give the same entries again, as when its topic was trimmed.
var ErrSourceChanged = errors.New("the topic changed while it was compacted")

const (
	bytesPerKey = 64 // what a key takes in the selection, at worst
	maxWindow   = 1 << 31
)

// Run compacts a topic. What it emits has the positions it had, in order. An error of Emit or of the source ends it and is
// wrapped; what was emitted before an error is worth nothing.
func Run(ctx context.Context, src Source, o Options) (Stats, error) {
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = 64 << 20
	}
	if o.MaxEntryBytes <= 0 {
		o.MaxEntryBytes = 64 << 20
	}
	r := &run{src: src, o: o, decoder: decoder{maxBytes: o.MaxEntryBytes, retainNullKey: o.RetainNullKey}}
	for w := (window{next: wire.Earliest(), more: true}); w.more; {
		var err error
		if w, err = r.window(ctx, w.next); err != nil {
			return r.stats, fmt.Errorf("compact: %w", err)
		}
	}
	return r.stats, nil
}

// run is one compaction.
type run struct {
	src     Source
	o       Options
	decoder decoder
	rebuild rebuilder
	stats   Stats
}

// window is a run of entries whose messages fit into the bitmap. Messages are counted from its start.
type window struct {
	messages uint64
	more     bool          // entries follow it
	next     wire.Position // the first of them
}

// window selects and emits the messages of the window that starts at from.
func (r *run) window(ctx context.Context, from wire.Position) (window, error) {
	marks := roaring.New()
	sel := newSelection(int(max(1, r.o.MemoryBytes*3/4/bytesPerKey)))
	var w window
	for first := true; ; first = false {
		again, err := r.scan(ctx, from, func(_ Entry, at uint64, inside bool) error {
			for i := range r.decoder.messages {
				sel.observe(&r.decoder.messages[i], at+uint64(i), inside)
			}
			return nil
		})
		if err != nil {
			return w, err
		}
		if !first && again != w {
			return w, ErrSourceChanged
		}
		w = again
		sel.mark(marks, w.messages)
		if !sel.nextRange() {
			break
		}
	}
	again, err := r.scan(ctx, from, func(e Entry, at uint64, inside bool) error {
		if !inside {
			return errStop
		}
		return r.emit(e, at, marks)
	})
	if err == nil && again != w {
		err = ErrSourceChanged
	}
	return w, err
}

// errStop ends a pass early without being an error.
var errStop = errors.New("stop")

// scan takes the entries from `from` on apart and gives them to each, with the number of messages before; inside says
// whether they belong to the window. It returns the window.
func (r *run) scan(ctx context.Context, from wire.Position, each func(e Entry, at uint64, inside bool) error) (w window, err error) {
	r.stats.Passes++
	limit := uint64(max(1, min(r.o.MemoryBytes/4*8, maxWindow)))
	at := uint64(0)
	err = r.src(ctx, from, func(e Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !w.more && at >= limit {
			w.messages, w.more, w.next = at, true, e.Position
		}
		r.decoder.decode(e.Data)
		err := each(e, at, !w.more)
		at += uint64(len(r.decoder.messages))
		return err
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	if !w.more {
		w.messages = at
	}
	return w, err
}

// emit emits what stays of an entry.
func (r *run) emit(e Entry, at uint64, marks *roaring.Bitmap) error {
	d := &r.decoder
	r.stats.Entries++
	r.stats.Messages += int64(len(d.messages))
	r.stats.Bytes += int64(len(e.Data))
	stays := func(i int) bool {
		m := &d.messages[i]
		return m.kind == kept || m.kind != gone && m.kind != dropped && marks.Contains(uint32(at)+uint32(i))
	}
	n, goes := 0, 0 // how many stay, and how many go that were there
	for i := range d.messages {
		if stays(i) {
			n++
		} else if d.messages[i].kind != gone {
			goes++
		}
	}
	if n == 0 {
		return nil
	}
	whole := d.whole
	if goes > 0 {
		data, err := r.rebuild.batch(e.Data, d, stays)
		if whole = err != nil; !whole { // else its messages cannot be told apart after all
			e.Data, e.Header.Checksum = data, record.ChecksumVerified
		} else {
			n = len(d.messages)
		}
	}
	if whole {
		r.stats.Whole++
	}
	r.stats.KeptEntries++
	r.stats.KeptMessages += int64(n)
	r.stats.KeptBytes += int64(len(e.Data))
	return r.o.Emit(e)
}
