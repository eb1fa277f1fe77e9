package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

func want(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%d", prefix, i))
	}
	return out
}

func TestEntriesSurviveCleanStop(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	tp, sk := create(t, s, "a")
	cursor(t, tp, "keep")
	fill(t, tp, sk, "x", 250, 1)
	if diff := cmp.Diff(want("x", 250), readAll(t, tp)); diff != "" {
		t.Fatal(diff)
	}
	closeStore(t, s)

	s = open(t, fs)
	tp, sk = reopen(t, s, "a")
	if diff := cmp.Diff(want("x", 250), readAll(t, tp)); diff != "" {
		t.Fatal(diff)
	}
	first := tp.LastConfirmed()
	fill(t, tp, sk, "y", 3, 1)
	if last := tp.LastConfirmed(); last.Ledger == first.Ledger {
		t.Errorf("a restarted topic went on in ledger %d", last.Ledger)
	}
	if got := readAll(t, tp); len(got) != 253 || got[252] != "y-2" {
		t.Errorf("got %d entries", len(got))
	}
	st := tp.Stats()
	if st.Entries != 253 || st.Messages != 253 || st.AddedEntries != 253 {
		t.Errorf("stats %+v", st)
	}
	closeStore(t, s)
}

func TestRolloverAndEpochs(t *testing.T) {
	fs := vfs.NewMem()
	small := func(o *storage.Options) {
		o.Ledger.MaxEntries = 40
		o.MemTableBytes = 64 << 10 // many epochs
		o.TailCacheBytes = 1       // everything is read from the database
	}
	s := open(t, fs, small)
	tp, sk := create(t, s, "a")
	other, osk := create(t, s, "b")
	cursor(t, tp, "keep")
	for i := range 20 {
		fill(t, tp, sk, fmt.Sprint("x", i), 100, 2)
		fill(t, other, osk, fmt.Sprint("o", i), 50, 1)
	}
	check := func(tp *storage.Topic) {
		t.Helper()
		got := readAll(t, tp)
		if len(got) != 2000 || got[0] != "x0-0" || got[1999] != "x19-99" || got[1234] != "x12-34" {
			t.Fatalf("read %d entries", len(got))
		}
		if st := tp.Stats(); st.Messages != 4000 || st.Ledgers < 50 {
			t.Fatalf("stats %+v", st)
		}
		if b := tp.Cursor("keep").Backlog(); b.Entries != 2000 || b.Messages != 4000 || b.Bytes != tp.Stats().Bytes {
			t.Fatalf("backlog %+v", b)
		}
	}
	check(tp)
	// A topic that is closed and opened again inside an epoch finds the entries whose extents are not recorded yet.
	if err := tp.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	tp, _ = reopen(t, s, "a")
	check(tp)
	closeStore(t, s)
	s = open(t, fs, small)
	tp, _ = reopen(t, s, "a")
	check(tp)
	closeStore(t, s)
}

func TestTopicLifecycle(t *testing.T) {
	ctx := context.Background()
	s := open(t, vfs.NewMem())
	defer closeStore(t, s)
	tp, sk := create(t, s, "a")
	if _, err := s.CreateTopic(ctx, tp.Name(), storage.TopicOptions{}); !errors.Is(err, storage.ErrTopicOpen) {
		t.Errorf("second create: %v", err)
	}
	fill(t, tp, sk, "x", 5, 1)
	last, err := tp.Terminate(ctx)
	if err != nil || last != tp.LastConfirmed() || last.Entry != 4 {
		t.Errorf("terminate: %v %v", last, err)
	}
	if err := tp.Append(storage.Append{Data: []byte("late")}); !errors.Is(err, storage.ErrTerminated) {
		t.Errorf("append after terminate: %v", err)
	}
	if err := s.DeleteTopic(ctx, tp.Name()); !errors.Is(err, storage.ErrTopicOpen) {
		t.Errorf("delete of an open topic: %v", err)
	}
	if err := tp.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tp.Append(storage.Append{Data: []byte("late")}); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	tp, _ = reopen(t, s, "a")
	if at, ended := tp.Terminated(); !ended || at != last {
		t.Errorf("terminated %v %v after reopening", at, ended)
	}
	if err := tp.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteTopic(ctx, tp.Name()); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteTopic(ctx, tp.Name()); !errors.Is(err, storage.ErrTopicNotFound) {
		t.Errorf("second delete: %v", err)
	}
	tp, _ = create(t, s, "a")
	if got := readAll(t, tp); len(got) != 0 {
		t.Errorf("a new topic holds %d old entries", len(got))
	}
}

func TestTrimDropsWhatEveryCursorPassed(t *testing.T) {
	ctx := context.Background()
	s := open(t, vfs.NewMem(), func(o *storage.Options) { o.Ledger.MaxEntries = 10 })
	defer closeStore(t, s)
	tp, sk := create(t, s, "a")
	c := cursor(t, tp, "c")
	fill(t, tp, sk, "x", 95, 1)
	if res, err := tp.Trim(ctx); err != nil || len(res.Ledgers) != 0 {
		t.Fatalf("trimmed %+v, %v with a cursor at the start", res, err)
	}
	target := sk.Wait(95)[34].Position
	if err := c.AckCumulative(storage.Ack{Position: target}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := tp.Trim(ctx); err != nil {
		t.Fatal(err)
	}
	if st := tp.Stats(); st.Entries != 65 {
		t.Errorf("after the trim %d entries are left, want 65 (ledgers go whole)", st.Entries)
	}
	if b := c.Backlog(); b.Entries != 60 || b.Messages != 60 {
		t.Errorf("backlog %+v", b)
	}
	if got := readAll(t, tp); got[0] != "x-30" || len(got) != 65 {
		t.Errorf("first left is %s of %d", got[0], len(got))
	}
}

func TestCheckpointUnderLoad(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	s := open(t, fs)
	tp, sk := create(t, s, "a")
	cursor(t, tp, "keep")
	for i := range 10 {
		before := len(sk.Wait(i * 200))
		for j := range 200 {
			if err := tp.Append(storage.Append{Data: fmt.Appendf(nil, "%d", i*200+j)}); err != nil {
				t.Fatal(err)
			}
		}
		dir := fmt.Sprint("copy", i)
		if err := s.Checkpoint(ctx, dir); err != nil {
			t.Fatal(err)
		}
		ro, err := storage.OpenRead(storage.ReadOptions{Dir: dir, FS: fs})
		if err != nil {
			t.Fatalf("checkpoint %d: %v", i, err)
		}
		v, err := ro.TopicByName(tp.Name())
		if err != nil {
			t.Fatal(err)
		}
		if n := v.Stats().Entries; n < int64(before) {
			t.Errorf("checkpoint %d holds %d entries, %d were acknowledged before", i, n, before)
		}
		if err := ro.Close(); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
}
