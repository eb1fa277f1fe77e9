package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
)

// records decodes every record but entries, and finds keys of no known family.
func (v *verifier) records() error {
	entryLower, entryUpper := key.Entry.Bounds()
	for _, r := range [][2][]byte{{nil, entryLower}, {entryUpper, nil}} {
		if err := v.scan(r[0], r[1], v.record); err != nil {
			return err
		}
	}
	return nil
}

// scan calls each for every record of a range. Damage starts the answer again
// on what can be rescued; when that was done, it is a finding.
func (v *verifier) scan(lower, upper []byte, each func(k, val []byte) error) error {
	it, err := v.s.spool.Reader().NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return v.damaged(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		val, err := it.ValueAndErr()
		if err == nil {
			err = errors.Join(each(it.Key(), val), v.ctx.Err())
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return v.damaged(errors.Join(it.Error(), it.Close()))
}

func (v *verifier) damaged(err error) error {
	if err == nil {
		return nil
	}
	if err = v.s.degrade(v.ctx, err); errors.Is(err, errAgain) || !isDamage(err) {
		return err
	}
	v.find(CheckRecords, "", "", "records cannot be read: %s", firstLine(err))
	return nil
}

func (v *verifier) record(k, val []byte) error {
	v.out.Records++
	f := key.Family(k[0])
	if !f.Known() {
		v.find(CheckRecords, "", "", "key %x belongs to no known family", k)
		return nil
	}
	if err := damage.Decode(k, val); err != nil {
		v.find(CheckRecords, "", "", "%s: %s", key.Format(k), firstLine(err))
		return nil
	}
	switch f {
	case key.Topic:
		id, err := key.ParseTopic(k)
		if err != nil {
			return err
		}
		v.topics[id] = ""
		if next := v.s.spool.Meta().NextTopic; id >= next && id < lostTopicID {
			v.find(CheckTopics, "", "", "topic id %d is not below the next id %d that the store would give", id, next)
		}
	case key.Ledger:
		topic, id, err := key.ParseLedger(k)
		if err != nil {
			return err
		}
		if owner, twice := v.ledgers[id]; twice {
			v.find(CheckLedgers, "", "", "ledger %d belongs to topics %d and %d", id, owner, topic)
		}
		v.ledgers[id] = topic
		if next := v.s.spool.Meta().NextLedger; id >= next {
			v.find(CheckLedgers, "", "", "ledger id %d is not below the next id %d that the store would give", id, next)
		}
	case key.Resource:
		if !json.Valid(val) {
			v.find(CheckResources, "", "", "%s is not a JSON document", key.Format(k))
		}
	}
	return nil
}

// lostTopicID is where the ids begin that damage.Rescue makes up.
const lostTopicID = 1 << 62

// orphans finds records whose topic or ledger does not exist.
func (v *verifier) orphans() error {
	owned := func(k []byte, topic uint64) {
		if _, ok := v.topics[topic]; !ok {
			v.find(CheckOrphans, "", "", "%s belongs to a topic that does not exist", key.Format(k))
		}
	}
	type check struct {
		f    key.Family
		each func(k, val []byte) error
	}
	for _, c := range []check{
		{key.Ledger, func(k, _ []byte) error {
			if topic, _, err := key.ParseLedger(k); err == nil {
				owned(k, topic)
			}
			return nil
		}},
		{key.Cursor, func(k, _ []byte) error {
			if topic, cursor, err := key.ParseCursor(k); err == nil {
				owned(k, topic)
				if next := v.s.spool.Meta().NextCursor; cursor >= next {
					v.find(CheckCursors, v.topics[topic], "", "cursor id %d is not below the next id %d that the store would give", cursor, next)
				}
			}
			return nil
		}},
		{key.Holes, v.orphanHoles},
		{key.Dedup, func(k, _ []byte) error {
			if topic, _, err := key.ParseProducer(k); err == nil {
				owned(k, topic)
			}
			return nil
		}},
		{key.Extent, func(k, _ []byte) error {
			if ledger, _, err := key.ParseExtent(k); err == nil {
				if _, ok := v.ledgers[ledger]; !ok {
					v.find(CheckOrphans, "", "", "%s belongs to a ledger that does not exist", key.Format(k))
				}
			}
			return nil
		}},
	} {
		lower, upper := c.f.Bounds()
		if err := v.scan(lower, upper, c.each); err != nil {
			return err
		}
	}
	return v.orphanEntries()
}

func (v *verifier) orphanHoles(k, _ []byte) error {
	topic, cursor, ledger, err := key.ParseHoles(k)
	if err == nil {
		var closer io.Closer
		if _, closer, err = v.s.spool.Reader().Get(key.ForCursor(topic, cursor)); err == nil {
			err = closer.Close()
		}
	}
	_, known := v.ledgers[ledger]
	switch { // other errors were found with the records
	case errors.Is(err, pebble.ErrNotFound):
		v.find(CheckOrphans, v.topics[topic], "", "%s belongs to a cursor that does not exist", key.Format(k))
	case err == nil && !known:
		v.find(CheckOrphans, v.topics[topic], "", "%s is about a ledger that does not exist", key.Format(k))
	}
	return nil
}

// orphanEntries looks at the first entry of every ledger in every epoch. What is noted as garbage waits to be removed.
func (v *verifier) orphanEntries() error {
	lower, upper := key.Entry.Bounds()
	it, err := v.s.spool.Reader().NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return v.damaged(err)
	}
	for ok := it.First(); ok; {
		if err := v.ctx.Err(); err != nil {
			return errors.Join(err, it.Close())
		}
		epoch, ledger, entry, err := key.ParseEntry(it.Key())
		if err != nil {
			v.find(CheckRecords, "", "", "%s: %s", key.Format(it.Key()), firstLine(err))
			ok = it.Next()
			continue
		}
		_, known := v.ledgers[ledger]
		if !known && !slices.Contains(v.s.spool.Meta().Garbage, storage.Garbage{Epoch: epoch, Ledger: ledger}) {
			v.find(CheckOrphans, "", fmt.Sprintf("%d:%d", ledger, entry), "entries of ledger %d in epoch %d belong to no topic", ledger, epoch)
		}
		ok = it.SeekGE(key.ForEntry(epoch, ledger+1, 0))
	}
	// A block that cannot be read was found with the entries or the files.
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		v.find(CheckEntries, "", "", "not all entries could be looked at for their owner: %s", firstLine(err))
	}
	return nil
}
