package maintain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"spoolctl/inspect/archive"
	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cockroachdb/pebble/v2"
)

// importer writes the parts of an archive as records.
type importer struct {
	o     *ImportOptions
	db    *pebble.DB
	b     *pebble.Batch
	plan  *importPlan
	epoch uint64 // of all entries that arrive
	next  struct {
		topic, cursor uint64
		ledger        int64
	}
	made map[uint64]bool // topics
	done int64           // bytes

	// Of the topic that is being read:
	n      int // topics so far
	topic  uint64
	renew  bool
	ids    map[int64]int64 // new ids of its ledgers
	ledger int64           // new id of the one being read
	rec    record.Ledger
	open   bool
	extent record.Extent
	sum    storage.Totals // up to the last entry
	began  bool           // it has a ledger
	nextID int64          // entry
	cursor uint64
	skip   bool // the cursor is left out
}

func newImporter(o *ImportOptions, db *pebble.DB, m storage.Meta, plan *importPlan) *importer {
	im := &importer{o: o, db: db, b: db.NewBatch(), plan: plan, epoch: m.RecordedEpoch + 1, made: map[uint64]bool{}}
	im.next.topic, im.next.cursor, im.next.ledger = max(m.NextTopic, 1), max(m.NextCursor, 1), max(m.NextLedger, 1)
	for _, t := range plan.topics {
		for _, id := range t.ledgers {
			if !t.renew {
				im.next.ledger = max(im.next.ledger, id+1)
			}
		}
	}
	return im
}

func (im *importer) set(k, v []byte) error {
	if err := im.b.Set(k, v, nil); err != nil || im.b.Len() < batchBytes {
		return err
	}
	return im.commit()
}

func (im *importer) commit() error {
	err := errors.Join(im.b.Commit(pebble.NoSync), im.b.Close())
	im.b = im.db.NewBatch()
	return err
}

// end writes the store-wide facts and makes all of it durable.
func (im *importer) end() error {
	if err := im.endLedger(true); err != nil {
		return err
	}
	for name, v := range map[string]uint64{
		"next-topic": im.next.topic, "next-cursor": im.next.cursor, "next-ledger": uint64(im.next.ledger), "recorded-epoch": im.epoch,
	} {
		if err := im.set(key.ForMeta(name), binary.AppendUvarint(nil, v)); err != nil {
			return err
		}
	}
	if err := errors.Join(im.commit(), im.b.Close()); err != nil {
		return err
	}
	return im.db.Flush()
}

// part takes one part of the archive.
func (im *importer) part(part any) error {
	switch v := part.(type) {
	case *archive.Topic:
		return im.beginTopic(v)
	case *archive.Ledger:
		return im.beginLedger(v)
	case *archive.Entry:
		return im.entry(v)
	case *archive.Gap:
		return im.gap(v)
	case *archive.Cursor:
		return im.beginCursor(v)
	case *archive.Acks:
		return im.acks(v)
	case *archive.Producer:
		p := record.Producer{Sequence: v.Sequence, Chunked: v.Chunked, Chunk: v.Chunk, LastUse: v.LastUse}
		return im.set(key.ForProducer(im.topic, v.Name), p.Append(nil))
	}
	return nil // documents and schemas are there already
}

func (im *importer) beginTopic(t *archive.Topic) error {
	if err := im.endLedger(true); err != nil {
		return err
	}
	if im.n >= len(im.plan.topics) || im.plan.topics[im.n].name != t.Name {
		return fmt.Errorf("%s is not what it was when it was read first", im.o.From)
	}
	a := im.plan.topics[im.n]
	im.n++
	im.topic, im.renew = im.next.topic, a.renew
	im.next.topic++
	im.made[im.topic] = true
	im.sum, im.began, im.ids = storage.Totals{}, false, map[int64]int64{}
	for _, id := range a.ledgers {
		im.ids[id] = id
		if im.renew {
			im.ids[id] = im.next.ledger
			im.next.ledger++
		}
	}
	if len(a.ledgers) == 0 { // a topic has at least one
		l := record.Ledger{Created: im.o.Now().UTC()}
		if err := im.set(key.ForLedger(im.topic, im.next.ledger), l.Append(nil)); err != nil {
			return err
		}
		im.next.ledger++
	}
	head := record.Topic{Name: t.Name, Created: t.Created, Terminated: t.Terminated, Last: im.position(t.Last), Properties: t.Properties}
	return im.set(key.ForTopic(im.topic), head.Append(nil))
}

// position gives the new form of a position. One in a ledger that is gone lies before all that is there.
func (im *importer) position(p wire.Position) wire.Position {
	if id, ok := im.ids[p.Ledger]; ok {
		return wire.Position{Ledger: id, Entry: p.Entry}
	}
	if im.renew {
		return wire.Position{Ledger: 0, Entry: -1}
	}
	return p
}

