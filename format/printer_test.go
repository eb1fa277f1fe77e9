package format_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spoolctl/format"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// row has a field of every kind.
type row struct {
	Name    string            `json:"name" col:"TOPIC,name"`
	Backlog *int64            `json:"msg_backlog" col:"msg_backlog" fmt:"count"`
	Bytes   int64             `json:"bytes" col:"BYTES" fmt:"bytes"`
	Rate    float64           `json:"rate" col:"IN/s" fmt:"rate"`
	Created time.Time         `json:"created" col:"AGE" fmt:"age"`
	Roles   []string          `json:"roles" col:"ROLES,wide"`
	Props   map[string]string `json:"props"`
	Payload []byte            `json:"payload" col:"PAYLOAD,wide" fmt:"preview"`
	Inner   inner             `json:"inner"`
}

type inner struct {
	On   bool `json:"on"`
	Size int  `json:"size" fmt:"bytes"`
}

func rows() []row {
	seen := time.Date(2026, 2, 26, 8, 0, 0, 0, time.FixedZone("east", 3600))
	return []row{
		{Name: "persistent://public/default/t-10", Backlog: new(int64(84120)), Bytes: 18 << 30, Rate: 12100.4, Created: seen, Roles: []string{"a", "b"}, Payload: []byte("hello")},
		{Name: "日本語-topic", Bytes: 512, Rate: math.NaN(), Props: map[string]string{"k": "v"}, Payload: []byte{0, 1, 2}},
		{Name: "warn ⚠️ sign", Backlog: new(int64(0)), Inner: inner{On: true, Size: 2048}},
		{Name: "evil\x1b[31m\x07\n|`tab\t\u202e\xff\u0085", Backlog: new(int64(7)), Bytes: math.MaxInt64},
	}
}

func printRows(t *testing.T, o format.Options, items []row, lo format.ListOptions) (out, notes string) {
	t.Helper()
	o.Now = now
	var b, n bytes.Buffer
	p, err := format.New(&b, &n, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := format.List(p, items, lo); err != nil {
		t.Fatal(err)
	}
	return b.String(), n.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (rewrite with -rewrite): %s", path, diff)
	}
}

func TestListFormats(t *testing.T) {
	summary := struct {
		Bytes int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
	}{1 << 20}
	for _, f := range append(format.Formats(), "template={{.name}} {{bytes .bytes}}") {
		name, _, _ := strings.Cut(f, "=")
		t.Run(name, func(t *testing.T) {
			out, notes := printRows(t, format.Options{Format: f, Limit: 3, Sort: "-msg_backlog"}, rows(), format.ListOptions{Total: 9, Summary: summary})
			golden(t, "list."+name, out+"--- notes\n"+notes)
			if strings.ContainsAny(out, "\x1b\x07\u202e\u0085") {
				t.Error("a control character reached the output")
			}
			if !strings.Contains(out+notes, "shown 3 of 9") && !strings.Contains(out, "truncated") {
				t.Error("the cut is not mentioned")
			}
		})
	}
}

// TestColumnsLeaveTheSummary: --columns is about rows.
func TestColumnsLeaveTheSummary(t *testing.T) {
	summary := struct {
		Bytes int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
	}{1 << 20}
	out, _ := printRows(t, format.Options{Columns: []string{"name"}}, rows(), format.ListOptions{Summary: summary})
	if !strings.Contains(out, "BYTES  1.0 MiB") {
		t.Errorf("%s", out)
	}
}

// TestNestedLists: a list of structs inside an object is a small table, a wide one a block for each item.
func TestNestedLists(t *testing.T) {
	type use struct {
		Family string `json:"family" col:"FAMILY"`
		Bytes  int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
		Level  int    `json:"level" col:"LEVEL,wide"`
	}
	type broad struct{ A, B, C, D, E, F, G, H, I, J, K int }
	summary := struct {
		Topics int      `json:"topics" col:"TOPICS"`
		Disk   []use    `json:"disk" col:"DISK"`
		Names  []string `json:"names" col:"NAMES"`
		None   []use    `json:"none" col:"NONE"`
		Broad  []broad  `json:"broad" col:"BROAD"`
	}{2, []use{{"entry", 5 << 20, 6}, {"注文\x1b", 1, 0}}, []string{"a", "b"}, nil, []broad{{A: 1}}}
	for _, f := range []string{"table", "wide", "markdown"} {
		for _, bare := range []bool{false, true} {
			var b bytes.Buffer
			p, err := format.New(&b, io.Discard, format.Options{Format: f, Now: now, NoHeaders: bare, Columns: map[bool][]string{true: {"disk", "topics"}}[bare]})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Object(summary); err != nil {
				t.Fatal(err)
			}
			golden(t, fmt.Sprintf("nested.%s.%t", f, bare), b.String())
		}
	}
}

