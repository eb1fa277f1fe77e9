package maintain_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// TestLostEntries: what is lost of a ledger is known from then on: the salvaged spool has no findings, and every cursor,
// new ones and ones that seek back too, gets all the rest and comes to the end.
func TestLostEntries(t *testing.T) {
	ctx := context.Background()
	dir := makeSpool(t)
	positionsOf := func(s *storage.Spool) (out []wire.Position) {
		v, err := s.TopicByName(name(t, orders))
		must(t, err)
		must(t, v.Walk(ctx, wire.Earliest(), wire.Latest(), func(e storage.Entry) (bool, error) {
			out = append(out, e.Position)
			return true, nil
		}))
		return out
	}
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	must(t, err)
	all := positionsOf(s)
	must(t, s.Close())
	// The first, some in the middle, a whole ledger of 8, and the last.
	lost := slices.Concat(all[:1], all[11:14], all[16:24], all[30:31], all[39:])
	remove(t, dir, lost)

	res, to := salvage(t, dir)
	if res.LostEntries != int64(len(lost)) || res.Findings != 0 {
		t.Errorf("%+v", res)
	}
	sound(t, to)
	left := slices.DeleteFunc(slices.Clone(all), func(p wire.Position) bool { return slices.Contains(lost, p) })
	st := open(t, storage.Options{Dir: to})
	topic, err := st.OpenTopic(ctx, name(t, orders), nil)
	must(t, err)
	topic.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	fresh, err := topic.CreateCursor(ctx, storage.CursorOptions{Name: "fresh", MarkDelete: wire.Earliest(), Durable: true})
	must(t, err)
	drains(t, fresh, left)
	must(t, fresh.Seek(ctx, wire.Earliest()))
	drains(t, fresh, left)
	must(t, fresh.Seek(ctx, all[12])) // into the lost ones
	drains(t, fresh, left[10:])
	drains(t, topic.Cursor("audit"), left)
	billing := slices.DeleteFunc(slices.Clone(left), func(p wire.Position) bool { return !all[10].Less(p) || p == all[15] })
	drains(t, topic.Cursor("billing"), billing)
	must(t, topic.Close(ctx))
	must(t, st.Close(ctx))
	sound(t, to)

	again, to := salvage(t, to)
	if again.LostEntries != 0 || !again.Whole() {
		t.Errorf("salvaged again: %+v", again)
	}
	sound(t, to)
	s, err = storage.OpenRead(storage.ReadOptions{Dir: to})
	must(t, err)
	if got := positionsOf(s); !slices.Equal(got, left) {
		t.Errorf("%v are there, not %v", got, left)
	}
	v, err := s.TopicByName(name(t, orders))
	must(t, err)
	if _, err := v.ReadAt(ctx, all[12]); err == nil {
		t.Error("a lost entry was read")
	}
	must(t, s.Close())
}

// drains acknowledges a cursor's backlog, which must be the entries at want.
func drains(t *testing.T, c *storage.Cursor, want []wire.Position) {
	t.Helper()
	ctx := context.Background()
	if b := c.Backlog(); b.Entries != int64(len(want)) || b.Messages != int64(len(want)) {
		t.Errorf("%s: backlog %+v of %d entries", c.Name(), b, len(want))
	}
	var got []wire.Position
	for from := wire.Earliest(); ; {
		pending, next, err := c.Pending(ctx, from, 3, 1<<20, nil)
		must(t, err)
		if len(pending) == 0 {
			break
		}
		for _, e := range pending {
			got = append(got, e.Position)
			must(t, c.Ack([]storage.Ack{{Position: e.Position}}, nil))
		}
		from = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", c.Name(), got, want)
	}
	if b := c.Backlog(); b != (storage.Backlog{}) {
		t.Errorf("%s: %+v is left", c.Name(), b)
	}
	must(t, c.Flush(ctx))
}

// remove deletes entries behind the back of everybody.
func remove(t *testing.T, dir string, at []wire.Position) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, storage.StoreDir), storage.EngineOptions())
	must(t, err)
	lower, upper := key.Entry.Bounds()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	must(t, err)
	b := db.NewBatch()
	for ok := it.First(); ok; ok = it.Next() {
		_, ledger, entry, err := key.ParseEntry(it.Key())
		must(t, err)
		if slices.Contains(at, wire.Position{Ledger: ledger, Entry: entry}) {
			must(t, b.Delete(slices.Clone(it.Key()), nil))
		}
	}
	must(t, it.Close())
	if int(b.Count()) != len(at) {
		t.Fatalf("%d of %d entries were found", b.Count(), len(at))
	}
	must(t, b.Commit(pebble.Sync))
	must(t, db.Close())
}

// TestLostLedgerEnd: a ledger whose end is lost, which the one that follows tells, has its length again.
func TestLostLedgerEnd(t *testing.T) {
	ctx := context.Background()
	dir := makeSpool(t)
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	must(t, err)
	v, err := s.TopicByName(name(t, orders))
	must(t, err)
	l := v.Ledgers[2]
	must(t, s.Close())
	var lost []wire.Position
	for e := int64(6); e < l.Entries; e++ {
		lost = append(lost, wire.Position{Ledger: l.ID, Entry: e})
	}
	remove(t, dir, lost)
	rec, x := l.Ledger, l.Extents[0]
	rec.Entries, rec.Messages, rec.Bytes, x.Count = 6, 6, rec.Bytes*6/8, 6
	db, err := pebble.Open(filepath.Join(dir, storage.StoreDir), storage.EngineOptions())
	must(t, err)
	must(t, db.Set(key.ForLedger(v.ID, l.ID), rec.Append(nil), pebble.Sync))
	must(t, db.Set(key.ForExtent(l.ID, 0), x.Append(nil), pebble.Sync))
	must(t, db.Close())
	if len(findings(t, dir)) == 0 {
		t.Fatal("nothing is wrong with the spool")
	}

	res, to := salvage(t, dir)
	if res.LostEntries != 2 || res.Findings != 0 {
		t.Errorf("%+v", res)
	}
	sound(t, to)
	st := open(t, storage.Options{Dir: to})
	topic, err := st.OpenTopic(ctx, name(t, orders), nil)
	must(t, err)
	if b := topic.Cursor("audit").Backlog(); b.Entries != 38 || b.Messages != 38 {
		t.Errorf("audit has %+v", b)
	}
	must(t, topic.Close(ctx))
	must(t, st.Close(ctx))
}
