package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"spoolctl/inspect"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestVerifyFinds breaks one rule after the other in the records of a sound
// spool, whose checksums stay right, and expects verify to name it.
func TestVerifyFinds(t *testing.T) {
	get := func(t *testing.T, db *pebble.DB, k []byte) []byte {
		v, closer, err := db.Get(k)
		if err != nil {
			t.Fatalf("%s: %v", key.Format(k), err)
		}
		defer closer.Close()
		return append([]byte(nil), v...)
	}
	ledger := func(change func(*record.Ledger)) func(*testing.T, *pebble.DB) ([]byte, []byte) {
		return func(t *testing.T, db *pebble.DB) ([]byte, []byte) {
			k := key.ForLedger(1, 2)
			l, err := record.ParseLedger(get(t, db, k))
			if err != nil {
				t.Fatal(err)
			}
			change(&l)
			return k, l.Append(nil)
		}
	}
	cursor := func(change func(*record.Cursor)) func(*testing.T, *pebble.DB) ([]byte, []byte) {
		return func(t *testing.T, db *pebble.DB) ([]byte, []byte) {
			k := key.ForCursor(1, 2)
			c, err := record.ParseCursor(get(t, db, k))
			if err != nil {
				t.Fatal(err)
			}
			change(&c)
			return k, c.Append(nil)
		}
	}
	holes := func(change func(*record.Holes)) func(*testing.T, *pebble.DB) ([]byte, []byte) {
		return func(t *testing.T, db *pebble.DB) ([]byte, []byte) {
			k := key.ForHoles(1, 2, 2)
			h, err := record.ParseHoles(get(t, db, k))
			if err != nil {
				t.Fatal(err)
			}
			change(h)
			v, err := h.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			return k, v
		}
	}
	entry := func(change func(h *record.Header, data []byte)) func(*testing.T, *pebble.DB) ([]byte, []byte) {
		return func(t *testing.T, db *pebble.DB) ([]byte, []byte) {
			k := key.ForEntry(1, 1, 4)
			h, data, err := record.ParseHeader(get(t, db, k))
			if err != nil {
				t.Fatal(err)
			}
			change(&h, data)
			return k, append(record.AppendHeader(nil, h), data...)
		}
	}
	fixed := func(k, v []byte) func(*testing.T, *pebble.DB) ([]byte, []byte) {
		return func(*testing.T, *pebble.DB) ([]byte, []byte) { return k, v }
	}
	head := record.Topic{Name: "persistent://public/default/orders"}
	for _, c := range []struct {
		name, check, what string
		change            func(*testing.T, *pebble.DB) (k, v []byte) // a nil value deletes
	}{
		{"unknown family", inspect.CheckRecords, "no known family", fixed([]byte("Zx"), []byte("y"))},
		{"undecodable", inspect.CheckRecords, "malformed", fixed(key.ForCursor(1, 9), []byte{0xff})},
		{"document", inspect.CheckResources, "not a JSON document", fixed(key.ForResource('t', "x"), []byte("{"))},
		{"same name", inspect.CheckTopics, "the same name", fixed(key.ForTopic(3), head.Append(nil))},
		{"lost head", inspect.CheckOrphans, "topic that does not exist", fixed(key.ForTopic(1), nil)},
		{"lost ledger", inspect.CheckOrphans, "belong to no topic", fixed(key.ForLedger(1, 2), nil)},
		{"lost cursor", inspect.CheckOrphans, "cursor that does not exist", fixed(key.ForCursor(1, 2), nil)},
		{"lost extent", inspect.CheckTopics, "extents cover", fixed(key.ForExtent(2, 0), nil)},
		{"entry missing", inspect.CheckEntries, "entry 1:4 cannot be read", fixed(key.ForEntry(1, 1, 4), nil)},
		{"ledger counts", inspect.CheckLedgers, "starts at", ledger(func(l *record.Ledger) { l.StartMessages++ })},
		{"ledger bytes", inspect.CheckLedgers, "by its entries", ledger(func(l *record.Ledger) { l.Bytes++ })},
		{"ledger open", inspect.CheckLedgers, "open and not the last", ledger(func(l *record.Ledger) { l.State = record.LedgerOpen })},
		{"counters go back", inspect.CheckEntries, "counters go back", entry(func(h *record.Header, _ []byte) { h.TotalMessages = 1 })},
		{"counters jump", inspect.CheckEntries, "were expected", entry(func(h *record.Header, _ []byte) { h.TotalBytes++ })},
		{"batch size", inspect.CheckEntries, "the metadata 3", entry(func(h *record.Header, _ []byte) { h.Messages = 2 })},
		{"publish time", inspect.CheckEntries, "publish time", entry(func(h *record.Header, _ []byte) { h.PublishTime++ })},
		{"checksum", inspect.CheckEntries, wire.ErrChecksum.Error(), entry(func(_ *record.Header, d []byte) { d[len(d)-1] ^= 1 })},
		{"mark-delete behind the end", inspect.CheckCursors, "behind the last entry", cursor(func(c *record.Cursor) { c.MarkDelete = wire.Position{Ledger: 3, Entry: 99} })},
		{"mark-delete nowhere", inspect.CheckCursors, "not the position of an entry", cursor(func(c *record.Cursor) { c.MarkDelete = wire.Position{Ledger: 1, Entry: 77} })},
		{"range below mark-delete", inspect.CheckCursors, "not above its mark-delete", cursor(func(c *record.Cursor) { c.MarkDelete = wire.Position{Ledger: 2, Entry: 0} })},
		{"consumed", inspect.CheckBacklog, "by the entries", cursor(func(c *record.Cursor) { c.ConsumedMessages++ })},
		{"range without entries", inspect.CheckCursors, "where there are no entries", holes(func(h *record.Holes) { h.Acked.Add(100) })},
		{"partial of no batch", inspect.CheckCursors, "where there is no entry", holes(func(h *record.Holes) { h.Partials[50] = record.Partial{Size: 2, Words: []uint64{1}} })},
		{"partial too wide", inspect.CheckCursors, "wider than its batch", holes(func(h *record.Holes) { h.Partials[1] = record.Partial{Size: 3, Words: []uint64{0b1001}} })},
		{"partial of another size", inspect.CheckCursors, "the batch has 3", holes(func(h *record.Holes) { h.Partials[1] = record.Partial{Size: 4, Words: []uint64{1}} })},
		{"partial and whole", inspect.CheckCursors, "in full and in part", holes(func(h *record.Holes) { h.Acked.Add(1) })},
		{"partial of nothing", inspect.CheckCursors, "leaves 3 of 3", holes(func(h *record.Holes) { h.Partials[1] = record.Partial{Size: 3, Words: []uint64{7}} })},
		{"ids", inspect.CheckLedgers, "not below the next id", fixed(key.ForMeta("next-ledger"), []byte{2})},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			m := makeSpool(t, fs, "spool")
			sample(m)
			m.stop()
			db, err := pebble.Open("spool/store", &pebble.Options{FS: fs, Logger: silent{}, FormatMajorVersion: pebble.FormatValueSeparation})
			if err != nil {
				t.Fatal(err)
			}
			k, v := c.change(t, db)
			if v == nil {
				err = db.Delete(k, pebble.Sync)
			} else {
				err = db.Set(k, v, pebble.Sync)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s := open(t, inspect.Options{Dir: "spool", FS: fs})
			got, err := s.Verify(context.Background(), inspect.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range got.Findings {
				if (f.Check == c.check || s.Source().Damaged) && strings.Contains(f.What, c.what) {
					return
				}
			}
			t.Errorf("not found; got %s", dump(got.Findings))
		})
	}
}

