package record_test

import (
	"bytes"
	"encoding/hex"
	"testing"
	"time"

	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFormat1 pins the encodings: they are on disk, so they never change.
func TestFormat1(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	bitmap := roaring.BitmapOf(1, 2, 3, 9)
	holes := record.Holes{Acked: bitmap, Partials: map[uint32]record.Partial{11: {Size: 3, Words: []uint64{0b101}}}}
	encodedHoles, err := holes.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	topic := record.Topic{Name: "persistent://public/default/t", Created: at, Terminated: true, Last: wire.Position{Ledger: 3, Entry: 4}, Properties: map[string]string{"a": "b"}}
	ledger := record.Ledger{State: record.LedgerClosed, Entries: 1, Messages: 2, Bytes: 3, Created: at, Closed: at, FirstPublish: 4, LastPublish: 5, StartEntries: 6, StartMessages: 7, StartBytes: 8}
	extent := record.Extent{First: 9, Epoch: 1, Count: 2, StartMessages: 3, StartBytes: 4, FirstPublish: 5, LastPublish: 6}
	cursor := record.Cursor{Name: "s", MarkDelete: wire.Position{Ledger: 1, Entry: -1}, ConsumedMessages: 2, ConsumedBytes: 3, Created: at, LastActive: at, Properties: map[string]string{"p": "q"}, Positions: map[string]int64{"n": -1}}
	for _, c := range []struct {
		what, want string
		got        []byte
	}{
		{"header", "11818080ef5903e807a08d06", record.AppendHeader(nil, record.Header{PublishTime: 24123539457, Messages: 3, TotalMessages: 1000, TotalBytes: 100000, Checksum: record.ChecksumVerified})},
		{"topic", "0a1d70657273697374656e743a2f2f7075626c69632f64656661756c742f7410fbd095ffbc3118012003280432060a0161120162", topic.Append(nil)},
		{"ledger", "080110011802200328fbd095ffbc3130fbd095ffbc3138044005480650075808", ledger.Append(nil)},
		{"extent", "080110021803200428053006", extent.Append(nil)},
		{"cursor", "0a0173100118ffffffffffffffffff012002280330fbd095ffbc3138fbd095ffbc3142060a01701201714a0e0a016e10ffffffffffffffffff01", cursor.Append(nil)},
		{"holes", "01183a3000000100000000000300100000000100020003000900010b03010500000000000000", encodedHoles},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := func(n string) int64 { return rapid.Int64Min(0).Draw(t, n) }
		at := func(n string) time.Time { return time.UnixMilli(rapid.Int64Range(1, 1<<45).Draw(t, n)).UTC() }
		text := rapid.StringN(0, 30, 100)
		pairs := func(n string) map[string]string {
			m := rapid.MapOfN(text, text, 0, 5).Draw(t, n)
			if len(m) == 0 {
				return nil
			}
			return m
		}

		h := record.Header{PublishTime: i("publish"), Messages: rapid.Int32Min(1).Draw(t, "messages"), TotalMessages: i("total"), TotalBytes: i("bytes"), Checksum: record.ChecksumState(rapid.IntRange(0, 2).Draw(t, "sum"))}
		data := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "data")
		gotH, gotData, err := record.ParseHeader(append(record.AppendHeader(nil, h), data...))
		equal(t, err, h, gotH)
		if !bytes.Equal(data, gotData) {
			t.Fatalf("data %x, want %x", gotData, data)
		}

		topic := record.Topic{Name: text.Draw(t, "name"), Created: at("created"), Properties: pairs("properties")}
		if topic.Terminated = rapid.Bool().Draw(t, "terminated"); topic.Terminated {
			topic.Last = wire.Position{Ledger: i("ledger"), Entry: rapid.Int64Min(-1).Draw(t, "entry")}
		}
		gotT, err := record.ParseTopic(topic.Append(nil))
		equal(t, err, topic, gotT)

		l := record.Ledger{State: record.LedgerClosed, Entries: i("entries"), Messages: i("messages"), Bytes: i("bytes"), Created: at("created"), Closed: at("closed"),
			FirstPublish: i("first"), LastPublish: i("last"), StartEntries: i("se"), StartMessages: i("sm"), StartBytes: i("sb"),
			Object: rapid.String().Draw(t, "object"), ObjectBytes: i("object bytes"), Offloaded: at("offloaded"), LocalDeleted: rapid.Bool().Draw(t, "deleted"), Compacted: rapid.Bool().Draw(t, "compacted")}
		gotL, err := record.ParseLedger(l.Append(nil))
		equal(t, err, l, gotL)

		x := record.Extent{First: rapid.Int64Range(0, 1<<40).Draw(t, "x first"), Epoch: rapid.Uint64().Draw(t, "epoch"), Count: rapid.Int64Range(1, 1<<40).Draw(t, "count"),
			StartMessages: i("sm"), StartBytes: i("sb"), FirstPublish: i("fp"), LastPublish: i("lp")}
		gotX, err := record.ParseExtent(x.First, x.Append(nil))
		equal(t, err, x, gotX)

		c := record.Cursor{Name: text.Draw(t, "sub"), MarkDelete: wire.Position{Ledger: i("ml"), Entry: rapid.Int64Min(-1).Draw(t, "me")}, ConsumedMessages: i("cm"), ConsumedBytes: i("cb"),
			Created: at("cc"), LastActive: at("ca"), Properties: pairs("cp")}
		if m := rapid.MapOfN(text, rapid.Int64(), 0, 3).Draw(t, "positions"); len(m) > 0 {
			c.Positions = m
		}
		gotC, err := record.ParseCursor(c.Append(nil))
		equal(t, err, c, gotC)

		holes := record.Holes{Acked: roaring.BitmapOf(rapid.SliceOf(rapid.Uint32Max(100_000)).Draw(t, "acked")...)}
		for _, id := range rapid.SliceOfNDistinct(rapid.Uint32(), 0, 4, rapid.ID[uint32]).Draw(t, "partials") {
			size := rapid.Int32Range(1, 200).Draw(t, "size")
			if holes.Partials == nil {
				holes.Partials = map[uint32]record.Partial{}
			}
			holes.Partials[id] = record.Partial{Size: size, Words: rapid.SliceOfN(rapid.Uint64(), int(size+63)/64, int(size+63)/64).Draw(t, "words")}
		}
		enc, err := holes.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := record.ParseHoles(enc)
		if err != nil || !got.Acked.Equals(holes.Acked) || !cmp.Equal(got.Partials, holes.Partials) {
			t.Fatalf("holes: %v", err)
		}
	})
}

