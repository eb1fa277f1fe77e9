package inspect

import (
	"bytes"
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
)

// scanPart is about how many payload bytes are read between two looks at the
// queue of parts.
const scanPart = 8 << 20

// run is a stretch of entries as an extent describes it, and what reading it
// found out.
type run struct {
	record.Extent
	ledger                    int64
	end                       int64 // entry after the last
	endMessages, endBytes     int64 // of the topic, up to the last entry
	topic                     int   // index of the topic's view
	proven                    bool  // every entry is there and right
	firstPublish, lastPublish int64 // found
}

// scanEntries reads the entries of all topics once, in the order of the disk and on
// all processors. It returns the topics whose entries it could not prove
// right; those are to be walked with care, which finds out what is wrong.
func (v *verifier) scanEntries(views []*storage.TopicView) (doubtful []*storage.TopicView, err error) {
	runs, doubt := planRuns(views)
	total, bytes := int64(0), int64(0)
	for _, r := range runs {
		total += r.end - r.First
		bytes += r.endBytes - r.StartBytes
	}
	v.total = total
	s := &scanner{ctx: v.ctx, r: v.s.spool.Reader(), parts: cutRuns(runs)}
	if err := s.work(func(done int64) { v.progress("entries", done, total) }); err != nil {
		return nil, err
	}
	for i := range runs {
		if !runs[i].proven {
			doubt[runs[i].topic] = true
		}
	}
	if !v.s.rescued { // else what was read is a copy
		v.proven = slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return !r.proven })
	}
	v.publishTimes(views, runs, doubt)
	for i := range runs {
		if r := &runs[i]; !doubt[r.topic] {
			v.out.Entries += r.end - r.First
			v.out.Messages += r.endMessages - r.StartMessages
			v.out.Bytes += r.endBytes - r.StartBytes
		}
	}
	for i, t := range views {
		if doubt[i] {
			doubtful = append(doubtful, t)
		}
	}
	return doubtful, nil
}

// seen reports whether a data block was read by scanEntries, with its checksum:
// all its keys, which are above after and at most last, are in one run that was
// found right.
func (v *verifier) seen(after, last []byte) bool {
	var buf [key.EntryLen]byte
	k := func(r *run, entry int64) []byte {
		key.PutEntry(buf[:], r.Epoch, r.ledger, entry)
		return buf[:]
	}
	i := sort.Search(len(v.proven), func(i int) bool { r := &v.proven[i]; return bytes.Compare(k(r, r.First), after) > 0 })
	if i == 0 {
		return false
	}
	r := &v.proven[i-1]
	return bytes.Compare(last, k(r, r.end)) < 0
}

// planRuns lists the extents of all topics in the order of the disk. Topics
// whose ledgers' records do not add up are doubtful from the start.
func planRuns(views []*storage.TopicView) (runs []run, doubt []bool) {
	doubt = make([]bool, len(views))
	for ti, t := range views {
		for _, l := range t.Ledgers {
			have := int64(0)
			for i, x := range l.Extents {
				r := run{Extent: x, ledger: l.ID, topic: ti, end: min(x.End(), l.Entries), endMessages: l.StartMessages + l.Messages, endBytes: l.StartBytes + l.Bytes}
				if i+1 < len(l.Extents) {
					r.endMessages, r.endBytes = l.Extents[i+1].StartMessages, l.Extents[i+1].StartBytes
				}
				doubt[ti] = doubt[ti] || x.First != have
				have = x.End()
				if r.end > r.First {
					runs = append(runs, r)
				}
			}
			if have != l.Entries && !l.LocalDeleted {
				doubt[ti] = true
			}
		}
	}
	slices.SortFunc(runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.ledger, b.ledger), cmp.Compare(a.First, b.First))
	})
	return runs, doubt
}

// cutRuns cuts runs into parts of about scanPart bytes each.
func cutRuns(runs []run) (parts [][]run) {
	first, size := 0, int64(0)
	for i := range runs {
		if size += runs[i].endBytes - runs[i].StartBytes; size >= scanPart || i == len(runs)-1 {
			parts = append(parts, runs[first:i+1])
			first, size = i+1, 0
		}
	}
	return parts
}