// TestVerifyCompacted: the entries of a compacted ledger are checked as others are.
func TestVerifyCompacted(t *testing.T) {
	for _, c := range []struct {
		what   string                                 // expected in the finding
		change func(k, v []byte) (newKey, val []byte) // of the second entry; a nil value deletes, a nil key changes nothing
	}{
		{"", func([]byte, []byte) ([]byte, []byte) { return nil, nil }},
		{wire.ErrChecksum.Error(), func(k, v []byte) ([]byte, []byte) { v[len(v)-1] ^= 1; return k, v }},
		{"cannot be read", func(k, _ []byte) ([]byte, []byte) { return k, nil }},
		{"by its entries", func(k, v []byte) ([]byte, []byte) { v = append(v, 'x'); return k, v }},
		{"stands behind", func(k, v []byte) ([]byte, []byte) {
			h, data, err := record.ParseHeader(v)
			if err != nil {
				t.Fatal(err)
			}
			clear(data[:16])
			return k, append(record.AppendHeader(nil, h), data...)
		}},
		{"too short", func(k, v []byte) ([]byte, []byte) {
			h, data, err := record.ParseHeader(v)
			if err != nil {
				t.Fatal(err)
			}
			return k, append(record.AppendHeader(nil, h), data[:9]...)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			fs := vfs.NewMem()
			m := makeSpool(t, fs, "spool")
			o := m.topic("orders")
			for i := range 9 {
				o.single(fmt.Sprintf("value %d", i), fmt.Sprint("key-", i%3))
			}
			o.positions()
			if err := o.Compact(context.Background()); err != nil {
				t.Fatal(err)
			}
			ledger := o.Compaction().Ledger
			m.stop()
			db, err := pebble.Open("spool/store", &pebble.Options{FS: fs, Logger: silent{}, FormatMajorVersion: pebble.FormatValueSeparation})
			if err != nil {
				t.Fatal(err)
			}
			k := key.ForEntry(1, ledger, 1)
			v, closer, err := db.Get(k)
			if err != nil {
				t.Fatal(err)
			}
			k, v = c.change(k, bytes.Clone(v))
			err = closer.Close()
			switch {
			case k == nil:
			case v == nil:
				err = errors.Join(err, db.Delete(k, pebble.Sync))
			default:
				err = errors.Join(err, db.Set(k, v, pebble.Sync))
			}
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			got, err := open(t, inspect.Options{Dir: "spool", FS: fs}).Verify(context.Background(), inspect.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(got.Findings, func(f inspect.Finding) bool { return strings.Contains(f.What, c.what) })
			if c.what == "" {
				found = got.Found == 0 && got.Compacted == 3 && got.Entries == 9
			}
			if !found {
				t.Errorf("%s\n%s", dump(got), dump(got.Findings))
			}
		})
	}
}

// silent is a logger for Pebble that says nothing.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}
