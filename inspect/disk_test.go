package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/inspect"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// manyTables is a spool on disk of several epochs, with one topic that was
// deleted.
func manyTables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir() + "/spool"
	small := func(o *storage.Options) { o.MemTableBytes, o.Ledger.MaxEntries = 256<<10, 500 }
	m := makeSpool(t, vfs.Default, dir, small)
	ctx := context.Background()
	gone := m.topic("acme/shop/gone")
	for i := range 3000 {
		payload := strings.Repeat(fmt.Sprint(i, " "), 60)
		m.topic("a").single(payload, "k")
		if i%3 == 0 {
			m.topic("acme/shop/b").single(payload, "")
			gone.single(payload, "")
		}
	}
	c := m.topic("a").cursor("sub")
	for _, p := range []int{10, 20, 30} {
		m.topic("a").ackUpTo(c, m.topic("a").positions()[p])
	}
	gone.positions()
	m.topic("acme/shop/b").positions()
	if err := errors.Join(gone.Close(ctx), m.DeleteTopic(ctx, gone.Name())); err != nil {
		t.Fatal(err)
	}
	m.stop()
	return dir
}

// withLog appends to a spool and returns a copy of it as a kill would leave it then.
func withLog(t *testing.T, dir string) string {
	t.Helper()
	m := makeSpool(t, vfs.Default, dir)
	m.topic("later").single("only in the log", "")
	m.topic("later").positions()
	left := t.TempDir() + "/spool"
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	m.stop()
	return left
}

// sizeOf is how many bytes the files below a folder have.
func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDiskUsage: whatever it is grouped by, the rows are the bytes of all
// files, and the topics' shares are what lives in the tables.
func TestDiskUsage(t *testing.T) {
	dir := manyTables(t)
	s := open(t, inspect.Options{Dir: dir})
	ctx, want := context.Background(), sizeOf(t, dir)
	for _, by := range inspect.Groupings() {
		list, err := s.DiskUsage(ctx, by)
		if err != nil {
			t.Fatal(err)
		}
		if off := list.Totals.Bytes - want; off > 10 || off < -10 { // shares are rounded
			t.Errorf("by %s: %d bytes, the files have %d", by, list.Totals.Bytes, want)
		}
		if list.Totals.Live <= 0 || list.Totals.Garbage < 0 || list.Totals.Live+list.Totals.Garbage > want {
			t.Errorf("by %s: %+v", by, list.Totals)
		}
		if by == inspect.ByTopic && len(list.Rows) < 4 {
			t.Errorf("by topic: %s", dump(list.Rows))
		}
	}
	var sums []inspect.Usage
	for _, by := range []string{inspect.ByTenant, inspect.ByNamespace, inspect.ByTopic} {
		list, err := s.Usage(ctx, by, inspect.Selector{})
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, list.Totals)
	}
	for _, u := range sums {
		if u.Topics != 2 || u.LogicalBytes == 0 || u.LogicalBytes != sums[0].LogicalBytes || *u.PhysicalBytes == 0 || *u.LogEntries != 0 {
			t.Errorf("usage: %s", dump(u))
		}
	}
	subs, err := s.Usage(ctx, inspect.BySubscription, inspect.Selector{Globs: []string{"a"}})
	if err != nil || len(subs.Rows) != 1 || subs.Rows[0].PhysicalBytes != nil || subs.Rows[0].BacklogMessages != 3000-31 {
		t.Errorf("by subscription: %v %s", err, dump(subs))
	}
	if len(s.Problems()) > 0 {
		t.Error(s.Problems())
	}
}

