package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
)

// tableUse is one table and what is known of its content.
type tableUse struct {
	damage.Table
	family  key.Family
	bytes   int64                   // of the file, or of its part when several tables share it
	records int64                   // versions of keys in it, deletions included; -1: not known
	live    float64                 // of them, those that can be read
	logical float64                 // payload bytes of its live entries
	props   *damage.TableProperties // nil: cannot be read
}

// liveBytes are the bytes of the table that live records take, if all take the
// same; known is false when nothing says how many there are.
func (u *tableUse) liveBytes() (n int64, known bool) {
	switch {
	case u.records < 0:
		return 0, false
	case u.records == 0:
		return 0, true
	}
	return int64(float64(u.bytes) * min(1, u.live/float64(u.records))), true
}

// topicShare is what one topic has in the tables.
type topicShare struct {
	parts map[int]float64 // payload bytes by table
	inLog int64           // entries that no table holds yet
}

// diskUse is the tables with what lives in them.
type diskUse struct {
	tables  []tableUse
	entries []int // indexes of the tables of entries, by smallest key
}

// readDiskUse reads what the tables say of themselves, and counts what of it is live:
// for entries by the extents of all topics, for other families by their keys.
// each, when not nil, is told the share of every topic.
func (s *Session) readDiskUse(ctx context.Context, each func(*storage.TopicView, topicShare)) (*diskUse, error) {
	if err := s.listFiles(); err != nil {
		return nil, err
	}
	u := &diskUse{}
	o := s.damageOptions()
	for _, t := range s.manifest.Live() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := tableUse{Table: t, bytes: int64(t.Size), records: -1}
		if len(t.Smallest) > 0 {
			row.family = key.Family(t.Smallest[0])
		}
		p, err := damage.ReadProperties(o, t.File)
		switch {
		case err != nil:
			s.problem(damage.Problem{File: s.o.FS.PathJoin(storage.StoreDir, damage.TableFile(t.File)), What: "the table's properties cannot be read: " + firstLine(err)})
		case t.Virtual && s.files.Tables[t.File] > 0:
			row.records = int64(float64(p.Records) * float64(t.Size) / float64(s.files.Tables[t.File]))
		default:
			row.records = int64(p.Records)
		}
		if err == nil {
			row.props = &p
		}
		u.tables = append(u.tables, row)
	}
	for i := range u.tables {
		if u.tables[i].family == key.Entry {
			u.entries = append(u.entries, i)
		}
	}
	slices.SortFunc(u.entries, func(a, b int) int { return bytes.Compare(u.tables[a].Smallest, u.tables[b].Smallest) })
	err := s.eachTopic(ctx, Selector{}, func(t *storage.TopicView) error {
		share := u.add(t)
		if each != nil {
			each(t, share)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return u, u.countKeys(ctx, s)
}

// add counts a topic's entries in the tables that hold them.
func (u *diskUse) add(t *storage.TopicView) topicShare {
	share := topicShare{parts: map[int]float64{}}
	for _, l := range slices.Concat(t.Ledgers, t.Compacted) {
		for i, x := range l.Extents {
			end, total := min(x.End(), l.Entries), l.StartBytes+l.Bytes
			if i+1 < len(l.Extents) {
				total = l.Extents[i+1].StartBytes
			}
			if end <= x.First {
				continue
			}
			first, last := key.ForEntry(x.Epoch, l.ID, x.First), key.ForEntry(x.Epoch, l.ID, end-1)
			each, found := float64(total-x.StartBytes)/float64(end-x.First), int64(0)
			at, _ := slices.BinarySearchFunc(u.entries, first, func(i int, k []byte) int { return bytes.Compare(u.tables[i].Largest, k) })
			for ; at < len(u.entries); at++ {
				tab := &u.tables[u.entries[at]]
				if bytes.Compare(tab.Smallest, last) > 0 {
					break
				}
				n := inside(tab.Table, x.Epoch, l.ID, x.First, end)
				found += n
				tab.live += float64(n)
				tab.logical += float64(n) * each
				share.parts[u.entries[at]] += float64(n) * each
			}
			share.inLog += max(0, end-x.First-found)
		}
	}
	return share
}

// inside is how many entries of [first, end) lie between a table's bounds.
func inside(t damage.Table, epoch uint64, ledger, first, end int64) int64 {
	if e, l, n, err := key.ParseEntry(t.Smallest); err == nil && e == epoch && l == ledger {
		first = max(first, n)
	}
	if e, l, n, err := key.ParseEntry(t.Largest); err == nil && e == epoch && l == ledger {
		end = min(end, n+1)
	}
	return max(0, end-first)
}

// countKeys counts the live keys of the other families and spreads them over
// their tables.
func (u *diskUse) countKeys(ctx context.Context, s *Session) error {
	stored := map[key.Family]int64{}
	for i := range u.tables {
		if t := &u.tables[i]; t.family != key.Entry {
			stored[t.family] += max(0, t.records)
		}
	}
	for f, n := range stored {
		live, err := s.countFamily(ctx, f)
		if err != nil {
			return err
		}
		for i := range u.tables {
			if t := &u.tables[i]; t.family == f && n > 0 {
				t.live = float64(t.records) * min(1, float64(live)/float64(n))
			}
		}
	}
	return nil
}

func (s *Session) countFamily(ctx context.Context, f key.Family) (n int64, err error) {
	lower, upper := f.Bounds()
	it, err := s.spool.Reader().NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return 0, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if err := errors.Join(it.Error(), it.Close(), ctx.Err()); err != nil {
		return 0, fmt.Errorf("count the records of family %s: %w", f, err)
	}
	return n, nil
}

// physical is a topic's share of the tables' live bytes.
func (u *diskUse) physical(share topicShare) int64 {
	n := 0.0
	for i, part := range share.parts {
		live, _ := u.tables[i].liveBytes()
		if all := u.tables[i].logical; all > 0 {
			n += float64(live) * part / all
		}
	}
	return int64(n)
}
