package storage_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// keepSpool makes the kept spool of this format anew. It is for a new format only: what was released stays as it was.
var keepSpool = flag.Bool("spool.keep", false, "make the spool that is kept of the present format, and what is in it")

// TestKeptSpools opens a spool of each released format, as it was written then, read-only and for writing: all that was in
// it must be found, and it must take more.
func TestKeptSpools(t *testing.T) {
	present := filepath.Join("testdata", fmt.Sprintf("spool-format-%d", storage.FormatVersion))
	if *keepSpool {
		keep(t, present)
	}
	all, err := filepath.Glob(filepath.Join("testdata", "spool-format-*.tar.gz"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no kept spools: %v", err)
	}
	for _, archive := range all {
		base := strings.TrimSuffix(archive, ".tar.gz")
		t.Run(filepath.Base(base), func(t *testing.T) {
			want, err := os.ReadFile(base + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			unpack(t, archive, dir)
			if diff := cmp.Diff(string(want), dump(t, dir)); diff != "" {
				t.Fatal(diff)
			}
			s := open(t, vfs.Default, func(o *storage.Options) { o.Dir = dir })
			tp, sk := reopen(t, s, "kept")
			fill(t, tp, sk, "more", 5, 1)
			closeStore(t, s)
			if got := dump(t, dir); !strings.Contains(got, "more-4") {
				t.Errorf("what was added is not there:\n%s", got)
			}
		})
	}
}

// keep writes a spool with something of everything, and what is in it.
func keep(t *testing.T, base string) {
	ctx, dir := context.Background(), t.TempDir()
	dir = filepath.Join(dir, "spool")
	s := open(t, vfs.Default, func(o *storage.Options) { o.Dir, o.MemTableBytes, o.Ledger.MaxEntries = dir, 64<<10, 20 })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, properties := range []string{`{"v":1}`, `{"v":2}`} {
		must(s.PutResource(ctx, storage.KindNamespace, "public/default", json.RawMessage(properties)))
	}
	_, err := s.PutSchema(ctx, "public/default/kept", record.Schema{Type: 2, Data: []byte(`{"type":"record"}`)})
	must(err)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []string{"kept", "ended"} {
		tp, sk := create(t, s, n)
		anchor, c := cursor(t, tp, "anchor"), cursor(t, tp, "s")
		p := tp.ProducerState("producer")
		for i := range 70 {
			must(tp.Append(storage.Append{Data: fmt.Appendf(nil, "%s-%d %x", n, i, rng.Uint64()), PublishTime: int64(1000 + i),
				Messages: int32(1 + i%3), Producer: p, Sequence: uint64(i)}))
		}
		for i, a := range sk.Wait(70) {
			switch {
			case i < 10 || i%4 == 1:
				must(c.Ack([]storage.Ack{{Position: a.Position}}, nil))
			case i%9 == 2:
				must(c.Ack([]storage.Ack{{Position: a.Position, Remaining: []uint64{1}, Messages: a.Messages, Bytes: int64(len(a.Data))}}, nil))
			}
		}
		must(anchor.SetProperties(ctx, map[string]string{"purpose": "keeps every ledger"}))
		if n == "ended" {
			_, err := tp.Terminate(ctx)
			must(err)
		}
	}
	closeStore(t, s)
	pack(t, dir, base+".tar.gz")
	must(os.WriteFile(base+".txt", []byte(dump(t, dir)), 0o600))
}

// dump says what is in a stopped spool.
func dump(t *testing.T, dir string) string {
	t.Helper()
	ctx := context.Background()
	var out strings.Builder
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir, FS: vfs.Default})
	must(err)
	defer func() { must(s.Close()) }()
	for _, k := range []storage.Kind{storage.KindNamespace, storage.KindHistory, storage.KindSchemas} {
		paths, err := s.ResourcePaths(k, "")
		must(err)
		for _, p := range paths {
			fmt.Fprintln(&out, "resource", k, p)
		}
	}
	must(s.EachTopic(func(h storage.TopicHead) error {
		tp, err := s.Topic(h.ID)
		must(err)
		fmt.Fprintf(&out, "topic %s terminated=%v %+v\n", tp.Name, tp.Terminated, tp.Stats())
		for _, c := range tp.Cursors {
			fmt.Fprintln(&out, "cursor", c.Name, c.MarkDelete, tp.Backlog(c), c.Properties)
			got, _, err := tp.Pending(ctx, c, wire.Earliest(), 1000, 1<<20, nil)
			must(err)
			for _, e := range got {
				fmt.Fprintln(&out, " pending", e.Position, string(e.Data), e.Header.Messages, e.Remaining)
			}
		}
		for name, p := range tp.Producers {
			fmt.Fprintln(&out, "producer", name, p.Sequence)
		}
		return nil
	}))
	return out.String()
}

// pack writes a folder's files to an archive without what differs from run to run.
func pack(t *testing.T, dir, archive string) {
	t.Helper()
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
