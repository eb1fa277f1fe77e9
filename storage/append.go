package storage

import (
	"fmt"
	"sync/atomic"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// Append is an entry to be stored. It is carried back to the Sink untouched.
type Append struct {
	Data        []byte // from the checksum magic on; the store keeps a reference, it must not be changed any more
	PublishTime int64  // milliseconds since the epoch
	Messages    int32  // client-visible messages in it; 0 counts as 1
	Checksum    record.ChecksumState
	Tag         any
	Sequence    uint64
	Highest     uint64

	Producer      *ProducerState // deduplication drops what it has stored already; nil = none
	Chunk, Chunks int32          // of a message that comes in several entries: which, of how many; else 0

	ForceSync bool // stored when fsynced, also where the sync mode is SyncNone
}

// Appended is an entry with its position and header. Whether it is stored is the Sink's err.
type Appended struct {
	Append
	Position wire.Position
	Header   EntryHeader
	Took     time.Duration // from queueing, at the most, to being as durable as configured

	Duplicate bool // it was stored before and is not stored again; its position is not known: {-1, -1}
}

// writer is the open ledger of a topic. What stands above the line belongs to the topic's append lock, what stands below
// it to the committer's goroutine.
type writer struct {
	topic  *Topic
	id     int64
	rec    record.Ledger // counts of what was queued
	failed atomic.Bool   // a batch with its entries failed: everything behind it fails too

	stopped bool          // one of its entries was refused: those behind it are too
	extent  record.Extent // what it has in the newest epoch that it took entries in
	batch   *batch        // the batch being built when it last took an entry, with
	run     *run          // its entries there

	stored *Ledger // what of it is stored; set with its record, guarded by the topic's mu
}

// Append gives the entry its position and queues it; the result comes through the topic's Sink, in order. It waits while
// the commit queue is full. It returns ErrClosed, ErrTerminated, ErrTooLarge, ErrBackpressure,
// *NoSpaceError, or *UnhealthyError when nothing can be written until the next start; the Sink is then not called.
func (t *Topic) Append(a Append) error {
	if len(a.Data) > maxEntryBytes {
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(a.Data))
	}
	a.Messages = max(a.Messages, 1)
	t.appendMu.Lock()
	defer t.appendMu.Unlock()
	switch {
	case t.closing:
		return ErrClosed
	case t.ended:
		return ErrTerminated
	}
	if err := t.s.fence.err(); err != nil {
		return err
	}
	if e := t.s.health.full.Load(); e != nil {
		return e
	}
	w := t.writer
	if w == nil || w.failed.Load() || w.full(t.s) {
		var err error
		if w, err = t.roll(); err != nil {
			return err
		}
	}
	if a.numbered() {
		if _, duplicate := count(a.Producer.queued, &a); duplicate {
			return t.s.queue.push(op{kind: opDuplicate, ledger: w, item: Appended{Append: a, Position: wire.Position{Ledger: -1, Entry: -1}, Duplicate: true}})
		}
	}
	total := t.assigned
	total.Entries++
	total.Messages += int64(a.Messages)
	total.Bytes += int64(len(a.Data))
	err := t.s.queue.push(op{kind: opAppend, ledger: w, force: a.ForceSync || t.sync == SyncBatch, item: Appended{
		Append:   a,
		Position: wire.Position{Ledger: w.id, Entry: w.rec.Entries},
		Header: EntryHeader{PublishTime: a.PublishTime, Messages: a.Messages, Checksum: a.Checksum,
			TotalMessages: total.Messages, TotalBytes: total.Bytes},
	}})
	if err != nil {
		return err
	}
	t.assigned = total
	if a.numbered() {
		a.Producer.queued, _ = count(a.Producer.queued, &a)
	}
	w.rec.Entries++
	w.rec.Messages += int64(a.Messages)
	w.rec.Bytes += int64(len(a.Data))
	stretch(&w.rec, a.PublishTime)
	return nil
}

// stretch widens a ledger's publish-time span.
func stretch(l *record.Ledger, ms int64) {
	if l.FirstPublish == 0 || ms < l.FirstPublish {
		l.FirstPublish = ms
	}
	l.LastPublish = max(l.LastPublish, ms)
}

func (w *writer) full(s *Store) bool {
	limits := &s.opt.Ledger
	return w.rec.Entries >= limits.MaxEntries || w.rec.Bytes >= limits.MaxBytes ||
		(w.rec.Entries > 0 && s.queue.clock.Load()-w.rec.Created.UnixNano() >= int64(limits.MaxAge))
}