// publishTimes compares what was found with the records of closed ledgers.
func (v *verifier) publishTimes(views []*storage.TopicView, runs []run, doubt []bool) {
	type span struct{ first, last int64 }
	found := map[int64]span{}
	for i := range runs {
		r := &runs[i]
		f, ok := found[r.ledger]
		if !ok {
			f = span{r.firstPublish, r.lastPublish}
		}
		found[r.ledger] = span{min(f.first, r.firstPublish), max(f.last, r.lastPublish)}
	}
	for i, t := range views {
		for _, l := range t.Ledgers {
			f, ok := found[l.ID]
			if ok && l.State == record.LedgerClosed && !v.s.source.Damaged && (f.first != l.FirstPublish || f.last != l.LastPublish) {
				doubt[i] = true
			}
		}
	}
}

// scanner reads parts with one iterator for each processor.
type scanner struct {
	ctx   context.Context
	r     pebble.Reader
	parts [][]run
	its   chan *pebble.Iterator // those that are free
	done  atomic.Int64          // entries
}

// work reads all parts. The error is only that ctx has ended.
func (s *scanner) work(progress func(done int64)) error {
	s.its = make(chan *pebble.Iterator, runtime.GOMAXPROCS(0))
	for range cap(s.its) {
		it, err := s.r.NewIterWithContext(s.ctx, nil)
		if err != nil {
			break // nothing is proven
		}
		s.its <- it
	}
	if len(s.its) < cap(s.its) {
		s.parts = nil
	}
	err := inParallel(s.ctx, len(s.parts), func(i int) {
		it := <-s.its
		s.part(it, s.parts[i])
		s.its <- it
	}, func(int64) { progress(s.done.Load()) })
	for range len(s.its) {
		_ = (<-s.its).Close() // what it met is not proven
	}
	return err
}

// inParallel calls each for 0 to n-1 on all processors, and progress now and
// then from the caller's goroutine. It returns when all is done, or with the
// error of ctx.
func inParallel(ctx context.Context, n int, each func(i int), progress func(done int64)) error {
	var next, done atomic.Int64
	work := func(progress func(int64)) {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			each(i)
			progress(done.Add(1))
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wg.Go(func() { work(func(int64) {}) })
	}
	work(progress)
	wg.Wait()
	return ctx.Err()
}

// part reads runs that follow each other on disk.
func (s *scanner) part(it *pebble.Iterator, runs []run) {
	last := &runs[len(runs)-1]
	it.SetBounds(key.ForEntry(runs[0].Epoch, runs[0].ledger, runs[0].First), key.ForEntry(last.Epoch, last.ledger, last.end))
	ok := it.First()
	want := make([]byte, key.EntryLen)
	for i := range runs {
		r := &runs[i]
		key.PutEntry(want, r.Epoch, r.ledger, r.First)
		if ok && bytes.Compare(it.Key(), want) < 0 { // entries of no topic
			ok = it.SeekGE(want)
		}
		if ok = r.read(it, ok, want); !ok && it.Error() != nil {
			return
		}
		s.done.Add(r.end - r.First)
		if s.ctx.Err() != nil {
			return
		}
	}
}

// read proves the entries of a run, from the first on which the iterator
// stands. It leaves the iterator behind them.
func (r *run) read(it *pebble.Iterator, ok bool, want []byte) bool {
	r.firstPublish, r.lastPublish = 1<<62, 0
	messages, size := r.StartMessages, r.StartBytes
	right := true
	for id := r.First; id < r.end && right; id++ {
		key.PutEntry(want, r.Epoch, r.ledger, id)
		if !ok || !bytes.Equal(it.Key(), want) {
			return ok
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return ok
		}
		h, data, err := record.ParseHeader(v)
		if err != nil {
			return ok
		}
		messages += int64(h.Messages)
		size += int64(len(data))
		right = h.Messages > 0 && h.TotalMessages == messages && h.TotalBytes == size && sound(h, data)
		r.firstPublish, r.lastPublish = min(r.firstPublish, h.PublishTime), max(r.lastPublish, h.PublishTime)
		ok = it.Next()
	}
	r.proven = right && messages == r.endMessages && size == r.endBytes
	return ok
}

// sound reports whether an entry is what a producer sends, and agrees with its
// header.
func sound(h storage.EntryHeader, data []byte) bool {
	d := decodeEntry(storage.Entry{Data: data})
	return d.err == nil && d.parts.Verify() == nil && int64(d.meta.PublishTime) == h.PublishTime &&
		(d.meta.NumMessages == h.Messages || d.meta.HasMarker)
}
