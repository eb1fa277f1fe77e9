package damage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
)

// Lost and found: the namespace of topics whose name is lost.
const lostTopic = "persistent://lost/found/"

// lostID is added to a ledger's id to make the id of its topic.
const lostID = 1 << 62

// mend completes the copy so that what was read can be reached: extents that
// cover each ledger with its missing entries as holes, counts of ledgers whose
// record or first entry is lost, and names for topics that lost theirs.
func mend(out *Rescued) error {
	m := &mender{db: out.DB, out: out, ledgers: map[int64]*mendLedger{}}
	m.b = out.DB.NewBatch()
	for _, step := range []func() error{m.dropUndecodable, m.readLedgers, m.readRuns, m.readTopics, m.write} {
		if err := step(); err != nil {
			return fmt.Errorf("complete the copy: %w", err)
		}
	}
	return errors.Join(m.b.Commit(pebble.NoSync), m.b.Close())
}

type mendLedger struct {
	topic uint64
	rec   record.Ledger
	known bool // it has a record
	runs  []record.Extent
}

type mender struct {
	db      *pebble.DB
	b       *pebble.Batch
	out     *Rescued
	ledgers map[int64]*mendLedger
}

func (m *mender) each(f key.Family, do func(k, v []byte) error) (err error) {
	it, err := m.db.NewIter(family(f))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(it.Key(), v); err != nil {
			return err
		}
	}
	return it.Error()
}