func equal[T any](t *rapid.T, err error, want, got T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// TestLaterFieldsAreSkipped checks that a record written by a later version is readable.
func TestLaterFieldsAreSkipped(t *testing.T) {
	l := record.Ledger{Entries: 5, Lost: []record.Run{{First: 0, Last: 2}, {First: 4, Last: 4}}}
	later := append(l.Append(nil), 0xa2, 0x06, 3, 'a', 'b', 'c') // field 100, three bytes
	got, err := record.ParseLedger(later)
	if err != nil || !cmp.Equal(got, l) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// FuzzParse feeds any bytes to every decoder: none may panic or take memory out of proportion.
func FuzzParse(f *testing.F) {
	l := record.Ledger{Entries: 5, Bytes: 7, Lost: []record.Run{{First: 1, Last: 2}, {First: 4, Last: 4}}}
	f.Add(l.Append(nil))
	f.Add(record.AppendHeader(nil, record.Header{Messages: 1}))
	h := record.Holes{Acked: roaring.BitmapOf(1, 2, 70000), Partials: map[uint32]record.Partial{4: {Size: 2, Words: []uint64{1}}}}
	b, err := h.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		record.ParseHeader(b)
		record.ParseTopic(b)
		record.ParseLedger(b)
		record.ParseExtent(1, b)
		record.ParseCursor(b)
		record.ParseHoles(b)
		if p, err := record.ParseProducer(b); err == nil {
			if again, err := record.ParseProducer(p.Append(nil)); err != nil || again != p {
				t.Errorf("%+v became %+v, %v", p, again, err)
			}
		}
	})
}
