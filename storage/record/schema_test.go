package record_test

import (
	"encoding/hex"
	"testing"
	"time"

	"spoolctl/storage/record"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSchemaFormat1 pins the encoding of a schema version.
func TestSchemaFormat1(t *testing.T) {
	s := record.Schema{Type: 4, Name: "n", Data: []byte("{}"), Properties: map[string]string{"a": "b"},
		Timestamp: time.UnixMilli(1_700_000_000_123), User: "u", Deleted: true}
	const want = "080412016e1a027b7d22060a016112016228fbd095ffbc313201753801"
	if got := hex.EncodeToString(s.Append(nil)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSchemaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, 60)
		s := record.Schema{
			Type: rapid.Int32().Draw(t, "type"), Name: text.Draw(t, "name"), User: text.Draw(t, "user"),
			Timestamp: time.UnixMilli(rapid.Int64Range(1, 1<<45).Draw(t, "at")).UTC(), Deleted: rapid.Bool().Draw(t, "deleted"),
		}
		if b := rapid.SliceOf(rapid.Byte()).Draw(t, "data"); len(b) > 0 {
			s.Data = b
		}
		if m := rapid.MapOfN(text, text, 0, 4).Draw(t, "properties"); len(m) > 0 {
			s.Properties = m
		}
		got, err := record.ParseSchema(s.Append(nil))
		if diff := cmp.Diff(s, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
}

// FuzzParseSchema feeds any bytes to the decoder; what it accepts must be stable when written again.
func FuzzParseSchema(f *testing.F) {
	s := record.Schema{Type: 2, Name: "n", Data: []byte("{}"), Properties: map[string]string{"a": "b"}}
	f.Add(s.Append(nil))
	f.Add([]byte{0x1a, 0xff, 0xff, 0x7f})
	f.Add([]byte{0x22, 2, 0x0a, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := record.ParseSchema(b)
		if err != nil {
			return
		}
		again, err := record.ParseSchema(s.Append(nil))
		if err != nil || again.Type != s.Type || again.Name != s.Name || len(again.Properties) != len(s.Properties) {
			t.Errorf("%+v became %+v: %v", s, again, err)
		}
	})
}
