package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// storageRun runs a verb of storage without a terminal.
func storageRun(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	f := newFactory(&ioStreams{in: strings.NewReader(""), out: &o, err: &e, width: func() int { return 0 }}, nil)
	f.now = func() time.Time { return time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC) }
	code = execute(t.Context(), f, append([]string{"storage"}, args...))
	return code, o.String(), e.String()
}

// TestStorageVerbs runs every verb on a spool: as a dry run, refused without a terminal, and for real, with the exit
// codes and the JSON that are promised.
func TestStorageVerbs(t *testing.T) {
	dir := spoolOf(t)
	other := spoolOf(t)
	yaml := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(yaml, []byte("tenants:\n  acme:\n    adminRoles: [root]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "all.spoolarc")
	if code, _, errs := runArgs(t, nil, "inspect", "export", "--spool", other, "--everything", "--into", archive); code != 0 {
		t.Fatal(errs)
	}
	lines := filepath.Join(t.TempDir(), "all.lines")
	if code, _, errs := runArgs(t, nil, "inspect", "export", "--spool", other, "--everything", "--form", "lines", "--into", lines); code != 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		verb string
		args []string
		rows int // actions of the plan
	}{
		{"cursor set", []string{dir, "orders", "billing", "--message-id", "earliest"}, 1},
		{"cursor skip", []string{dir, "orders", "billing", "--count", "2"}, 1},
		{"cursor ack", []string{dir, "orders", "billing", "2:2"}, 1},
		{"cursor clear", []string{dir, "orders", "billing"}, 1},
		{"cursor create", []string{dir, "orders", "fresh", "-m", "earliest"}, 1},
		{"cursor rename", []string{dir, "orders", "fresh", "new"}, 1},
		{"cursor delete", []string{dir, "orders", "--subscription", "new"}, 1},
		{"trim", []string{dir, "ord*"}, 2},
		{"topic truncate", []string{dir, "orders"}, 1},
		{"topic terminate", []string{dir, "orders"}, 1},
		{"topic rename", []string{dir, "orders", "bills"}, 1},
		{"topic delete", []string{dir, "bills"}, 1},
		{"import", []string{dir, archive}, 1},
		{"topic delete", []string{dir, "orders"}, 1},
		{"import", []string{dir, lines}, 1},
		{"topic rename", []string{dir, "orders", "first"}, 1},
		{"import", []string{dir, other, "orders"}, 1},
		{"resources load", []string{dir, yaml}, 1},
		{"compact", []string{dir, "--topic", "orders"}, 1},
		{"migrate", []string{dir, "--compression", "zstd"}, 1},
		{"undo", []string{dir}, 1},
	} {
		args := append(strings.Fields(c.verb), c.args...)
		count := func(out string) int {
			var doc struct{ Items []any }
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Errorf("%s: %v: %s", c.verb, err, out)
			}
			return len(doc.Items)
		}
		code, out, errs := storageRun(t, append(args, "--dry-run", "-o", "json")...)
		if code != exitOK || count(out) != c.rows || errs != "" {
			t.Errorf("%s --dry-run: %d %s %s", c.verb, code, out, errs)
		}
		if code, out, errs := storageRun(t, args...); code != exitUsage || out != "" || !strings.Contains(errs, "add --yes") {
			t.Errorf("%s without a terminal: %d %s %s", c.verb, code, out, errs)
		}
		if code, out, errs = storageRun(t, append(args, "--yes", "-o", "json")...); code != exitOK || count(out) != c.rows {
			t.Errorf("%s --yes: %d %s %s", c.verb, code, out, errs)
		}
		if code, out, errs := runArgs(t, nil, "inspect", "verify", "--spool", dir); code != exitOK {
			t.Fatalf("after %s: %d %s%s", c.verb, code, out, errs)
		}
	}
}