// dropUndecodable takes out records that no reader can use.
func (m *mender) dropUndecodable() error {
	for _, f := range []key.Family{key.Topic, key.Ledger, key.Extent, key.Cursor, key.Holes, key.Meta} {
		err := m.each(f, func(k, v []byte) error {
			if err := Decode(k, v); err != nil {
				m.out.Problems = append(m.out.Problems, Problem{What: "a record cannot be decoded: " + plain(err), FirstKey: key.Format(k), LastKey: key.Format(k), Lost: new(int64(1))})
				return m.b.Delete(k, nil)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	err := errors.Join(m.b.Commit(pebble.NoSync), m.b.Close())
	m.b = m.db.NewBatch()
	return err
}

func (m *mender) readLedgers() error {
	return m.each(key.Ledger, func(k, v []byte) error {
		topic, id, err := key.ParseLedger(k)
		if err != nil {
			return err
		}
		rec, err := record.ParseLedger(v)
		if err != nil {
			return err
		}
		m.ledgers[id] = &mendLedger{topic: topic, rec: rec, known: true}
		return nil
	})
}

// readRuns finds the first and last entry of each ledger in each epoch.
func (m *mender) readRuns() (err error) {
	it, err := m.db.NewIter(family(key.Entry))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		epoch, ledger, first, err := key.ParseEntry(it.Key())
		if err != nil {
			ok = it.Next() // verify names keys of no known form
			continue
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		x := record.Extent{First: first, Epoch: epoch}
		if h, data, err := record.ParseHeader(v); err == nil {
			x.StartMessages, x.StartBytes = max(0, h.TotalMessages-int64(h.Messages)), max(0, h.TotalBytes-int64(len(data)))
		}
		end := key.ForEntry(epoch, ledger+1, 0)
		if it.SeekLT(end) {
			if _, _, last, err := key.ParseEntry(it.Key()); err == nil {
				x.Count = last - first + 1
			}
		}
		if x.Count > 0 && first >= 0 {
			l := m.ledgers[ledger]
			if l == nil {
				l = &mendLedger{topic: lostID + uint64(ledger)}
				m.ledgers[ledger] = l
			}
			l.runs = append(l.runs, x)
		}
		ok = it.SeekGE(end)
	}
	return it.Error()
}

// readTopics gives a name to every topic that has ledgers and none.
func (m *mender) readTopics() error {
	named := map[uint64]bool{}
	err := m.each(key.Topic, func(k, _ []byte) error {
		id, err := key.ParseTopic(k)
		named[id] = true
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range m.ids() {
		l := m.ledgers[id]
		if named[l.topic] {
			continue
		}
		named[l.topic] = true
		name := fmt.Sprintf("%sledger-%d", lostTopic, id)
		what := fmt.Sprintf("nothing says which topic ledger %d belongs to; it is shown as %s", id, name)
		if l.known {
			name = fmt.Sprintf("%stopic-%d", lostTopic, l.topic)
			what = fmt.Sprintf("the head of topic %d is lost; it is shown as %s", l.topic, name)
		}
		m.out.Problems = append(m.out.Problems, Problem{What: what, Ledgers: []int64{id}})
		head := record.Topic{Name: name}
		if err := m.b.Set(key.ForTopic(l.topic), head.Append(nil), nil); err != nil {
			return err
		}
	}
	return nil
}

func (m *mender) ids() []int64 {
	out := make([]int64, 0, len(m.ledgers))
	for id := range m.ledgers {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func (m *mender) write() error {
	for _, id := range m.ids() {
		if err := m.writeLedger(id, m.ledgers[id]); err != nil {
			return err
		}
	}
	return nil
}

// writeLedger replaces a ledger's extents by ones without gaps, where it has
// any, and closes an open ledger at what is there.
func (m *mender) writeLedger(id int64, l *mendLedger) error {
	stored, err := m.extents(id)
	if err != nil {
		return err
	}
	all := append(stored, l.runs...)
	slices.SortStableFunc(all, func(a, b record.Extent) int { return int(a.First - b.First) })
	var out []record.Extent
	have := int64(0)
	for _, x := range all {
		if x.End() <= have {
			continue
		}
		if x.First > have { // a hole: let what stands before it, or x itself, cover it
			if len(out) > 0 {
				out[len(out)-1].Count += x.First - have
			} else {
				x.Count, x.First = x.Count+x.First, 0
			}
		} else if x.First < have {
			x.Count, x.First = x.End()-have, have
		}
		out = append(out, x)
		have = x.End()
	}
	closed := l.rec.State == record.LedgerClosed
	if closed && have < l.rec.Entries {
		if len(out) == 0 {
			out = append(out, record.Extent{Count: l.rec.Entries})
		} else {
			out[len(out)-1].Count += l.rec.Entries - have
		}
	}
	if !closed || !l.known {
		if err := m.count(id, l, out, have); err != nil {
			return err
		}
		if err := m.b.Set(key.ForLedger(l.topic, id), l.rec.Append(nil), nil); err != nil {
			return err
		}
	}
	lower, upper := key.ForExtents(id)
	if err := m.b.DeleteRange(lower, upper, nil); err != nil {
		return err
	}
	for _, x := range out {
		if err := m.b.Set(key.ForExtent(id, x.First), x.Append(nil), nil); err != nil {
			return err
		}
	}
	return nil
}

func (m *mender) extents(id int64) (out []record.Extent, err error) {
	lower, upper := key.ForExtents(id)
	it, err := m.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		_, first, err := key.ParseExtent(it.Key())
		if err != nil {
			return nil, err
		}
		x, err := record.ParseExtent(first, bytes.Clone(it.Value()))
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, it.Error()
}

// count fills in a ledger's counts from its first and last readable entries.
func (m *mender) count(id int64, l *mendLedger, xs []record.Extent, have int64) error {
	if len(xs) == 0 {
		return nil
	}
	l.rec.State, l.rec.Entries = record.LedgerClosed, have
	if !l.known {
		l.rec.StartMessages, l.rec.StartBytes = xs[0].StartMessages, xs[0].StartBytes
	}
	l.rec.FirstPublish = xs[0].FirstPublish
	last := xs[len(xs)-1]
	v, closer, err := m.db.Get(key.ForEntry(last.Epoch, id, have-1))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if h, _, err := record.ParseHeader(v); err == nil {
		l.rec.Messages, l.rec.Bytes = max(0, h.TotalMessages-l.rec.StartMessages), max(0, h.TotalBytes-l.rec.StartBytes)
		l.rec.LastPublish = h.PublishTime
		l.rec.Closed = time.UnixMilli(h.PublishTime).UTC() // it was closed soon after
		if l.rec.Closed.Before(l.rec.Created) {
			l.rec.Closed = l.rec.Created
		}
	}
	return nil
}
