package archive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/inspect/archive"
	"spoolctl/wire"

	"github.com/google/go-cmp/cmp"
)

func parts() []any {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	return []any{
		&archive.Resource{Kind: 't', Path: "public", Value: json.RawMessage(`{"adminRoles":[]}`)},
		&archive.Schema{Subject: "public/default/t", Version: 1, Type: 4, Name: "t", Data: []byte(`"long"`), Timestamp: at, User: "ann"},
		&archive.Topic{Name: "persistent://public/default/t", Created: at, Terminated: true, Last: wire.Position{Ledger: 3, Entry: 1}, Properties: map[string]string{"a": "b"}},
		&archive.Ledger{ID: 3, Entries: 4, Messages: 5, Bytes: 6, Created: at, Closed: at, FirstPublish: 7, LastPublish: 8, StartEntries: 9, StartMessages: 10, StartBytes: 11},
		&archive.Entry{ID: 0, PublishTime: 12, Messages: 1, Checksum: 1, Data: []byte("one")},
		&archive.Entry{ID: 1, PublishTime: -1, Messages: 2, Data: []byte("two")},
		&archive.Gap{First: 2, Last: 3, Why: "a bad block"},
		&archive.Cursor{Name: "sub", MarkDelete: wire.Position{Ledger: 3, Entry: -1}, Created: at, Positions: map[string]int64{"p": 1}},
		&archive.Acks{Ledger: 3, Ranges: [][2]int64{{1, 1}}, Partials: map[int64]archive.Partial{0: {Size: 2, Words: []uint64{1}}}},
		&archive.Producer{Name: "p", Sequence: 5, Chunked: -1, LastUse: at},
	}
}

func write(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, archive.Header{Spool: "uuid", Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts() {
		switch p := p.(type) {
		case *archive.Resource:
			err = w.Resource(*p)
		case *archive.Schema:
			err = w.Schema(*p)
		case *archive.Topic:
			err = w.Topic(*p)
		case *archive.Ledger:
			err = w.Ledger(*p)
		case *archive.Entry:
			err = w.Entry(*p)
		case *archive.Gap:
			err = w.Gap(*p)
		case *archive.Cursor:
			err = w.Cursor(*p)
		case *archive.Acks:
			err = w.Acks(*p)
		case *archive.Producer:
			err = w.Producer(*p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns all parts, entries with their own data.
func read(b []byte) (out []any, totals archive.Totals, err error) {
	r, err := archive.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, totals, err
	}
	defer r.Close()
	for {
		v, err := r.Next()
		if err != nil {
			return out, r.Totals(), err
		}
		if e, ok := v.(*archive.Entry); ok {
			e.Data = bytes.Clone(e.Data)
		}
		out = append(out, v)
	}
}

func TestRoundTrip(t *testing.T) {
	got, totals, err := read(write(t))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parts(), got); diff != "" {
		t.Error(diff)
	}
	want := archive.Totals{Resources: 1, Schemas: 1, Topics: 1, Ledgers: 1, Entries: 2, Bytes: 6, Cursors: 1, Missing: 2}
	if totals != want {
		t.Errorf("%+v", totals)
	}
}

// TestDamage cuts an archive at every length and flips every byte: nothing
// reads as whole.
func TestDamage(t *testing.T) {
	whole := write(t)
	for n := range whole {
		if _, _, err := read(whole[:n]); !errors.Is(err, archive.ErrDamaged) && !errors.Is(err, archive.ErrFormat) {
			t.Errorf("cut at %d: %v", n, err)
		}
		b := bytes.Clone(whole)
		b[n] ^= 0x10
		got, _, err := read(b)
		if errors.Is(err, io.EOF) && !cmp.Equal(parts(), got) {
			t.Errorf("byte %d flipped: other content, and no error", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(write(f))
	f.Add([]byte("SPOOLARC\x01"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _ = read(b) // any error is fine, a panic is not
	})
}

// lines writes the archive as lines of JSON.
func lines(t testing.TB) string {
	t.Helper()
	r, err := archive.NewReader(bytes.NewReader(write(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b strings.Builder
	if err := archive.WriteLines(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func readLines(text string) (out []any, totals archive.Totals, err error) {
	r, err := archive.NewLineReader(strings.NewReader(text))
	if err != nil {
		return nil, totals, err
	}
	for {
		v, err := r.Next()
		if err != nil {
			return out, r.Totals(), err
		}
		out = append(out, v)
	}
}

// TestLines: lines hold what the archive holds.
func TestLines(t *testing.T) {
	got, totals, err := readLines(lines(t))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parts(), got); diff != "" {
		t.Error(diff)
	}
	if _, want, _ := read(write(t)); totals != want {
		t.Errorf("%+v, want %+v", totals, want)
	}
}

// TestBadLines: every mistake is named with its line.
func TestBadLines(t *testing.T) {
	all := strings.SplitAfter(strings.TrimSuffix(lines(t), "\n"), "\n")
	join := func(l []string) string { return strings.Join(l, "") }
	for what, c := range map[string]struct{ text, want string }{
		"empty":        {"", "line 1 is no"},
		"messages":     {`{"topic":"persistent://public/default/t","messageId":"1:0"}` + "\n", "line 1 is no"},
		"no end":       {join(all[:len(all)-1]), "line 12: it is cut short"},
		"half a line":  {join(all[:4]) + all[4][:9], "line 5: "},
		"a line less":  {join(slices.Delete(slices.Clone(all), 5, 6)), "line 11: it says"},
		"no JSON":      {join(all[:2]) + "x\n", "line 3: "},
		"two parts":    {join(all[:2]) + `{"gap":{"first":0,"last":1},"acks":{"ledger":1}}` + "\n", "line 3: a line holds"},
		"no part":      {join(all[:2]) + "{}\n", "line 3: a line holds"},
		"unknown":      {join(all[:2]) + `{"cheese":1}` + "\n", "line 3: json: unknown field"},
		"bad entry":    {join(all[:2]) + `{"entry":{"id":-1}}` + "\n", "line 3: entry -1"},
		"bad gap":      {join(all[:2]) + `{"gap":{"first":2,"last":1}}` + "\n", "line 3: a gap"},
		"two headers":  {join(all[:2]) + all[0], "line 3: a second header"},
		"more behind":  {join(all) + "\n{}\n", "line 13: something follows"},
		"not the file": {"{", "line 1 is no"},
	} {
		_, _, err := readLines(c.text)
		if !errors.Is(err, archive.ErrDamaged) && !errors.Is(err, archive.ErrFormat) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add(lines(f))
	f.Fuzz(func(_ *testing.T, text string) { _, _, _ = readLines(text) })
}