func TestObjectFormats(t *testing.T) {
	for _, f := range format.Formats() {
		t.Run(f, func(t *testing.T) {
			var b bytes.Buffer
			p, err := format.New(&b, io.Discard, format.Options{Format: f, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Object(rows()[0]); err != nil {
				t.Fatal(err)
			}
			golden(t, "object."+f, b.String())
		})
	}
}

// TestRawObject keeps fields that no struct knows, their order and digits.
func TestRawObject(t *testing.T) {
	raw := json.RawMessage(`{"z":9007199254740993,"a":{"list":[{"x":1},{"x":2}],"none":null},"s":["a","b"]}`)
	for _, f := range []string{"json", "table", "yaml"} {
		var b bytes.Buffer
		p, err := format.New(&b, io.Discard, format.Options{Format: f})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Object(raw); err != nil {
			t.Fatal(err)
		}
		golden(t, "raw."+f, b.String())
	}
}

// TestSameFields compares what each format can show of one struct.
func TestSameFields(t *testing.T) {
	var doc struct{ Items []map[string]any }
	out, _ := printRows(t, format.Options{Format: "json"}, rows(), format.ListOptions{})
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	var leaves []string
	for k, v := range doc.Items[0] {
		if m, ok := v.(map[string]any); ok && k == "inner" {
			for k2 := range m {
				leaves = append(leaves, k+"."+k2)
			}
			continue
		}
		leaves = append(leaves, k)
	}
	csv, _ := printRows(t, format.Options{Format: "csv"}, rows(), format.ListOptions{})
	head := strings.Split(strings.SplitN(csv, "\n", 2)[0], ",")
	wide, _ := printRows(t, format.Options{Format: "wide"}, rows()[:1], format.ListOptions{})
	columns := strings.Fields(strings.SplitN(wide, "\n", 2)[0])
	if len(head) != len(leaves) || len(columns) != len(leaves) {
		t.Errorf("json has %d fields, csv %d, wide %d", len(leaves), len(head), len(columns))
	}
	for _, k := range leaves {
		if !strings.Contains(","+strings.Join(head, ",")+",", ","+k+",") {
			t.Errorf("csv lacks %s", k)
		}
	}
}

func TestEmptyList(t *testing.T) {
	out, _ := printRows(t, format.Options{Format: "json"}, nil, format.ListOptions{})
	want := "{\n  \"items\": [],\n  \"total\": 0,\n  \"shown\": 0,\n  \"truncated\": false\n}\n"
	if out != want {
		t.Errorf("got %q", out)
	}
	out, _ = printRows(t, format.Options{}, nil, format.ListOptions{})
	if out != "TOPIC  msg_backlog  BYTES  IN/s  AGE\n" {
		t.Errorf("got %q", out)
	}
}

func TestLongTable(t *testing.T) {
	many := make([]row, 1501)
	for i := range many {
		many[i] = row{Name: fmt.Sprintf("t-%04d", i), Bytes: 7}
	}
	out, _ := printRows(t, format.Options{Limit: 1001}, many, format.ListOptions{})
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if last := lines[len(lines)-1]; last != "shown 1001 of 1501" {
		t.Errorf("last line is %q", last)
	}
	if len(lines) != 1+1001+2 {
		t.Errorf("%d lines", len(lines))
	}
	// The first thousand rows are laid out by another path than the rest.
	a, b := lines[1000], lines[1001]
	if strings.Index(a, "n/a") != strings.Index(b, "n/a") || strings.Index(a, "7 B") != strings.Index(b, "7 B") {
		t.Errorf("rows differ in layout:\n%s\n%s", a, b)
	}
}

func TestStreamEnds(t *testing.T) {
	broken := errors.New("broken")
	seq := func(yield func(row, error) bool) {
		if yield(row{Name: "a"}, nil) {
			yield(row{}, broken)
		}
	}
	var b bytes.Buffer
	p, _ := format.New(&b, io.Discard, format.Options{Format: "json"})
	err := format.Stream(p, seq, format.ListOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	var doc struct {
		Items     []any
		Total     *int
		Truncated bool
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Items) != 1 || doc.Total != nil || !doc.Truncated {
		t.Errorf("%v %+v", err, doc)
	}
}

func TestJQ(t *testing.T) {
	out, _ := printRows(t, format.Options{JQ: `.items[] | select(.bytes > 1000) | .name, .bytes`}, rows(), format.ListOptions{})
	want := "persistent://public/default/t-10\n19327352832\nevil\\x1b[31m\\x07\n|`tab\t\\u202e\\xff\\u0085\n9223372036854775807\n"
	if out != want {
		t.Errorf("got %q", out)
	}
}

func TestColumns(t *testing.T) {
	out, _ := printRows(t, format.Options{Columns: []string{"BYTES", "name"}, NoHeaders: true, Sort: "name"}, rows()[:2], format.ListOptions{})
	want := "18.0 GiB  persistent://public/default/t-10\n   512 B  日本語-topic\n"
	if out != want {
		t.Errorf("got %q", out)
	}
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []format.Options{
		{Format: "xml"},
		{JQ: ".["},
		{Format: "template={{"},
		{Limit: -1},
		{Sort: "nonsense"},
		{Columns: []string{"nonsense"}},
		{Columns: []string{"nonsense"}, Format: "csv"},
	} {
		p, err := format.New(io.Discard, io.Discard, o)
		if err == nil {
			err = format.List(p, rows(), format.ListOptions{})
		}
		if !errors.Is(err, format.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputErrors(t *testing.T) {
	for _, f := range format.Formats() {
		p, _ := format.New(failing{&os.PathError{Op: "write", Err: syscall.EPIPE}}, io.Discard, format.Options{Format: f})
		if err := format.List(p, rows(), format.ListOptions{}); !errors.Is(err, format.ErrClosedOutput) {
			t.Errorf("%s: EPIPE gives %v", f, err)
		}
		p, _ = format.New(failing{syscall.ENOSPC}, io.Discard, format.Options{Format: f})
		if err := p.Object(rows()[0]); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, format.ErrClosedOutput) {
			t.Errorf("%s: ENOSPC gives %v", f, err)
		}
	}
}

func TestSentence(t *testing.T) {
	for _, c := range []struct {
		o    format.Options
		want string
	}{
		{format.Options{}, "did it\n"},
		{format.Options{Quiet: true}, ""},
		{format.Options{Format: "json", Quiet: true}, "{\n  \"what\": \"it\"\n}\n"},
	} {
		var b bytes.Buffer
		p, _ := format.New(&b, io.Discard, c.o)
		if err := p.Object(sentence{"it"}); err != nil || b.String() != c.want {
			t.Errorf("%+v: %v %q", c.o, err, b.String())
		}
	}
}

type sentence struct {
	What string `json:"what"`
}

func (s sentence) Sentence() string { return "did " + s.What }

func TestColumnWithoutJSON(t *testing.T) {
	type wrong struct {
		A int `json:"-" col:"A"`
	}
	p, _ := format.New(io.Discard, io.Discard, format.Options{})
	if err := format.List(p, []wrong{{}}, format.ListOptions{}); err == nil {
		t.Error("a table-only field is accepted")
	}
}

func TestErrors(t *testing.T) {
	base := &format.Error{Kind: format.ErrUnavailable, Msg: "topic t", Err: errors.New("gone\x1b"), Hint: "look", Details: map[string]any{"n": 1}}
	wrapped := fmt.Errorf("outer: %w", base)
	var b bytes.Buffer
	if err := format.WriteError(&b, wrapped, 4, false); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "error: outer: topic t: gone\\x1b\nhint: look\n"; got != want {
		t.Errorf("got %q", got)
	}
	b.Reset()
	if err := format.WriteError(&b, wrapped, 4, true); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"error": "outer: topic t: gone\x1b", "code": 4.0, "hint": "look", "details": map[string]any{"n": 1.0}}
	if !reflect.DeepEqual(doc, want) {
		t.Errorf("got %v", doc)
	}
	if !errors.Is(wrapped, format.ErrUnavailable) || format.HintOf(format.WithHint(wrapped, "other")) != "look" {
		t.Error("kind or hint is lost")
	}
}
