package maintain_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spoolctl/inspect"
	"spoolctl/inspect/archive"
	"spoolctl/maintain"
	"spoolctl/storage"

	"github.com/google/go-cmp/cmp"
)

// exported is an archive of everything in a spool.
func exported(t testing.TB, dir string) []byte {
	t.Helper()
	s, err := inspect.Open(context.Background(), inspect.Options{Dir: dir, Now: later})
	must(t, err)
	defer s.Close()
	var out bytes.Buffer
	_, err = s.Export(context.Background(), &out, inspect.ExportOptions{Everything: true})
	must(t, err)
	return out.Bytes()
}

func importOf(dir string, b []byte) maintain.ImportOptions {
	return maintain.ImportOptions{Options: options(dir), From: "test.spoolarc",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }}
}

func emptySpool(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "empty")
	must(t, open(t, storage.Options{Dir: dir}).Close(context.Background()))
	return dir
}

// TestImport: an export that is imported into an empty spool is the same spool, position for position, and exports to
// the same archive again.
func TestImport(t *testing.T) {
	dir := makeSpool(t)
	b := exported(t, dir)
	to := emptySpool(t)
	res, err := maintain.Import(context.Background(), importOf(to, b))
	must(t, err)
	if len(res.Actions) != 5 { // tenant, namespace, schema, two topics
		t.Errorf("%+v", res.Actions)
	}
	sound(t, to)
	if diff := cmp.Diff(contents(t, dir), contents(t, to)); diff != "" {
		t.Error(diff)
	}
	if _, err := maintain.Import(context.Background(), importOf(to, b)); !errors.Is(err, storage.ErrTopicExists) {
		t.Errorf("again: %v", err)
	}
	back := emptySpool(t)
	_, err = maintain.Import(context.Background(), importOf(back, exported(t, to)))
	must(t, err)
	if diff := cmp.Diff(contents(t, dir), contents(t, back)); diff != "" {
		t.Error(diff)
	}
	s := open(t, storage.Options{Dir: to})
	more(t, s, orders, 40, 3)
	must(t, s.Close(context.Background()))
	sound(t, to)
}

// TestImportRenewed: where ledger ids are taken, the topics get new ones and keep their order, acknowledgements and
// backlogs; what was there is not touched.
func TestImportRenewed(t *testing.T) {
	dir := makeSpool(t)
	b := exported(t, dir)
	_, err := maintain.RenameTopic(context.Background(), maintain.TopicOptions{Options: options(dir), Topic: name(t, orders)}, name(t, "kept"))
	must(t, err)
	_, err = maintain.DeleteTopic(context.Background(), maintain.TopicOptions{Options: options(dir), Topic: name(t, events)})
	must(t, err)
	before := contents(t, dir)
	res, err := maintain.Import(context.Background(), importOf(dir, b))
	must(t, err)
	t.Log(res.Actions)
	sound(t, dir)
	after := contents(t, dir)
	for k, v := range before {
		if after[k] != v {
			t.Errorf("%s was %q and is %q", k, v, after[k])
		}
	}
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	must(t, err)
	defer s.Close()
	old, err := s.TopicByName(name(t, "kept"))
	must(t, err)
	fresh, err := s.TopicByName(name(t, orders))
	must(t, err)
	if a, b := old.Stats(), fresh.Stats(); a != b || old.Ledgers[0].ID == fresh.Ledgers[0].ID {
		t.Errorf("%+v, %+v", a, b)
	}
	for _, c := range old.Cursors {
		if a, b := old.Backlog(c), fresh.Backlog(fresh.Cursor(c.Name)); a != b || c.Acks.Count() != fresh.Cursor(c.Name).Acks.Count() {
			t.Errorf("%s: %+v, %+v", c.Name, a, b)
		}
	}
}

