package storage

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
)

// batch is one commit batch: all of its operations become durable together.
type batch struct {
	*pebble.Batch
	epoch   uint64
	ops     int
	entries int
	bytes   int64
	usesIDs bool
	sync    bool // it is durable when fsynced, not before

	producers []*ProducerState // of entries in it
	steps     []step           // what to report, in the order of the queue
	garbage   []Garbage
	failed    error     // why it could not be applied
	queued    time.Time // when its first operation was queued, at the latest
}

// step is one report of a batch's result: to a topic about a run of entries, or to a cursor and whoever waits for it, or
// to whoever waits for a control operation. A run stands where its first entry was queued, so a ledger's creation is
// reported before its entries.
type step struct {
	run   *run
	twice *op // an entry that is stored already
	flush cursorFlush
	done  func(error) // may be nil
	err   error       // the operation could not become part of its batch
}

// run is the entries of one topic's ledger in a batch.
type run struct {
	topic  *Topic
	ledger *writer
	items  []Appended
	err    error // they were refused and are not in the batch
}

// committer turns the queue into batches: one goroutine builds and applies them, one waits for their fsync and completes
// them in order. It never waits to collect more: the fsync in flight is the collection window.
type committer struct {
	s        *Store
	pending  []op      // taken from the queue, not yet in a batch
	taken    []op      // backing of pending
	since    time.Time // when the first of pending was queued
	inFlight chan *batch
	wg       sync.WaitGroup

	epoch      uint64
	epochBytes uint64
	unflushed  []<-chan struct{} // of the newest epochs, oldest first: closed when flushed
	maxEpoch   uint64
	writers    []*writer          // whose extents belong to the current epoch
	forgotten  map[int64]struct{} // ledgers of these that were deleted
	freeRuns   sync.Pool
	runs       []*run // of the batch that is being applied
}

// restShare is which part of an epoch is worth tables of its own when nothing more comes for a while.
const restShare = 5

// entryOverhead is about what an operation costs in a memtable beside its key and value.
const entryOverhead = 64

func newCommitter(s *Store, epoch uint64) *committer {
	return &committer{
		s: s, epoch: epoch,
		// The last batch of an epoch must still fit into its memtable.
		maxEpoch:  s.opt.MemTableBytes/10*9 - min(maxBatchBytes, s.opt.MemTableBytes/2),
		inFlight:  make(chan *batch, maxInFlight),
		forgotten: map[int64]struct{}{},
		freeRuns:  sync.Pool{New: func() any { return new(run) }},
	}
}

func (c *committer) start() {
	c.wg.Add(2)
	go func() {
		defer c.wg.Done()
		defer close(c.inFlight)
		for c.next() {
		}
	}()
	go func() {
		defer c.wg.Done()
		for b := range c.inFlight {
			c.complete(b)
		}
	}()
}

// next builds and applies one batch; it returns false when the queue is closed and empty.
func (c *committer) next() bool {
	if len(c.pending) == 0 {
		var ok bool
		if c.taken, c.since, ok = c.s.queue.take(c.taken); !ok {
			return false
		}
		c.pending = c.taken
	}
	b := &batch{Batch: c.s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(4 << 20)), queued: c.since}
	// A store that rests gives the memory of a memtable back, and has little to replay after a kill.
	rest := c.pending[0].kind == opRest && c.epochBytes >= c.maxEpoch/restShare
	if (rest || c.epochBytes >= c.maxEpoch) && c.s.fence.err() == nil {
		c.endEpoch(b)
	}
	b.epoch = c.epoch
	for len(c.pending) > 0 && b.ops < maxBatchOps && (b.bytes == 0 || b.bytes+int64(len(c.pending[0].item.Data)) <= maxBatchBytes) {
		c.add(b, &c.pending[0])
		c.pending[0] = op{} // the entry's memory must not live as long as the queue's array
		c.pending = c.pending[1:]
	}
	c.apply(b)
	return true
}

// endEpoch begins the next epoch in b, which records the extents of the one that ends. The flush makes the epoch's tables
// start and end with it, so that tables of entries never overlap and are never compacted again.
func (c *committer) endEpoch(b *batch) {
	if err := c.recordExtents(b.Batch); err != nil {
		c.s.unhealthy(err)
		return
	}
	flushed, err := c.s.db.AsyncFlush()
	if err != nil {
		c.s.unhealthy(fmt.Errorf("flush at the end of an epoch: %w", err))
	} else {
		c.unflushed = append(c.unflushed, flushed)
		c.s.flusher.epochEnded(c.epoch, flushed)
	}
	// Memory is bounded here and not by Pebble, whose own wait would not end when flushes cannot succeed any more.
	for len(c.unflushed) > maxUnflushed {
		select {
		case <-c.unflushed[0]:
			c.unflushed = c.unflushed[1:]
		case <-c.s.fence.isShut:
			c.unflushed = nil
		}
	}
	c.epoch++
	c.epochBytes = 0
	clear(c.writers)
	c.writers = c.writers[:0]
	clear(c.forgotten)
}

func (c *committer) recordExtents(b *pebble.Batch) error {
	var buf []byte
	for _, w := range c.writers {
		if _, gone := c.forgotten[w.id]; gone {
			continue
		}
		buf = w.extent.Append(buf[:0])
		if err := b.Set(key.ForExtent(w.id, w.extent.First), buf, nil); err != nil {
			return err
		}
	}
	return setMeta(b, metaEpoch, c.epoch)
}

// forgetLedger drops the current epoch's extent of a ledger that is being deleted.
func (c *committer) forgetLedger(id int64) { c.forgotten[id] = struct{}{} }

