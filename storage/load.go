package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// TopicHead is a topic's id and head record.
type TopicHead struct {
	ID uint64
	record.Topic
}

// TopicState is everything durable about a topic except its entries.
type TopicState struct {
	TopicHead
	Ledgers Ledgers
	Cursors []*CursorState // by name

	Compacted []*Ledger // results of compactions; more than one, or one that no cursor names, is left of a broken-off one

	Producers map[string]record.Producer // what deduplication knows, by producer name
}

// eachTopic calls each for every topic head, by rising id.
func eachTopic(r pebble.Reader, each func(TopicHead) error) error {
	lower, upper := key.Topic.Bounds()
	return scan(r, lower, upper, func(k, v []byte) error {
		id, err := key.ParseTopic(k)
		if err != nil {
			return &CorruptError{Key: slices.Clone(k), Cause: err}
		}
		h, err := record.ParseTopic(v)
		if err != nil {
			return &CorruptError{Key: slices.Clone(k), Cause: err}
		}
		return each(TopicHead{ID: id, Topic: h})
	})
}

// loadTopic reads a topic: head, ledgers with their extents, cursors. recorded is the newest epoch whose extents are known
// to be recorded; ledgers that need it are completed by looking into the epochs after it. No entry is read but the first
// and last of such ledgers. brief leaves out the extents of closed ledgers.
func loadTopic(r pebble.Reader, id, recorded uint64, brief bool) (*TopicState, error) {
	t := &TopicState{TopicHead: TopicHead{ID: id}}
	found, err := get(r, key.ForTopic(id), func(v []byte) (err error) {
		t.Topic, err = record.ParseTopic(v)
		return err
	})
	if err != nil || !found {
		return nil, firstError(err, fmt.Errorf("%w: id %d", ErrTopicNotFound, id))
	}
	if err := t.loadLedgers(r, recorded, brief); err != nil {
		return nil, fmt.Errorf("load %s: %w", t.Name, err)
	}
	if err := t.loadCursors(r); err != nil {
		return nil, fmt.Errorf("load %s: %w", t.Name, err)
	}
	if err := t.loadProducers(r); err != nil {
		return nil, fmt.Errorf("load %s: %w", t.Name, err)
	}
	return t, nil
}

func (t *TopicState) corrupt(k []byte, p wire.Position, cause error) error {
	return &CorruptError{Topic: t.Name, Position: p, Key: slices.Clone(k), Cause: cause}
}

