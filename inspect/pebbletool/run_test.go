package pebbletool_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/inspect/pebbletool"
	"spoolctl/storage"
)

// spool makes a spool with a table, and returns the folder of its database.
func spool(t *testing.T) string {
	t.Helper()
	dir, ctx := t.TempDir()+"/spool", context.Background()
	for range 2 { // the second opening writes what the log held to tables
		s, err := storage.Open(ctx, storage.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.PutResource(ctx, storage.KindTenant, "public", storage.Tenant{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, storage.StoreDir)
}

func run(t *testing.T, args ...string) (out, errs string, reported bool, err error) {
	t.Helper()
	var o, e bytes.Buffer
	reported, err = pebbletool.Run(context.Background(), pebbletool.Options{Name: "pebble", Out: &o, Err: &e}, args)
	return o.String(), e.String(), reported, err
}

func TestRun(t *testing.T) {
	dir := spool(t)
	names := func() string {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, n := range list {
			b.WriteString(n.Name() + "\n")
		}
		return b.String()
	}
	before := names()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"db", "scan", dir}, `resource/t/"public"`},
		{[]string{"db", "check", dir}, "checked "},
		{[]string{"db", "lsm", dir}, "WAL"},
		{[]string{"sstable", "scan", tables[0]}, "/"},
		{append([]string{"sstable", "check"}, tables...), "sst"},
		{append([]string{"manifest", "dump"}, manifests...), "EOF"},
		{[]string{"--help"}, "sstable"},
	} {
		out, errs, reported, err := run(t, c.args...)
		if err != nil || reported || !strings.Contains(out, c.want) {
			t.Errorf("%v: %v %t\n%s\n%s", c.args, err, reported, out, errs)
		}
	}
	if after := names(); after != before {
		t.Errorf("the folder changed:\n%s\n%s", before, after)
	}
}

func TestRefused(t *testing.T) {
	dir := spool(t)
	for _, args := range [][]string{{"db", "checkpoint", dir, dir + "2"}, {"db", "upgrade", dir}, {"db", "set", dir, "a", "b"}, {"nothing"}} {
		out, _, reported, err := run(t, args...)
		if err == nil && !reported && !strings.Contains(out, "Usage:") {
			t.Errorf("%v was done", args)
		}
	}
	if _, err := os.Stat(dir + "2"); err == nil {
		t.Error("a checkpoint was made")
	}
	if _, errs, reported, _ := run(t, "db", "scan", dir+"none"); !reported || errs == "" {
		t.Errorf("no database: %t %s", reported, errs)
	}
}

func TestDamageIsReported(t *testing.T) {
	dir := spool(t)
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	b, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	copy(b[2:], "damage")
	if err := os.WriteFile(tables[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, reported, err := run(t, "sstable", "check", tables[0]); err != nil || !reported {
		t.Errorf("%v\n%s\n%s", err, out, errs)
	}
}
