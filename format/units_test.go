package format_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spoolctl/format"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{
		{0, "0 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {10 << 20, "10.0 MiB"}, {1<<20 - 1, "1.0 MiB"},
		{math.MaxInt64, "8.0 EiB"}, {-2048, "-2.0 KiB"},
	} {
		if got := format.Size(c.n); got != c.want {
			t.Errorf("Size(%d) = %q, want %q", c.n, got, c.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "512": 512, "10M": 10 << 20, "10m": 10 << 20, "1.5G": 3 << 29, "2 KiB": 2048, "64kb": 64 << 10, "7E": 7 << 60, "100B": 100,
	} {
		if got, err := format.ParseSize(s); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "M", "-1", "10X", "8E", "99999999999999999999", "1.2.3", "1e3", "NaN", "10MM", "KB"} {
		if got, err := format.ParseSize(s); err == nil {
			t.Errorf("ParseSize(%q) = %d", s, got)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 340 * time.Millisecond: "340ms", 1250 * time.Millisecond: "1.2s", 59 * time.Second: "59s",
		4*time.Minute + 12*time.Second: "4m12s", time.Hour: "1h", 76 * time.Hour: "3d4h", 17 * 24 * time.Hour: "2w3d",
		-90 * time.Second: "-1m30s", 12 * time.Microsecond: "12µs", 5: "5ns",
	} {
		if got := format.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
	for s, want := range map[string]time.Duration{
		"0": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "1w": 168 * time.Hour,
		"1.5h": 90 * time.Minute, "-3h": -3 * time.Hour, "250ms": 250 * time.Millisecond,
	} {
		if got, err := format.ParseDuration(s); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "5", "h", "5x", "1e9w", "99999999999w", "--1s", "1h-1m"} {
		if got, err := format.ParseDuration(s); err == nil {
			t.Errorf("ParseDuration(%q) = %v", s, got)
		}
	}
}

// TestDurationRoundTrip: what is printed is read back, up to the two units
// that are shown.
func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(100*365*24*time.Hour)).Draw(t, "d"))
		back, err := format.ParseDuration(format.Duration(d))
		if err != nil || back-d > d/10+1 || d-back > d/10+1 {
			t.Fatalf("%d -> %s -> %d, %v", d, format.Duration(d), back, err)
		}
	})
}

func TestParseTime(t *testing.T) {
	n := now()
	for s, want := range map[string]time.Time{
		"2026-01-31T12:00:00Z": time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"-3h":                  n.Add(-3 * time.Hour), "2d": n.Add(-48 * time.Hour), "now": n,
	} {
		if got, err := format.ParseTime(s, n); err != nil || !got.Equal(want) {
			t.Errorf("ParseTime(%q) = %v, %v", s, got, err)
		}
	}
	if _, err := format.ParseTime("yesterday", n); err == nil {
		t.Error("yesterday is accepted")
	}
}

func TestRateAndCount(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.001: "<0.01", 0.25: "0.25", 12.34: "12.3", 840: "840", 999.6: "1.0k", 12100: "12.1k", 3.4e6: "3.4M", 182000: "182k"} {
		if got := format.Rate(v); got != want {
			t.Errorf("Rate(%v) = %q, want %q", v, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 84120: "84,120", -1234567: "-1,234,567", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := format.Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestHexdump(t *testing.T) {
	var b strings.Builder
	if err := format.Hexdump(&b, []byte("magic\x0e\x01meta and the payload "), format.Part{Name: "magic", Offset: 0}, format.Part{Name: "payload", Offset: 7}); err != nil {
		t.Fatal(err)
	}
	want := `-- magic
00000000  6d 61 67 69 63 0e 01                              |magic..|
-- payload
00000000                       6d  65 74 61 20 61 6e 64 20  |       meta and |
00000010  74 68 65 20 70 61 79 6c  6f 61 64 20              |the payload |
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestRangeMap(t *testing.T) {
	for _, c := range []struct {
		name    string
		ledger  format.Interval
		acked   []format.Interval
		partial []int64
		width   int
		want    string
	}{
		{"exact", format.Interval{First: 0, Last: 9}, []format.Interval{{First: 0, Last: 3}, {First: 6, Last: 6}}, []int64{5}, 80, "████░▒█░░░"},
		{"scaled", format.Interval{First: 0, Last: 9}, []format.Interval{{First: 0, Last: 3}, {First: 6, Last: 6}}, []int64{5}, 5, "██▒▓░"},
		{"one hole of a million", format.Interval{First: 0, Last: 999_999}, []format.Interval{{First: 0, Last: 499_999}, {First: 500_001, Last: 999_999}}, nil, 4, "██▓█"},
		{"beyond the ledger", format.Interval{First: 5, Last: 6}, []format.Interval{{First: 0, Last: 5}}, nil, 4, "█░"},
		{"empty", format.Interval{First: 0, Last: -1}, nil, nil, 10, ""},
		{"no width", format.Interval{First: 0, Last: 1}, nil, nil, 0, ""},
	} {
		if got := format.RangeMap(c.ledger, c.acked, c.partial, c.width); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := format.RangeLegend("██▓█"); got != "█ acked  ▓ some of each" {
		t.Errorf("legend %q", got)
	}
}

// TestRangeMapTruth: whatever the width, the map is full exactly when
// everything is acknowledged.
func TestRangeMapTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 500).Draw(t, "entries")
		width := rapid.IntRange(1, 100).Draw(t, "width")
		var acked []format.Interval
		full := true
		for e := range n {
			if rapid.IntRange(0, 9).Draw(t, "acked") > 0 {
				acked = append(acked, format.Interval{First: e, Last: e})
			} else {
				full = false
			}
		}
		m := format.RangeMap(format.Interval{First: 0, Last: n - 1}, acked, nil, width)
		if got := len([]rune(m)); got != int(min(n, int64(width))) {
			t.Fatalf("%d cells", got)
		}
		if full != (strings.Trim(m, "█") == "") {
			t.Fatalf("full is %t: %s", full, m)
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 日本": "plain ü 日本", "a\x00b": `a\x00b`, "\x1b]0;x\x07": `\x1b]0;x\x07`, "l\r\n": `l\r\n`,
		"\u009b31m": `\u009b31m`, "\xff\xfe": `\xff\xfe`, "\ufffd": "\ufffd", "a\u2066b": `a\u2066b`,
	} {
		if got := format.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := format.CleanLines("a\n\tb\r"); got != "a\n\tb\\r" {
		t.Errorf("CleanLines: %q", got)
	}
}

func TestPreview(t *testing.T) {
	long := strings.Repeat("é", 100)
	for in, want := range map[string]string{
		"":               "",
		"text":           "text",
		"two\nlines":     `two\nlines`,
		"\x00\x01":       "0x0001",
		long:             strings.Repeat("é", 64) + "…",
		"\xff\xfe plain": "0xfffe20706c61696e",
	} {
		if got := format.Preview([]byte(in)); got != want {
			t.Errorf("Preview(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPreview(f *testing.F) {
	f.Add([]byte("text"))
	f.Add([]byte("\xc3"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := format.Preview(b); got != format.Clean(got) {
			t.Errorf("%q is not clean", got)
		}
	})
}
