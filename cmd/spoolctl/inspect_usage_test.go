package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spoolctl/inspect"
)

// TestUsagePublish: a snapshot replaces the file as a whole, or leaves it alone.
func TestUsagePublish(t *testing.T) {
	dir := spoolOf(t)
	file := filepath.Join(t.TempDir(), "usage.json")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, "in the spool", []string{"--publish", filepath.Join(dir, "usage.json")}},
		{2, "in the spool", []string{"--publish", filepath.Join(link, "store", "usage.json")}},
		{2, "not the name of a file", []string{"--publish", "http://127.0.0.1:8080/usage"}},
		{2, "the whole spool", []string{"orders", "--publish", file}},
	} {
		if code, out, errs := runArgs(t, nil, append([]string{"inspect", "usage", "--spool", dir}, c.args...)...); code != c.code || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%v: %d %s %s", c.args, code, out, errs)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "before" {
		t.Errorf("%s %v", b, err)
	}
	if code, out, errs := runArgs(t, nil, "inspect", "usage", "--spool", dir, "--publish", file); code != 0 || !strings.Contains(out, file) {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got inspect.UsageSnapshot
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.SchemaVersion != 1 || got.Spool == "" || got.CompletedAt.IsZero() || got.Build == "" || got.Totals.Topics != 1 || got.Totals.Messages != 13 ||
		len(got.Topics) != 1 || got.Topics[0].Name != "persistent://public/default/orders" || got.Topics[0].BacklogMessages != 9 || got.Anomalies == nil {
		t.Errorf("%s", b)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Error(diff)
	}

	tables, err := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, name := range tables {
		if err := os.WriteFile(name, []byte("no table"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, errs := runArgs(t, nil, "inspect", "usage", "--spool", dir, "--publish", file); code != 3 || out != "" || !strings.Contains(errs, "nothing was published") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(b) {
		t.Errorf("a partial snapshot was written: %s %v", now, err)
	}
}
