package wire_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"spoolctl/wire"
)

func drawPosition(t *rapid.T) wire.Position {
	return wire.Position{
		Ledger: rapid.Int64Range(-1, math.MaxInt64).Draw(t, "ledger"),
		Entry:  rapid.Int64Range(-1, math.MaxInt64).Draw(t, "entry"),
	}
}

func TestPositionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPosition(t)
		if got, err := wire.ParsePosition(p.String()); err != nil || got != p {
			t.Fatalf("ParsePosition(%q) = %v, %v", p, got, err)
		}
		id := wire.MessageID{
			Position:  p,
			Partition: rapid.Int32Range(-1, math.MaxInt32).Draw(t, "partition"),
			Batch:     rapid.Int32Range(-1, math.MaxInt32).Draw(t, "batch"),
		}
		if got, err := wire.ParseMessageID(id.String()); err != nil || got != id {
			t.Fatalf("ParseMessageID(%q) = %v, %v", id, got, err)
		}
	})
}

func TestMessageIDString(t *testing.T) {
	for want, id := range map[string]wire.MessageID{
		"5:7":      {wire.Position{Ledger: 5, Entry: 7}, -1, -1},
		"5:-1":     {wire.Position{Ledger: 5, Entry: -1}, -1, -1},
		"5:7:0":    {wire.Position{Ledger: 5, Entry: 7}, 0, -1},
		"5:7:-1:3": {wire.Position{Ledger: 5, Entry: 7}, -1, 3},
		"5:7:2:3":  {wire.Position{Ledger: 5, Entry: 7}, 2, 3},
	} {
		if got := id.String(); got != want {
			t.Errorf("%#v: got %q, want %q", id, got, want)
		}
	}
}

func TestParsePositionWords(t *testing.T) {
	for s, want := range map[string]wire.Position{"earliest": {Ledger: -1, Entry: -1}, "latest": {Ledger: math.MaxInt64, Entry: math.MaxInt64}} {
		if got, err := wire.ParsePosition(s); err != nil || got != want {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
		if got, err := wire.ParseMessageID(s); err != nil || got != (wire.MessageID{Position: want, Partition: -1, Batch: -1}) {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
}

func TestParsePositionErrors(t *testing.T) {
	for _, s := range []string{"", "5", "5:", ":5", "a:b", "5:6:7", "-2:0", "5:-2", "9223372036854775808:0", "5: 6", "Earliest", "5:6:7:8:9"} {
		if _, err := wire.ParsePosition(s); !errors.Is(err, wire.ErrPosition) {
			t.Errorf("ParsePosition(%q): got %v", s, err)
		}
	}
	for _, s := range []string{"5:6:", "5:6:2147483648", "5:6:7:8:9", "5:6:7:x"} {
		if _, err := wire.ParseMessageID(s); !errors.Is(err, wire.ErrPosition) {
			t.Errorf("ParseMessageID(%q): got %v", s, err)
		}
	}
}

func TestPositionOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) wire.MessageID {
			small := rapid.Int64Range(-1, 2)
			return wire.MessageID{
				Position:  wire.Position{Ledger: small.Draw(t, "l"), Entry: small.Draw(t, "e")},
				Partition: int32(small.Draw(t, "p")), Batch: int32(small.Draw(t, "b")),
			}
		}), 2, 20).Draw(t, "ids")
		slices.SortFunc(ids, wire.MessageID.Compare)
		for i, id := range ids[1:] {
			if id.Less(ids[i]) || id.Position.Less(ids[i].Position) {
				t.Fatalf("%v sorted behind %v", id, ids[i])
			}
			if (id.Compare(ids[i]) == 0) != (id == ids[i]) {
				t.Fatalf("%v and %v: equal order must mean equal ids", id, ids[i])
			}
			if id.Less(wire.MessageID{Position: wire.Earliest(), Partition: -1, Batch: -1}) || wire.Latest().Less(id.Position) {
				t.Fatalf("%v is outside earliest and latest", id)
			}
		}
	})
}

func FuzzParseMessageID(f *testing.F) {
	for _, s := range []string{"5:7", "5:-1:2:3", "earliest", "latest", "1:2:3:4:5", "+1:2", "00:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := wire.ParseMessageID(s)
		if err != nil {
			if !errors.Is(err, wire.ErrPosition) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := wire.ParseMessageID(id.String()); err != nil || again != id {
			t.Fatalf("%q gave %v, which reads back as %v, %v", s, id, again, err)
		}
	})
}