func (t *TopicState) loadLedgers(r pebble.Reader, recorded uint64, brief bool) error {
	lower, upper := key.ForLedgers(t.ID)
	err := scan(r, lower, upper, func(k, v []byte) error {
		_, id, err := key.ParseLedger(k)
		if err != nil {
			return t.corrupt(k, wire.Position{}, err)
		}
		l := &Ledger{ID: id}
		if l.Ledger, err = record.ParseLedger(v); err != nil {
			return t.corrupt(k, wire.Position{Ledger: id}, err)
		}
		if l.Compacted {
			t.Compacted = append(t.Compacted, l)
		} else {
			t.Ledgers = append(t.Ledgers, l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(t.Ledgers) == 0 {
		return t.corrupt(key.ForTopic(t.ID), wire.Position{}, fmt.Errorf("%w: topic has no ledger", record.ErrMalformed))
	}
	for _, l := range slices.Concat(t.Ledgers, t.Compacted) {
		if l.unread = brief && l.State == record.LedgerClosed; l.unread {
			continue
		}
		if err := t.loadExtents(r, l, recorded); err != nil {
			return err
		}
	}
	return nil
}

// loadExtents completes a ledger: extents, and for an open one the counts of what is stored.
func (t *TopicState) loadExtents(r pebble.Reader, l *Ledger, recorded uint64) error {
	if l.LocalDeleted {
		return nil
	}
	have := int64(0)
	lower, upper := key.ForExtents(l.ID)
	err := scan(r, lower, upper, func(k, v []byte) error {
		_, first, err := key.ParseExtent(k)
		if err != nil {
			return t.corrupt(k, wire.Position{Ledger: l.ID}, err)
		}
		x, err := record.ParseExtent(first, v)
		if err == nil && x.First != have {
			err = fmt.Errorf("%w: extent starts at entry %d instead of %d", record.ErrMalformed, x.First, have)
		}
		if err != nil {
			return t.corrupt(k, wire.Position{Ledger: l.ID, Entry: first}, err)
		}
		have = x.End()
		l.Extents = append(l.Extents, x)
		return nil
	})
	if err != nil {
		return err
	}
	open := l.State == record.LedgerOpen
	if open || have < l.Entries {
		after := recorded
		if n := len(l.Extents); n > 0 {
			after = max(after, l.Extents[n-1].Epoch)
		}
		tail, err := tailExtents(r, l.ID, after)
		if err != nil {
			return err
		}
		for _, x := range tail {
			if x.First != have {
				break // what follows a gap was never acknowledged
			}
			l.Extents = append(l.Extents, x)
			have = x.End()
		}
	}
	if !open {
		return t.clip(l, have)
	}
	l.Entries = have
	if have == 0 {
		return nil
	}
	return t.countOpen(r, l)
}

// clip cuts a closed ledger's extents to the entries its record confirms: a failed batch may have left more behind.
func (t *TopicState) clip(l *Ledger, have int64) error {
	if have < l.Entries {
		return t.corrupt(key.ForLedger(t.ID, l.ID), wire.Position{Ledger: l.ID, Entry: have},
			fmt.Errorf("%w: ledger has %d entries, extents cover %d", record.ErrMalformed, l.Entries, have))
	}
	for n := len(l.Extents); n > 0 && l.Extents[n-1].End() > l.Entries; n = len(l.Extents) {
		if x := &l.Extents[n-1]; x.First < l.Entries {
			x.Count = l.Entries - x.First
			break
		}
		l.Extents = l.Extents[:n-1]
	}
	return nil
}

// countOpen fills the counts of an open ledger from its last entry's cumulative header. The publish-time span is that of
// the first and last entry.
func (t *TopicState) countOpen(r pebble.Reader, l *Ledger) error {
	er := entryReader{r: r, topic: t.Name}
	ctx := context.Background() // an open ledger is in no object: nothing is waited for
	first, _, err := er.header(ctx, span{epoch: l.Extents[0].Epoch, ledger: l.ID})
	if err != nil {
		return err
	}
	last, _, err := er.header(ctx, span{epoch: l.Extents[len(l.Extents)-1].Epoch, ledger: l.ID, first: l.Entries - 1})
	if err != nil {
		return err
	}
	l.Messages, l.Bytes = last.TotalMessages-l.StartMessages, last.TotalBytes-l.StartBytes
	l.FirstPublish, l.LastPublish = min(first.PublishTime, last.PublishTime), max(first.PublishTime, last.PublishTime)
	return nil
}

func (t *TopicState) loadCursors(r pebble.Reader) error {
	lower, upper := key.ForCursors(t.ID)
	err := scan(r, lower, upper, func(k, v []byte) error {
		_, id, err := key.ParseCursor(k)
		if err != nil {
			return t.corrupt(k, wire.Position{}, err)
		}
		rec, err := record.ParseCursor(v)
		if err != nil {
			return t.corrupt(k, wire.Position{}, err)
		}
		t.Cursors = append(t.Cursors, &CursorState{
			ID: id, Name: rec.Name, MarkDelete: rec.MarkDelete, Acks: newAckSet(),
			Consumed:   Consumed{rec.ConsumedMessages, rec.ConsumedBytes},
			Properties: rec.Properties, Positions: rec.Positions, Created: rec.Created, LastActive: rec.LastActive,
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range t.Cursors {
		lower, upper := key.ForHolesOf(t.ID, c.ID)
		err := scan(r, lower, upper, func(k, v []byte) error {
			_, _, ledger, err := key.ParseHoles(k)
			if err != nil {
				return t.corrupt(k, wire.Position{}, err)
			}
			h, err := record.ParseHoles(v)
			if err != nil {
				return t.corrupt(k, wire.Position{Ledger: ledger}, err)
			}
			c.Acks.ledgers[ledger] = h
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(t.Cursors, func(a, b *CursorState) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// tailExtents finds a ledger's runs in the epochs after the given one.
func tailExtents(r pebble.Reader, ledger int64, after uint64) (out []record.Extent, err error) {
	err = withEntries(r, func(it *pebble.Iterator) error {
		return eachTailEpoch(it, after, func(epoch uint64) error {
			x, found, err := tailExtent(it, epoch, ledger)
			if found {
				out = append(out, x)
			}
			return err
		})
	})
	return out, err
}

// recordTail adds to b the extents of all epochs after the recorded one, without those of garbage. It returns the newest
// epoch there is and the number of extents.
func recordTail(ctx context.Context, r pebble.Reader, m Meta, b *pebble.Batch) (last uint64, n int, err error) {
	last = m.RecordedEpoch
	err = withEntries(r, func(it *pebble.Iterator) error {
		return eachTailEpoch(it, m.RecordedEpoch, func(epoch uint64) error {
			last = epoch
			ledger := int64(0)
			for it.SeekGE(key.ForEntry(epoch, ledger, 0)) {
				e, l, _, err := key.ParseEntry(it.Key())
				if err != nil || e != epoch {
					return err
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if ledger = l + 1; slices.Contains(m.Garbage, Garbage{epoch, l}) {
					continue
				}
				x, _, err := tailExtent(it, epoch, l)
				if err != nil {
					return err
				}
				if err := b.Set(key.ForExtent(l, x.First), x.Append(nil), nil); err != nil {
					return err
				}
				n++
			}
			return it.Error()
		})
	})
	return last, n, err
}

// withEntries runs use with an iterator over all entries.
func withEntries(r pebble.Reader, use func(*pebble.Iterator) error) error {
	lower, upper := key.Entry.Bounds()
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	return firstError(use(it), it.Close())
}

// eachTailEpoch calls each for every epoch after the given one that holds entries; each may move the iterator.
func eachTailEpoch(it *pebble.Iterator, after uint64, each func(epoch uint64) error) error {
	for epoch := after; it.SeekGE(key.ForEntry(epoch+1, 0, 0)); {
		e, _, _, err := key.ParseEntry(it.Key())
		if err != nil {
			return &CorruptError{Key: slices.Clone(it.Key()), Cause: err}
		}
		epoch = e
		if err := each(epoch); err != nil {
			return err
		}
	}
	return it.Error()
}

// tailExtent finds the run of a ledger in an epoch by its first and last key.
func tailExtent(it *pebble.Iterator, epoch uint64, ledger int64) (x record.Extent, found bool, err error) {
	if !it.SeekGE(key.ForEntry(epoch, ledger, 0)) {
		return x, false, it.Error()
	}
	e, l, first, err := key.ParseEntry(it.Key())
	if err != nil || e != epoch || l != ledger {
		return x, false, err
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return x, false, err
	}
	h, data, err := record.ParseHeader(v)
	if err != nil {
		return x, false, &CorruptError{Position: wire.Position{Ledger: l, Entry: first}, Key: slices.Clone(it.Key()), Cause: err}
	}
	if !it.SeekLT(key.ForEntry(epoch, ledger+1, 0)) {
		return x, false, it.Error()
	}
	_, _, last, err := key.ParseEntry(it.Key())
	if err != nil {
		return x, false, err
	}
	x = extentFrom(epoch, first, &h, len(data))
	x.Count = last - first + 1
	return x, true, nil
}

// extentFrom returns an extent that begins with an entry, without entries. In a compacted ledger its start counts mean
// nothing: the entries' totals are of the topic, and their data is longer than it was.
func extentFrom(epoch uint64, first int64, h *EntryHeader, size int) record.Extent {
	return record.Extent{First: first, Epoch: epoch,
		StartMessages: max(0, h.TotalMessages-int64(h.Messages)), StartBytes: max(0, h.TotalBytes-int64(size))}
}
