package inspect_test

import (
	"context"
	"testing"

	"spoolctl/inspect"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// TestDiff acknowledges and publishes in a copy of a spool: exactly that is
// different.
func TestDiff(t *testing.T) {
	shapes := func(change func(*maker)) []inspect.TopicShape {
		fs := vfs.NewMem()
		m := makeSpool(t, fs, "spool")
		sample(m)
		change(m)
		m.stop()
		got, err := open(t, inspect.Options{Dir: "spool", FS: fs}).Shapes(context.Background(), inspect.Selector{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	a := shapes(func(*maker) {})
	if rows, totals := inspect.Diff(a, a); len(rows) != 0 || totals.Topics != 3 || totals.Subscriptions != 5 || totals.Ledgers != 6 {
		t.Errorf("with itself: %s %+v", dump(rows), totals)
	}
	b := shapes(func(m *maker) {
		o := m.topic("orders")
		o.ack(o.Cursor("slow"), storage.Ack{Position: o.positions()[2]})
		m.topic("empty").single("x", "")
		m.topic("empty").positions()
		m.topic("new")
	})
	rows, totals := inspect.Diff(a, b)
	var got []string
	for _, d := range rows {
		got = append(got, d.Topic[len("persistent://public/default/"):]+" "+d.What+" "+d.Name+" "+d.Field+" "+d.A+" "+d.B)
	}
	want := []string{
		"empty topic  entries 0 1", "empty topic  messages 0 1", "empty topic  bytes 0 24", "empty topic  last entry 6:-1 6:0",
		"empty ledger 6 entries 0 1", "empty ledger 6 bytes 0 24", "empty subscription nobody backlog 0 1",
		"new topic  existence missing there", "orders subscription slow ranges 0 1", "orders subscription slow backlog 28 27",
	}
	if diff := cmp.Diff(want, got); diff != "" || totals.Differences != len(want) {
		t.Errorf("%+v\n%s", totals, diff)
	}
}