// TestStorageImportLines: a mistake is named with its line; messages are no archive, and what is one is said.
func TestStorageImportLines(t *testing.T) {
	dir, other := spoolOf(t), spoolOf(t)
	file := filepath.Join(t.TempDir(), "lines")
	export := func(form string) []byte {
		t.Helper()
		if code, _, errs := runArgs(t, nil, "inspect", "export", "--spool", other, "--everything", "--form", form, "--into", file); code != 0 {
			t.Fatal(errs)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for form, want := range map[string]string{"lines": "line 2: ", "ndjson": "--form lines"} {
		b := export(form)
		if form == "lines" {
			b = bytes.Replace(b, []byte("\n{"), []byte("\n{{"), 1)
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := storageRun(t, "import", dir, file, "--yes"); code != exitFailed || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s%s", form, code, out, errs)
		}
	}
}

// TestStorageCopies runs the verbs that make something beside the spool.
func TestStorageCopies(t *testing.T) {
	dir, at := spoolOf(t), t.TempDir()
	path := func(s string) string { return filepath.Join(at, s) }
	for _, c := range []struct {
		args []string
		code int
		want string // in either output
	}{
		{[]string{"backup", dir, path("b"), "--dry-run"}, exitOK, "false"},
		{[]string{"backup", dir, path("b")}, exitOK, "true"},
		{[]string{"backup", dir, path("b.tar.gz")}, exitOK, "true"},
		{[]string{"backup", dir, path("b.tar.gz")}, exitFailed, "something already"},
		{[]string{"backups", path("b")}, exitOK, "20260201T120000Z"},
		{[]string{"restore", path("b"), "--verify"}, exitOK, "20260201T120000Z"},
		{[]string{"restore", path("b"), path("r")}, exitOK, "true"},
		{[]string{"restore", path("b"), path("r")}, exitFailed, "--replace"},
		{[]string{"restore", path("b"), path("r"), "--replace"}, exitUsage, "add --yes"},
		{[]string{"restore", path("b"), path("r"), "--replace", "-y"}, exitOK, "before-restore"},
		{[]string{"restore", path("none"), path("r2")}, exitUnavailable, "no such file"},
		{[]string{"restore", path("b.tar.gz"), path("r3")}, exitOK, "true"},
		{[]string{"salvage", dir, path("s")}, exitOK, "whole"},
		{[]string{"salvage", dir, path("s")}, exitFailed, "something already"},
		{[]string{"migrate", dir, "--to", path("f"), "--kind", "files"}, exitOK, "files"},
		{[]string{"migrate", path("f"), "--to", path("p")}, exitOK, "pebble"},
		{[]string{"migrate", dir, "--kind", "files"}, exitUsage, "--to"},
		{[]string{"migrate", dir}, exitOK, "migrate"},
		{[]string{"resources", "dump", path("p")}, exitOK, "{}"},
		{[]string{"doctor", dir}, exitOK, "healthy"},
		{[]string{"checkpoints", dir}, exitOK, ""},
		{[]string{"recover", dir}, exitOK, "no run was interrupted"},
		{[]string{"undo", dir, "-y"}, exitFailed, "no checkpoint"},
		{[]string{"doctor", path("nowhere")}, exitUnavailable, "no spool"},
		{[]string{"cursor", "clear", path("nowhere"), "a", "b"}, exitUnavailable, "no spool"},
		{[]string{"cursor", "clear", dir, "nosuch", "b"}, exitFailed, "topic not found"},
		{[]string{"cursor", "set", dir, "orders", "billing"}, exitUsage, "--time or --message-id"},
		{[]string{"cursor", "skip", dir, "orders", "billing"}, exitUsage, "--count"},
	} {
		code, out, errs := storageRun(t, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%v: exit %d, want %d with %q: %s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
	if _, err := os.Stat(path("nowhere")); err == nil {
		t.Error("a wrong path exists now")
	}
	for _, made := range []string{"r", "r3", "s", "p"} {
		if code, _, errs := runArgs(t, nil, "inspect", "verify", "--spool", path(made)); code != exitOK {
			t.Errorf("%s: %d %s", made, code, errs)
		}
	}
}

// TestStorageDamage: a flipped byte is found by doctor and salvaged with exit 3, and what to do next is said.
func TestStorageDamage(t *testing.T) {
	dir := spoolOf(t)
	logs, err := filepath.Glob(filepath.Join(dir, "store", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(err)
	}
	b, err := os.ReadFile(logs[len(logs)-1])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x20
	if err := os.WriteFile(logs[len(logs)-1], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := storageRun(t, "doctor", dir); code != exitProblems || !strings.Contains(errs, "storage salvage") || !strings.Contains(out, "log") {
		t.Errorf("doctor: %d %s %s", code, out, errs)
	}
	to := filepath.Join(t.TempDir(), "saved")
	if code, out, errs := storageRun(t, "salvage", dir, to); code != exitProblems || !strings.Contains(errs, "entries were saved") || !strings.Contains(out, "damaged") {
		t.Errorf("salvage: %d %s %s", code, out, errs)
	}
	if code, _, errs := runArgs(t, nil, "inspect", "summary", "--spool", to); code != exitOK {
		t.Errorf("summary: %d %s", code, errs)
	}
}

// TestStorageConfirm: the spool's name confirms, nothing else does, and the end of the input refuses.
func TestStorageConfirm(t *testing.T) {
	dir := spoolOf(t)
	for answer, want := range map[string]int{"": exitUsage, "yes\n": exitUsage, "spool": exitUsage, "spool\n": exitOK} {
		var o, e bytes.Buffer
		f := newFactory(&ioStreams{in: strings.NewReader(answer), out: &o, err: &e, inTerminal: true, width: func() int { return 0 }}, nil)
		code := execute(t.Context(), f, []string{"storage", "cursor", "clear", dir, "orders", "billing"})
		if code != want || !strings.Contains(e.String(), "type the spool's name, spool, to go on: ") || !strings.Contains(e.String(), "acknowledged unread") {
			t.Errorf("%q: %d %s", answer, code, e.String())
		}
	}
}

// TestStorageTree: every verb that changes a spool can be tried out first.
func TestStorageTree(t *testing.T) {
	root := newRoot(newFactory(&ioStreams{}, nil))
	cmd, _, err := root.Find([]string{"storage"})
	if err != nil {
		t.Fatal(err)
	}
	walk(cmd, func(c *cobra.Command) {
		if c.Annotations[annotationEffect] == effectChanges && c.Flags().Lookup("dry-run") == nil && c.Name() != "recover" {
			t.Errorf("%s has no --dry-run", c.CommandPath())
		}
	})
}
