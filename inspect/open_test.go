package inspect_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

func TestNothingChanges(t *testing.T) {
	dir := t.TempDir() + "/spool"
	m := makeSpool(t, vfs.Default, dir)
	sample(m)
	m.stop()
	before := treeHash(t, dir)
	s := open(t, inspect.Options{Dir: dir})
	if _, err := answers(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	for _, fast := range []bool{true, false} {
		v, err := s.Verify(context.Background(), inspect.VerifyOptions{Fast: fast})
		if err != nil || v.Found != 0 {
			t.Fatalf("verify: %v, %v", err, dump(v.Findings))
		}
	}
	rows, err := s.Keys(context.Background(), inspect.KeysOptions{Hex: true})
	if err != nil {
		t.Fatal(err)
	}
	for k, err := range rows {
		if err != nil || k.Note != nil {
			t.Errorf("%s: %v %v", k.Key, err, k.Note)
		}
	}
	if len(s.Problems())+len(s.Notes()) != 0 {
		t.Errorf("problems %v, notes %v", s.Problems(), s.Notes())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := treeHash(t, dir); after != before {
		t.Error(cmp.Diff(before, after))
	}
}

func TestNoSpool(t *testing.T) {
	dir := t.TempDir() + "/none"
	for _, make := range []bool{false, true} {
		if make {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := inspect.Open(context.Background(), inspect.Options{Dir: dir}); !errors.Is(err, storage.ErrNoSpool) {
			t.Errorf("got %v", err)
		}
		_, err := os.ReadDir(dir)
		if exists := err == nil; exists != make {
			t.Errorf("the folder exists: %v", exists)
		}
	}
}

func TestEmptySpool(t *testing.T) {
	fs := vfs.NewMem()
	makeSpool(t, fs, "spool").stop()
	s := open(t, inspect.Options{Dir: "spool", FS: fs})
	if _, err := answers(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	v, err := s.Verify(context.Background(), inspect.VerifyOptions{})
	if err != nil || v.Found != 0 {
		t.Errorf("%v %v", v, err)
	}
}

// TestUncleanStop copies a spool that is open for writing.
func TestUncleanStop(t *testing.T) {
	dir := t.TempDir() + "/spool"
	m := makeSpool(t, vfs.Default, dir)
	sample(m)
	copied := t.TempDir() + "/copy"
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	m.stop()
	s := open(t, inspect.Options{Dir: copied})
	src := s.Source()
	if !src.Unclean || src.ReplayedBatches == 0 || src.Damaged {
		t.Errorf("source %+v", src)
	}
	if n := s.Notes(); len(n) != 1 || !strings.Contains(n[0], "were replayed in memory") {
		t.Errorf("notes %q", n)
	}
	v, err := s.Verify(context.Background(), inspect.VerifyOptions{})
	if err != nil || v.Found != 0 || v.Entries != 29 {
		t.Errorf("verify %+v, %v: %s", v, err, dump(v.Findings))
	}
}

// TestCopyOfLog reads a copy that was made while the log was being written: a
// hole in the newest log is where the copy's moment was, and no damage.
func TestCopyOfLog(t *testing.T) {
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	sample(m)
	im := takeImage(t, fs, "spool")
	m.stop()
	for path, data := range im {
		if !strings.HasSuffix(path, ".log") {
			continue
		}
		bad := append([]byte(nil), data...)
		copy(bad[len(bad)*3/4:], "not yet written")
		copied := im.restore(t, path, bad)
		s := open(t, inspect.Options{Dir: "spool", FS: copied})
		if !s.Source().Damaged || len(s.Problems()) == 0 {
			t.Errorf("with a lock file: %+v", s.Source())
		}
		if err := copied.Remove("spool/store/LOCK"); err != nil {
			t.Fatal(err)
		}
		s = open(t, inspect.Options{Dir: "spool", FS: copied})
		list, err := s.Topics(context.Background(), inspect.TopicsOptions{})
		if err != nil || s.Source().Damaged || len(s.Problems()) > 0 || list.Totals.Entries < 15 {
			t.Errorf("as a checkpoint: %+v, %v, %+v, %v", s.Source(), s.Problems(), list.Totals, err)
		}
	}
}

// TestPending compares what a subscription would receive with what is in the
// spool and not acknowledged, message by message.
func TestPending(t *testing.T) {
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	o := m.topic("t")
	c := o.cursor("sub")
	want := map[wire.Position][]bool{}
	for i := range 100 {
		if i%3 == 0 {
			o.batch("a", "b", "c", "d")
		} else {
			o.single("x", "")
		}
	}
	pos := o.positions()
	for i, p := range pos {
		n := 1
		if i%3 == 0 {
			n = 4
		}
		want[p] = make([]bool, n)
		for k := range want[p] {
			want[p][k] = true
		}
	}
	for i := 0; i < 100; i += 1 + i%4 {
		p := pos[i]
		if len(want[p]) == 4 && i%2 == 0 {
			o.ack(c, storage.Ack{Position: p, Remaining: []uint64{0b0110}})
			want[p][0], want[p][3] = false, false
			continue
		}
		o.ack(c, storage.Ack{Position: p})
		clear(want[p])
	}
	m.stop()
	var exp []string
	for _, p := range pos {
		for k, left := range want[p] {
			if !left {
				continue
			}
			id := wire.MessageID{Position: p, Partition: -1, Batch: -1}
			if len(want[p]) > 1 {
				id.Batch = int32(k)
			}
			exp = append(exp, id.String())
		}
	}
	s := open(t, inspect.Options{Dir: "spool", FS: fs})
	list, err := s.Messages(context.Background(), inspect.MessagesOptions{Selector: inspect.Selector{Globs: []string{"t"}}, Pending: "sub"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for m, err := range list.Rows {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.ID)
	}
	if diff := cmp.Diff(exp, got); diff != "" {
		t.Error(diff)
	}
	if int(list.Total()) != len(exp) {
		t.Errorf("total %d, want %d", list.Total(), len(exp))
	}
}