func (c *committer) add(b *batch, o *op) {
	b.ops++
	if o.kind == opCursor || o.kind == opControl {
		b.sync = b.sync || c.s.opt.Sync == SyncBatch
	}
	switch o.kind {
	case opAppend:
		c.addEntry(b, o)
	case opDuplicate:
		twice := *o
		o.ledger.batch = nil // what is queued behind it is reported behind it
		b.steps = append(b.steps, step{twice: &twice})
	case opCursor:
		flush, err := o.cursor.flushInto(b.Batch)
		b.steps = append(b.steps, step{flush: flush, done: o.done, err: err})
	case opControl:
		b.steps = append(b.steps, step{done: o.done, err: o.apply(b)})
	}
}

func (c *committer) addEntry(b *batch, o *op) {
	w, item := o.ledger, &o.item
	if w.stopped || c.s.queue.late(o.at) {
		c.refuse(b, w, item)
		return
	}
	b.sync = b.sync || o.force
	if item.numbered() {
		item.Producer.note(b, &item.Append, c.s.opt.Now())
	}
	b.entries++
	b.bytes += int64(len(item.Data))
	c.report(b, w, item, nil)
}

// storeRuns adds the entries to b, ledger by ledger: neighbours are found fast in the memtable, and the order on disk between
// topics means nothing.
func (c *committer) storeRuns(b *batch) {
	c.runs = c.runs[:0]
	for i := range b.steps {
		if r := b.steps[i].run; r != nil && r.err == nil {
			c.runs = append(c.runs, r)
		}
	}
	slices.SortStableFunc(c.runs, func(x, y *run) int { return cmp.Compare(x.ledger.id, y.ledger.id) })
	for _, r := range c.runs {
		for i := range r.items {
			item := &r.items[i]
			c.store(b, r.ledger, item.Position.Entry, &item.Header, item.Data)
		}
	}
	clear(c.runs)
}

// store adds an entry of w's ledger to b.
func (c *committer) store(b *batch, w *writer, entry int64, header *EntryHeader, data []byte) {
	var hdr [record.MaxHeaderLen]byte
	h := record.AppendHeader(hdr[:0], *header)
	d := b.SetDeferred(key.EntryLen, len(h)+len(data))
	key.PutEntry(d.Key, c.epoch, w.id, entry)
	copy(d.Value[copy(d.Value, h):], data)
	if err := d.Finish(); err != nil {
		c.s.unhealthy(err)
	}
	x := &w.extent
	if x.Epoch != c.epoch {
		*x = extentFrom(c.epoch, entry, header, len(data))
		c.writers = append(c.writers, w)
	}
	x.Count++
	x.Published(header.PublishTime)
}

// refuse leaves an entry out of b that waited too long, or that stands behind such a one in its ledger. The topic goes on
// in a new ledger.
func (c *committer) refuse(b *batch, w *writer, item *Appended) {
	if !w.stopped {
		w.stopped, w.batch = true, nil
	}
	c.report(b, w, item, ErrStoreDeadline)
}

// report makes b's completion report an entry; err says that it is not in b.
func (c *committer) report(b *batch, w *writer, item *Appended, err error) {
	if w.batch != b {
		r := c.freeRuns.Get().(*run)
		r.topic, r.ledger, r.err = w.topic, w, err
		w.batch, w.run = b, r
		b.steps = append(b.steps, step{run: r})
	}
	w.run.items = append(w.run.items, *item)
}

// apply hands the batch to Pebble and to the completer. A batch that cannot be applied fails as one whose fsync failed.
func (c *committer) apply(b *batch) {
	c.storeRuns(b)
	if b.usesIDs {
		b.failed = c.s.ids.record(b.Batch)
	}
	for _, p := range b.producers {
		b.failed = firstError(b.failed, p.write(b.Batch))
	}
	c.epochBytes += uint64(b.Len()) + uint64(b.Count())*entryOverhead
	switch {
	case b.failed != nil || b.Empty() || c.s.fence.err() != nil:
	case b.sync:
		b.failed = c.s.db.ApplyNoSyncWait(b.Batch, pebble.Sync)
	default:
		b.failed = c.s.db.Apply(b.Batch, pebble.NoSync)
	}
	// A commit that failed for good is told to the logger only.
	b.failed = firstError(b.failed, c.s.fence.err())
	c.inFlight <- b
}

// complete waits for a batch and reports its result: entries by topic, then cursors and the rest, in order.
func (c *committer) complete(b *batch) {
	err := b.failed
	if err == nil && !b.Empty() && b.sync {
		err = firstError(b.SyncWait(), c.s.fence.err())
	}
	took := time.Since(b.queued)
	if err == nil {
		c.s.stats.batch(b, took)
		err = b.Close()
	}
	if err != nil {
		c.s.unhealthy(err)
	}
	if err == nil {
		c.s.flusher.garbage(b.garbage)
	}
	for i := range b.steps {
		c.finish(&b.steps[i], b.epoch, took, err)
	}
}

func (c *committer) finish(st *step, epoch uint64, took time.Duration, err error) {
	if st.err != nil {
		err = st.err
	}
	if r := st.run; r != nil {
		r.topic.completed(r, epoch, took, err)
		clear(r.items)
		r.topic, r.ledger, r.items, r.err = nil, nil, r.items[:0], nil
		c.freeRuns.Put(r)
	}
	if o := st.twice; o != nil {
		o.item.Took = took
		o.ledger.topic.sink.Committed([]Appended{o.item}, o.ledger.result(err))
	}
	if st.flush.cursor != nil {
		st.flush.cursor.flushed(st.flush, err)
	}
	if st.done != nil {
		st.done(err)
	}
}
