package maintain

import (
	"context"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
)

// fillGaps puts lost entries where the counts of a topic's ledgers show that some are gone, so that the counts go on
// without a gap: into a ledger of their own when one may be missing, else into the ledger before.
func (m *mender) fillGaps(ctx context.Context) error {
	used := map[int64]bool{}
	everyone := &mender{o: m.o, dir: m.dir}
	err := everyone.eachTopic(ctx, func(_ *storage.Spool, t *storage.TopicView) error {
		for _, l := range t.Ledgers {
			used[l.ID] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	set := map[string][]byte{}
	err = m.eachTopic(ctx, func(s *storage.Spool, t *storage.TopicView) error {
		for i, l := range t.Ledgers {
			var next *storage.Ledger
			if i+1 < len(t.Ledgers) {
				next = t.Ledgers[i+1]
			}
			if err := fixCounts(s.Reader(), t.ID, l, next, set); err != nil {
				return err
			}
			if next != nil {
				fillGap(t.ID, l, next, used, set)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.writeRecords(ctx, set)
}

// fixCounts makes the counts of a ledger whose record was made from what is left of it agree with its entries and with the
// ledger that follows.
func fixCounts(r pebble.Reader, topic uint64, l, next *storage.Ledger, set map[string][]byte) error {
	if l.LocalDeleted || l.Entries == 0 {
		return nil
	}
	got := storage.Consumed{Messages: l.Messages, Bytes: l.Bytes}
	if next != nil && next.StartEntries == l.StartEntries+l.Entries {
		got = storage.Consumed{Messages: next.StartMessages - l.StartMessages, Bytes: next.StartBytes - l.StartBytes}
	} else {
		h, found, err := lastHeader(r, l)
		if err != nil {
			return err
		}
		if found {
			got = storage.Consumed{Messages: max(got.Messages, h.TotalMessages-l.StartMessages), Bytes: max(got.Bytes, h.TotalBytes-l.StartBytes)}
		}
	}
	if got.Messages < 0 || got.Bytes < 0 || (got == storage.Consumed{Messages: l.Messages, Bytes: l.Bytes}) {
		return nil
	}
	l.Messages, l.Bytes = got.Messages, got.Bytes
	set[string(key.ForLedger(topic, l.ID))] = l.Append(nil)
	return nil
}

// lastHeader is the header of the last entry of a ledger that is there.
func lastHeader(r pebble.Reader, l *storage.Ledger) (h record.Header, found bool, err error) {
	for i := len(l.Extents) - 1; i >= 0 && !found && err == nil; i-- {
		x := l.Extents[i]
		it, err := r.NewIter(&pebble.IterOptions{LowerBound: key.ForEntry(x.Epoch, l.ID, x.First), UpperBound: key.ForEntry(x.Epoch, l.ID, x.End())})
		if err != nil {
			return h, false, err
		}
		if it.Last() {
			var perr error
			h, _, perr = record.ParseHeader(it.Value())
			found = perr == nil
		}
		if err := it.Close(); err != nil {
			return h, false, err
		}
	}
	return h, found, err
}

func fillGap(topic uint64, before, next *storage.Ledger, used map[int64]bool, set map[string][]byte) {
	l := record.Ledger{
		State: record.LedgerClosed, Created: before.Closed, Closed: next.Created, FirstPublish: before.LastPublish, LastPublish: next.FirstPublish,
		StartEntries: before.StartEntries + before.Entries, StartMessages: before.StartMessages + before.Messages, StartBytes: before.StartBytes + before.Bytes,
	}
	l.Entries, l.Messages, l.Bytes = next.StartEntries-l.StartEntries, next.StartMessages-l.StartMessages, next.StartBytes-l.StartBytes
	id := before.ID + 1
	for used[id] {
		id++
	}
	if l.Entries <= 0 || l.Messages < 0 || l.Bytes < 0 {
		return // verify tells what is wrong
	}
	if id >= next.ID {
		lengthen(topic, before, next, set)
		return
	}
	used[id] = true
	x := record.Extent{Epoch: 1, Count: l.Entries, StartMessages: l.StartMessages, StartBytes: l.StartBytes, FirstPublish: l.FirstPublish, LastPublish: l.LastPublish}
	set[string(key.ForLedger(topic, id))] = l.Append(nil)
	set[string(key.ForExtent(id, 0))] = x.Append(nil)
}

// lengthen gives the lost entries to the ledger before them: no ledger was between the two, so they were its last ones.
func lengthen(topic uint64, l, next *storage.Ledger, set map[string][]byte) {
	if l.LocalDeleted {
		return // verify tells what is wrong
	}
	x := record.Extent{Epoch: 1, StartMessages: l.StartMessages, StartBytes: l.StartBytes}
	if n := len(l.Extents); n > 0 {
		x = l.Extents[n-1]
	}
	l.Entries = next.StartEntries - l.StartEntries
	l.Messages, l.Bytes = next.StartMessages-l.StartMessages, next.StartBytes-l.StartBytes
	x.Count = l.Entries - x.First
	set[string(key.ForLedger(topic, l.ID))] = l.Append(nil)
	set[string(key.ForExtent(l.ID, x.First))] = x.Append(nil)
}
