package storage_test

import (
	"context"
	"fmt"
	"testing"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestTruncate checks that everything goes, whatever retention says, and that the topic goes on.
func TestTruncate(t *testing.T) {
	ctx := context.Background()
	s := open(t, vfs.NewMem())
	defer closeStore(t, s)
	tp, sk := create(t, s, "persistent://public/default/t")
	tp.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1, RetentionBytes: -1})
	c := cursor(t, tp, "sub")
	fill(t, tp, sk, "old", 10, 1)
	h, p, ok, err := c.OldestUnacked()
	if err != nil || !ok || h.PublishTime != 1000 || p.Entry != 0 {
		t.Errorf("oldest is %v %v %v %v", h, p, ok, err)
	}
	res, err := tp.Truncate(ctx)
	if err != nil || res.Entries != 10 {
		t.Fatalf("truncated %+v, %v", res, err)
	}
	if _, _, ok, err := c.OldestUnacked(); ok || err != nil {
		t.Errorf("there is a backlog after truncating: %v", err)
	}
	if st := tp.Stats(); st.Entries != 0 || st.Ledgers != 1 || st.AddedEntries != 10 {
		t.Errorf("stats %+v", st)
	}
	fill(t, tp, sk, "new", 1, 1)
	if got := fmt.Sprint(readAll(t, tp)); got != "[new-0]" {
		t.Errorf("read %s", got)
	}
	if b := c.Backlog(); b.Entries != 1 {
		t.Errorf("backlog %+v", b)
	}
}

// TestHistory checks the revisions of a resource: newest first, bounded, told apart from those of similar paths.
func TestHistory(t *testing.T) {
	ctx := context.Background()
	s := open(t, vfs.NewMem())
	defer closeStore(t, s)
	put := func(path string, v any) {
		t.Helper()
		if err := s.PutResource(ctx, storage.KindNamespace, path, v); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		put("public/a", i)
	}
	put("public/ab", "other")
	if err := s.DeleteResource(ctx, storage.KindNamespace, "public/a"); err != nil {
		t.Fatal(err)
	}
	got, err := s.ResourceHistory(storage.KindNamespace, "public/a")
	if err != nil || len(got) != 20 {
		t.Fatalf("%d revisions, %v", len(got), err)
	}
	if string(got[0].Value) != "null" || string(got[1].Value) != "29" || string(got[19].Value) != "11" {
		t.Errorf("revisions %s, %s … %s", got[0].Value, got[1].Value, got[19].Value)
	}
}

// After a clean restart the newest ledger is closed; truncating takes it too.
func TestTruncateAfterRestart(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	tp, sk := create(t, s, "a")
	cursor(t, tp, "s")
	fill(t, tp, sk, "x", 5, 1)
	closeStore(t, s)
	s = open(t, fs)
	defer closeStore(t, s)
	tp, _ = reopen(t, s, "a")
	if _, err := tp.Truncate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, tp); len(got) != 0 {
		t.Errorf("%d entries are left", len(got))
	}
}