// closedLedger returns the record that closes the topic's open ledger, with what was queued for it or, after a failure or
// a crash, with what is durable; entries are 0 when there is none to close. The append lock is held.
func (t *Topic) closedLedger() (id int64, rec record.Ledger) {
	if w := t.writer; w != nil && !w.failed.Load() {
		id, rec = w.id, w.rec
	} else {
		t.mu.RLock()
		defer t.mu.RUnlock()
		l := t.ledgers.last()
		if l.State == record.LedgerClosed {
			return l.ID, record.Ledger{}
		}
		id, rec = l.ID, l.Ledger
	}
	rec.State, rec.Closed = record.LedgerClosed, t.s.opt.Now()
	return id, rec
}

// roll goes on in a new ledger, closing the old one in the same batch. The append lock is held.
func (t *Topic) roll() (*writer, error) {
	oldID, old := t.closedLedger()
	inCommitter, prev := func() {}, (*writer)(nil)
	if w := t.writer; w == nil || w.failed.Load() {
		t.mu.RLock()
		t.assigned = t.ledgers.End()
		t.mu.RUnlock()
		inCommitter = t.forgetQueued()
	} else {
		prev = w
	}
	w := &writer{topic: t, id: t.s.ids.newLedger(), rec: record.Ledger{
		Created:      t.s.opt.Now(),
		StartEntries: t.assigned.Entries, StartMessages: t.assigned.Messages, StartBytes: t.assigned.Bytes,
	}}
	created := w.rec
	err := t.s.queue.push(op{
		kind: opControl,
		apply: func(b *batch) error {
			if prev != nil && prev.stopped {
				w.stopped = true
				return ErrStoreDeadline
			}
			inCommitter()
			b.usesIDs = true
			if !old.Closed.IsZero() {
				if err := b.Set(key.ForLedger(t.id, oldID), old.Append(nil), nil); err != nil {
					return err
				}
			}
			return b.Set(key.ForLedger(t.id, w.id), created.Append(nil), nil)
		},
		done: func(err error) {
			if err != nil {
				w.failed.Store(true)
				return
			}
			t.mu.Lock()
			if l := t.ledgers.byID(oldID); l != nil && !old.Closed.IsZero() {
				l.State, l.Closed = record.LedgerClosed, old.Closed
			}
			w.stored = &Ledger{ID: w.id, Ledger: created}
			t.ledgers = append(t.ledgers, w.stored)
			t.mu.Unlock()
			t.s.flusher.trim(t)
			t.s.offloader.wake()
		},
	})
	if err != nil {
		return nil, err
	}
	t.writer = w
	return w, nil
}

// result turns the result of a batch into that of the ledger's entries in it: what follows a failed one fails too.
func (w *writer) result(err error) error {
	if err == nil && w.failed.Load() {
		err = &UnhealthyError{Cause: fmt.Errorf("an earlier entry of ledger %d was not stored", w.id)}
	}
	return err
}

// completed takes the result of a batch for this topic's entries in it and hands it to the sink.
func (t *Topic) completed(r *run, epoch uint64, took time.Duration, err error) {
	if err = r.ledger.result(firstError(r.err, err)); err != nil {
		r.ledger.failed.Store(true)
		t.sink.Committed(r.items, err)
		return
	}
	first, last := &r.items[0], &r.items[len(r.items)-1]
	hold := t.followed()
	t.mu.Lock()
	if !hold {
		t.tail.drop() // what is held must be without gaps
	}
	l := r.ledger.stored
	x := l.grow(epoch, first.Position.Entry)
	l.Entries = last.Position.Entry + 1
	l.Messages = last.Header.TotalMessages - l.StartMessages
	l.Bytes = last.Header.TotalBytes - l.StartBytes
	for i := range r.items {
		r.items[i].Took = took
		stretch(&l.Ledger, r.items[i].PublishTime)
		x.lastPublish = max(x.lastPublish, r.items[i].PublishTime)
		if a := &r.items[i].Append; a.numbered() {
			a.Producer.stored, _ = count(a.Producer.stored, a)
			a.Producer.stored.LastUse = t.s.opt.Now()
		}
		if hold {
			t.tail.add(Entry{r.items[i].Position, r.items[i].Header, r.items[i].Data})
		}
	}
	t.mu.Unlock()
	if hold {
		t.s.tails.added(t, len(r.items))
	}
	t.sink.Committed(r.items, nil)
}
