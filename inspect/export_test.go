package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/inspect"
	"spoolctl/inspect/archive"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// exported is an archive's content, a line of JSON for each part.
func exported(t *testing.T, b []byte) (lines []string, totals archive.Totals) {
	t.Helper()
	r, err := archive.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		v, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, r.Totals()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
}

// TestExport compares what an archive holds with what the other verbs say.
func TestExport(t *testing.T) {
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	sample(m)
	m.stop()
	s := open(t, inspect.Options{Dir: "spool", FS: fs})
	var b bytes.Buffer
	said, err := s.Export(context.Background(), &b, inspect.ExportOptions{Everything: true, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	lines, totals := exported(t, b.Bytes())
	if said != totals || totals.Entries != 29 || totals.Topics != 3 || totals.Ledgers != 6 || totals.Cursors != 5 || totals.Bytes != 1464 || totals.Missing != 0 || totals.Resources != 4 {
		t.Errorf("%+v", totals)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		`"name":"holes","markDelete":{"Ledger":1,"Entry":1}`, `{"ledger":1,"ranges":[[3,3],[7,7]]}`, `"partials":{"1":{"size":3,"words":[5]}}`, `retention_policies`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	b.Reset()
	if _, err = s.Export(context.Background(), &b, inspect.ExportOptions{Selector: inspect.Selector{Globs: []string{"acme/shop"}}}); err != nil {
		t.Fatal(err)
	}
	if lines, totals = exported(t, b.Bytes()); totals.Topics != 1 || totals.Resources != 2 || strings.Contains(strings.Join(lines, ""), "public") {
		t.Errorf("one namespace: %+v\n%s", totals, strings.Join(lines, "\n"))
	}
}

// TestExportDamaged: what cannot be read is a gap, and a problem.
func TestExportDamaged(t *testing.T) {
	dir := manyTables(t)
	s := open(t, inspect.Options{Dir: dir})
	tr, err := s.Trace(context.Background(), "2:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, tr.Versions[0].File)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(b)/2; i += 1000 {
		b[i] ^= 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, inspect.Options{Dir: dir})
	var out bytes.Buffer
	totals, err := s.Export(context.Background(), &out, inspect.ExportOptions{})
	if err != nil || totals.Missing == 0 || totals.Missing+totals.Entries != 4000 || len(s.Problems()) == 0 {
		t.Errorf("%v %+v %v", err, totals, s.Problems())
	}
	if _, again := exported(t, out.Bytes()); again != totals {
		t.Errorf("%+v, read %+v", totals, again)
	}
}

func TestExportFiles(t *testing.T) {
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	sample(m)
	m.stop()
	s := open(t, inspect.Options{Dir: "spool", FS: fs})
	dir := t.TempDir()
	totals, err := s.ExportFiles(context.Background(), dir, inspect.MessagesOptions{}, nil)
	if err != nil || totals.Messages != 37 || totals.Topics != 3 {
		t.Fatalf("%v %+v", err, totals)
	}
	payload, err := os.ReadFile(filepath.Join(dir, "public", "default", "orders", "1-0.payload"))
	if err != nil || string(payload) != `{"order":0}` {
		t.Errorf("%v %s", err, payload)
	}
	index, err := os.ReadFile(filepath.Join(dir, "public", "default", "orders", inspect.IndexName))
	if err != nil || strings.Count(string(index), "\n") != 28 {
		t.Errorf("%v %s", err, index)
	}
	if _, err := s.ExportFiles(context.Background(), dir, inspect.MessagesOptions{}, nil); !errors.Is(err, inspect.ErrNotEmpty) {
		t.Errorf("again: %v", err)
	}
}