func TestTablesAndFiles(t *testing.T) {
	dir := withLog(t, manyTables(t))
	s := open(t, inspect.Options{Dir: dir})
	ctx := context.Background()
	tables, err := s.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	topics := map[string]bool{}
	for _, tab := range tables.Tables {
		if tab.Records == nil || *tab.Records == 0 || tab.Bytes == 0 || tab.Family == "" || tab.Smallest > tab.Largest && tab.Family == "topic" {
			t.Errorf("table %s", dump(tab))
		}
		if tab.Family == "entry" && tab.TopicN == 0 {
			t.Errorf("a table of entries without topics: %s", dump(tab))
		}
		for _, n := range tab.Topics {
			topics[n] = true
		}
	}
	if len(topics) != 2 || tables.Totals.Tables < 5 {
		t.Errorf("topics %v, %+v", topics, tables.Totals)
	}
	files, err := s.Files(ctx)
	if err != nil || files.Totals.Missing != 0 || files.Totals.Bytes != sizeOf(t, dir) {
		t.Errorf("files: %v, %+v", err, files.Totals)
	}
	edits := s.Edits()
	live := 0
	for _, e := range edits {
		live += len(e.Added) - len(e.Removed)
	}
	if live != len(tables.Tables) {
		t.Errorf("%d edits leave %d tables, there are %d", len(edits), live, len(tables.Tables))
	}
	log, err := s.Log(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ops := int64(0)
	for r, err := range log.Rows {
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range r.Families {
			n += c
		}
		if n != int(r.Count) {
			t.Errorf("record %s", dump(r))
		}
		ops += int64(n)
	}
	if ops == 0 || ops != log.Totals.Operations || log.Totals.Ended {
		t.Errorf("%d operations, %+v", ops, log.Totals)
	}
}

// TestTrace finds an entry in one table, and a cursor in several versions.
func TestTrace(t *testing.T) {
	s := open(t, inspect.Options{Dir: manyTables(t)})
	ctx := context.Background()
	tr, err := s.Trace(ctx, "2:17")
	if err != nil || len(tr.Versions) != 1 || !*tr.Versions[0].Visible || tr.Versions[0].Level == nil {
		t.Fatalf("%v %s", err, dump(tr))
	}
	raw, err := s.Trace(ctx, tr.Versions[0].RawKey)
	if err != nil || dump(raw) != dump(tr) {
		t.Errorf("by hex: %v %s", err, dump(raw))
	}
	named, err := s.Trace(ctx, tr.Key)
	if err != nil || dump(named) != dump(tr) {
		t.Errorf("by name: %v %s", err, dump(named))
	}
	for _, bad := range []string{"2:99999", "nothing/1", "zz"} {
		if _, err := s.Trace(ctx, bad); err == nil {
			t.Errorf("%s was found", bad)
		}
	}
	rows, err := s.Versions(ctx, inspect.KeysOptions{Prefix: "cursor"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for v, err := range rows {
		if err != nil || v.Kind == "" || v.File == "" {
			t.Errorf("%v %s", err, dump(v))
		}
		n++
	}
	if n == 0 {
		t.Error("no version of a cursor")
	}
	if _, err := s.Versions(ctx, inspect.KeysOptions{Reverse: true}); err == nil {
		t.Error("--reverse was taken")
	}
}

// TestSinceSkipsRuns damages the table of the oldest entries: an answer about
// newer ones does not meet it.
func TestSinceSkipsRuns(t *testing.T) {
	dir := manyTables(t)
	s := open(t, inspect.Options{Dir: dir})
	ctx := context.Background()
	count := func(b inspect.Bounds) (n int) {
		list, err := s.Entries(ctx, inspect.EntriesOptions{Selector: inspect.Selector{Globs: []string{"a"}}, Bounds: b})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range list.Rows {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	for _, c := range []struct{ since, until, want int }{{0, 3000, 3000}, {2990, 3000, 10}, {0, 7, 7}, {1500, 1600, 100}, {3000, 4000, 0}} {
		if n := count(inspect.Bounds{Since: fromMs(publishMs(c.since)), Until: fromMs(publishMs(c.until))}); n != c.want {
			t.Errorf("from %d to %d: %d entries", c.since, c.until, n)
		}
	}
	tr, err := s.Trace(ctx, "2:0")
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
	if n := count(inspect.Bounds{Since: fromMs(publishMs(2990))}); n != 10 || len(s.Problems()) > 0 {
		t.Errorf("%d entries, %v", n, s.Problems())
	}
	if n := count(inspect.Bounds{}); n == 3000 || len(s.Problems()) == 0 {
		t.Errorf("the damage was not met: %d entries", n)
	}
}