func (im *importer) beginLedger(l *archive.Ledger) error {
	if err := im.endLedger(false); err != nil {
		return err
	}
	if !im.began {
		im.sum = storage.Totals{Entries: l.StartEntries, Messages: l.StartMessages, Bytes: l.StartBytes}
		im.began = true
	}
	im.ledger, im.open, im.nextID = im.ids[l.ID], true, 0
	im.rec = record.Ledger{
		State: record.LedgerClosed, Entries: l.Entries, Created: l.Created, Closed: l.Closed,
		StartEntries: im.sum.Entries, StartMessages: im.sum.Messages, StartBytes: im.sum.Bytes,
	}
	im.extent = record.Extent{Epoch: im.epoch, Count: l.Entries, StartMessages: im.sum.Messages, StartBytes: im.sum.Bytes}
	return nil
}

func (im *importer) entry(e *archive.Entry) error {
	if !im.open || e.ID != im.nextID || e.ID >= im.rec.Entries || e.Messages < 1 {
		return fmt.Errorf("%w: entry %d of ledger %d is not the next one", archive.ErrDamaged, e.ID, im.ledger)
	}
	im.nextID++
	im.sum.Entries++
	im.sum.Messages += int64(e.Messages)
	im.sum.Bytes += int64(len(e.Data))
	im.extent.Published(e.PublishTime)
	im.done += int64(len(e.Data))
	im.o.Progress(Progress{"bytes imported", im.done, im.plan.totals.Bytes})
	v := record.AppendHeader(make([]byte, 0, record.MaxHeaderLen+len(e.Data)), record.Header{
		PublishTime: e.PublishTime, Messages: e.Messages, TotalMessages: im.sum.Messages, TotalBytes: im.sum.Bytes, Checksum: record.ChecksumState(e.Checksum)})
	return im.set(key.ForEntry(im.epoch, im.ledger, e.ID), append(v, e.Data...))
}

// gap steps over entries that are missing; each counts as one message without bytes.
func (im *importer) gap(g *archive.Gap) error {
	if !im.open || g.First != im.nextID || g.Last >= im.rec.Entries {
		return fmt.Errorf("%w: a gap at entry %d of ledger %d is not where the entries end", archive.ErrDamaged, g.First, im.ledger)
	}
	n := g.Last - g.First + 1
	im.nextID = g.Last + 1
	im.sum.Entries += n
	im.sum.Messages += n
	return nil
}

// endLedger writes the ledger's record, now that its counts are known.
func (im *importer) endLedger(last bool) error {
	if !im.open {
		return nil
	}
	im.open = false
	if im.nextID != im.rec.Entries {
		return fmt.Errorf("%w: ledger %d has %d entries instead of %d", archive.ErrDamaged, im.ledger, im.nextID, im.rec.Entries)
	}
	im.rec.Messages, im.rec.Bytes = im.sum.Messages-im.rec.StartMessages, im.sum.Bytes-im.rec.StartBytes
	switch {
	case im.rec.Entries == 0 && im.rec.Closed.IsZero() && last:
		im.rec.State = record.LedgerOpen
	case im.rec.Closed.IsZero():
		im.rec.Closed = im.o.Now().UTC()
	}
	if im.rec.Entries > 0 {
		im.rec.FirstPublish, im.rec.LastPublish = im.extent.FirstPublish, im.extent.LastPublish
		if err := im.set(key.ForExtent(im.ledger, 0), im.extent.Append(nil)); err != nil {
			return err
		}
	}
	return im.set(key.ForLedger(im.topic, im.ledger), im.rec.Append(nil))
}

func (im *importer) beginCursor(c *archive.Cursor) error {
	if err := im.endLedger(true); err != nil {
		return err
	}
	// Where the last topic compaction ended: its result does not travel, so there was none.
	if im.skip = c.Name == storage.CompactionCursor; im.skip {
		return nil
	}
	im.cursor = im.next.cursor
	im.next.cursor++
	rec := record.Cursor{Name: c.Name, MarkDelete: im.position(c.MarkDelete), Created: c.Created, LastActive: c.LastActive, Properties: c.Properties, Positions: c.Positions}
	return im.set(key.ForCursor(im.topic, im.cursor), rec.Append(nil)) // what it has consumed is counted afterwards
}

func (im *importer) acks(a *archive.Acks) error {
	id, ok := im.ids[a.Ledger]
	if !ok || im.skip {
		return nil // a ledger that is gone
	}
	h := record.Holes{Acked: roaring.New()}
	const most = 1<<32 - 1
	for _, r := range a.Ranges {
		if r[0] < 0 || r[1] < r[0] || r[1] > most {
			return fmt.Errorf("%w: acknowledged entries from %d to %d", archive.ErrDamaged, r[0], r[1])
		}
		h.Acked.AddRange(uint64(r[0]), uint64(r[1])+1)
	}
	for e, p := range a.Partials {
		if e < 0 || e > most || p.Size < 1 || len(p.Words) != int(p.Size+63)/64 {
			return fmt.Errorf("%w: a batch acknowledged in part at entry %d", archive.ErrDamaged, e)
		}
		if h.Partials == nil {
			h.Partials = map[uint32]record.Partial{}
		}
		h.Partials[uint32(e)] = record.Partial{Size: p.Size, Words: p.Words}
	}
	v, err := h.Append(nil)
	if err != nil {
		return err
	}
	return im.set(key.ForHoles(im.topic, im.cursor, id), v)
}