// TestImportDamaged: an archive that is damaged anywhere changes nothing.
func TestImportDamaged(t *testing.T) {
	b := exported(t, makeSpool(t))
	to := emptySpool(t)
	was := contents(t, to)
	for at := 0; at < len(b); at += 1 + len(b)/20 {
		for _, bad := range [][]byte{flipped(b, at), slices.Clone(b[:at])} {
			_, err := maintain.Import(context.Background(), importOf(to, bad))
			if err == nil {
				t.Errorf("damage at byte %d of %d passes", at, len(b))
			} else if !errors.Is(err, archive.ErrDamaged) && !errors.Is(err, archive.ErrFormat) {
				t.Errorf("damage at byte %d: %v", at, err)
			}
		}
	}
	if diff := cmp.Diff(was, contents(t, to)); diff != "" {
		t.Error(diff)
	}
}

// TestImportGaps: entries that are missing in the archive count as acknowledged, and nothing else is lost.
func TestImportGaps(t *testing.T) {
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Header{Spool: "x", Written: base()})
	must(t, err)
	must(t, w.Topic(archive.Topic{Name: orders, Created: base()}))
	must(t, w.Ledger(archive.Ledger{ID: 5, Entries: 6, Messages: 6, Created: base(), Closed: base()}))
	put := func(id int64) {
		must(t, w.Entry(archive.Entry{ID: id, PublishTime: base().UnixMilli(), Messages: 1, Checksum: 1, Data: entry(uint64(id), "x")}))
	}
	put(0)
	must(t, w.Gap(archive.Gap{First: 1, Last: 2, Why: "lost"}))
	put(3)
	put(4)
	must(t, w.Gap(archive.Gap{First: 5, Last: 5, Why: "lost"}))
	must(t, w.Cursor(archive.Cursor{Name: "s", Created: base()}))
	must(t, w.Close())
	to := emptySpool(t)
	_, err = maintain.Import(context.Background(), importOf(to, out.Bytes()))
	must(t, err)
	s, err := storage.OpenRead(storage.ReadOptions{Dir: to})
	must(t, err)
	defer s.Close()
	v, err := s.TopicByName(name(t, orders))
	must(t, err)
	if b := v.Backlog(v.Cursor("s")); b.Messages != 3 || b.Entries != 3 {
		t.Errorf("%+v", b)
	}
}

// exportedLines is exported as lines of JSON.
func exportedLines(t testing.TB, dir string) []byte {
	t.Helper()
	r, err := archive.NewReader(bytes.NewReader(exported(t, dir)))
	must(t, err)
	defer r.Close()
	var out bytes.Buffer
	must(t, archive.WriteLines(&out, r))
	return out.Bytes()
}

// TestImportLines: lines make the same spool as an archive, with the cursors, and come out of it again.
func TestImportLines(t *testing.T) {
	dir := makeSpool(t)
	lines := exportedLines(t, dir)
	to := emptySpool(t)
	_, err := maintain.Import(context.Background(), importOf(to, lines))
	must(t, err)
	sound(t, to)
	if diff := cmp.Diff(contents(t, dir), contents(t, to)); diff != "" {
		t.Error(diff)
	}
	_, want, _ := bytes.Cut(lines, []byte("\n")) // the header names the spool
	_, got, _ := bytes.Cut(exportedLines(t, to), []byte("\n"))
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestImportBadLines: a mistake in any line changes nothing, is found before anything is staged, and is named.
func TestImportBadLines(t *testing.T) {
	all := bytes.SplitAfter(bytes.TrimSuffix(exportedLines(t, makeSpool(t)), []byte("\n")), []byte("\n"))
	to := emptySpool(t)
	was := contents(t, to)
	for i := range all {
		for what, bad := range map[string][][]byte{
			"missing": slices.Delete(slices.Clone(all), i, i+1),
			"twice":   slices.Insert(slices.Clone(all), i, all[i]),
			"broken":  slices.Replace(slices.Clone(all), i, i+1, all[i][:len(all[i])/2], []byte("\n")),
		} {
			o := importOf(to, bytes.Join(bad, nil))
			o.DryRun = true
			_, err := maintain.Import(context.Background(), o)
			if !errors.Is(err, archive.ErrDamaged) && !errors.Is(err, archive.ErrFormat) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("line %d %s: %v", i+1, what, err)
			}
		}
	}
	if diff := cmp.Diff(was, contents(t, to)); diff != "" {
		t.Error(diff)
	}
}
