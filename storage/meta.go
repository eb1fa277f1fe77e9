package storage

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"

	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
)

// Names of the store-wide facts. Values are unsigned varints.
const (
	metaNextTopic  = "next-topic"
	metaNextLedger = "next-ledger"
	metaNextCursor = "next-cursor"
	metaEpoch      = "recorded-epoch" // the newest epoch whose extents are recorded
	metaClean      = "clean-stop"     // present after a clean stop: ms since the epoch; removed by the next opening for writing
	metaGarbage    = "garbage/"       // + epoch/ledger: entries that no ledger owns any more and that are still on disk
)

// Meta are the store-wide facts.
type Meta struct {
	NextTopic, NextCursor uint64
	NextLedger            int64
	RecordedEpoch         uint64
	CleanStop             int64 // ms since the epoch of the clean stop, 0 when the store was not stopped cleanly
	Garbage               []Garbage
}

// Garbage is a run of entries of a deleted ledger that still takes space.
type Garbage struct {
	Epoch  uint64
	Ledger int64
}

func (g Garbage) key() []byte {
	return key.ForMeta(fmt.Sprintf("%s%d/%d", metaGarbage, g.Epoch, g.Ledger))
}

func readMeta(r pebble.Reader) (Meta, error) {
	var m Meta
	lower, upper := key.Meta.Bounds()
	err := scan(r, lower, upper, func(k, v []byte) error {
		name, err := key.ParseMeta(k)
		if err != nil {
			return &CorruptError{Key: append([]byte(nil), k...), Cause: err}
		}
		if rest, ok := strings.CutPrefix(name, metaGarbage); ok {
			var g Garbage
			if _, err := fmt.Sscanf(rest, "%d/%d", &g.Epoch, &g.Ledger); err != nil {
				return &CorruptError{Key: append([]byte(nil), k...), Cause: fmt.Errorf("%w: meta %s", record.ErrMalformed, name)}
			}
			m.Garbage = append(m.Garbage, g)
			return nil
		}
		n, w := binary.Uvarint(v)
		if w <= 0 {
			return &CorruptError{Key: append([]byte(nil), k...), Cause: fmt.Errorf("%w: meta %s", record.ErrMalformed, name)}
		}
		switch name {
		case metaNextTopic:
			m.NextTopic = n
		case metaNextLedger:
			m.NextLedger = int64(n)
		case metaNextCursor:
			m.NextCursor = n
		case metaEpoch:
			m.RecordedEpoch = n
		case metaClean:
			m.CleanStop = int64(n)
		}
		return nil
	})
	return m, err
}

func setMeta(b *pebble.Batch, name string, v uint64) error {
	return b.Set(key.ForMeta(name), binary.AppendUvarint(nil, v), nil)
}

// ids hands out ids that are unique in the spool and grow. An id may be used once the batch that uses it is queued: each
// batch that was marked (batch.usesIDs) records how far the ids have gone.
type ids struct {
	topic, cursor atomic.Uint64
	ledger        atomic.Int64
}

func (i *ids) load(m Meta) {
	i.topic.Store(max(m.NextTopic, 1))
	i.cursor.Store(max(m.NextCursor, 1))
	i.ledger.Store(max(m.NextLedger, 1))
}

func (i *ids) newTopic() uint64 { return i.topic.Add(1) - 1 }

func (i *ids) newCursor() uint64 { return i.cursor.Add(1) - 1 }

func (i *ids) newLedger() int64 { return i.ledger.Add(1) - 1 }

func (i *ids) record(b *pebble.Batch) error {
	if err := setMeta(b, metaNextTopic, i.topic.Load()); err != nil {
		return err
	}
	if err := setMeta(b, metaNextCursor, i.cursor.Load()); err != nil {
		return err
	}
	return setMeta(b, metaNextLedger, uint64(i.ledger.Load()))
}
