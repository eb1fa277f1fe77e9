package inspect_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"testing"

	"spoolctl/inspect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// image is the files of a spool by path.
type image map[string][]byte

func takeImage(t testing.TB, fs vfs.FS, dir string) image {
	t.Helper()
	out := image{}
	var walk func(dir string)
	walk = func(dir string) {
		names, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			path := fs.PathJoin(dir, n)
			info, err := fs.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.IsDir() {
				walk(path)
				continue
			}
			f, err := fs.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			out[path] = b
		}
	}
	walk(dir)
	return out
}

// restore makes a file system of the image, with one file changed; nil
// removes it.
func (im image) restore(t testing.TB, path string, data []byte) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	for p, b := range im {
		if p == path {
			if b = data; b == nil {
				continue
			}
		}
		if err := fs.MkdirAll(fs.PathDir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := fs.Create(p, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(bytes.Clone(b)); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return fs
}

// whole is an undamaged spool and what is said of it.
type whole struct {
	image
	text  string
	notes []string
}

// damageable is a small spool with tables and a MANIFEST. When its broker was killed, there is a log too.
func damageable(t testing.TB, killed bool) whole {
	t.Helper()
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	sample(m)
	m.stop()
	m = makeSpool(t, fs, "spool")
	late := m.topic("late")
	late.cursor("sub")
	for i := range 12 {
		late.single(fmt.Sprintf("late %d", i), "")
	}
	late.positions()
	im := takeImage(t, fs, "spool")
	m.stop()
	if !killed {
		im = takeImage(t, fs, "spool")
	}
	s := open(t, inspect.Options{Dir: "spool", FS: im.restore(t, "", nil)})
	want, err := answers(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Problems()) > 0 {
		t.Fatal(s.Problems())
	}
	return whole{im, want, s.Notes()}
}

// lastRecord is where the last record of a killed broker's log begins: from there on, damage cannot be told from what the
// kill cut off.
func (w whole) lastRecord(t *testing.T, path string, data []byte) int {
	t.Helper()
	text := func(n int) string { return w.inspect(t, w.restore(t, path, data[:n])).text }
	end := sort.Search(len(data), func(n int) bool { return text(n) == w.text })
	if end == 0 {
		return len(data) // nothing in it is needed any more
	}
	before := text(end - 1)
	return sort.Search(end-1, func(n int) bool { return text(n) == before })
}

// inspected is what the verbs say of one damaged spool.
type inspected struct {
	text   string
	silent bool // neither a problem, nor a note that the whole spool has not, nor an error
	found  int64
	said   string
}

func (w whole) inspect(t *testing.T, fs vfs.FS) (got inspected) {
	t.Helper()
	s, err := inspect.Open(context.Background(), inspect.Options{Dir: "spool", FS: fs, Now: now})
	if err != nil {
		return inspected{said: err.Error(), found: 1}
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	got.text, err = answers(context.Background(), s)
	got.silent = err == nil && len(s.Problems()) == 0 && slices.Equal(s.Notes(), w.notes)
	v, verr := s.Verify(context.Background(), inspect.VerifyOptions{})
	if verr != nil {
		got.found = 1
	} else {
		got.found = v.Found
	}
	got.said = fmt.Sprint(err, s.Problems(), s.Notes(), verr)
	return got
}

// damageStride is the distance of the bytes that are tried.
var damageStride = flag.Int("damage.stride", 257, "distance of the bytes and lengths that are tried; 1 tries all")

// eachFile runs a test for every file below a path at the same time.
func (im image) eachFile(t *testing.T, below string, test func(t *testing.T, path string, data []byte)) {
	for path, data := range im {
		if strings.HasPrefix(path, below) {
			t.Run(strings.TrimPrefix(path, "spool/"), func(t *testing.T) {
				t.Parallel()
				test(t, path, data)
			})
		}
	}
}

// eachKind runs a test on a spool that was stopped and on one whose broker was killed.
func eachKind(t *testing.T, test func(t *testing.T, w whole, killed bool)) {
	t.Run("stopped", func(t *testing.T) { test(t, damageable(t, false), false) })
	t.Run("killed", func(t *testing.T) { test(t, damageable(t, true), true) })
}

func TestFlippedBytes(t *testing.T) {
	eachKind(t, func(t *testing.T, w whole, killed bool) {
		w.eachFile(t, "spool/store/", func(t *testing.T, path string, data []byte) {
			known := len(data) // where damage can be told from
			if killed && strings.HasSuffix(path, ".log") && len(data) > 0 {
				known = w.lastRecord(t, path, data)
			}
			for at := 0; at < len(data); at += *damageStride {
				bad := append([]byte(nil), data...)
				bad[at] ^= 0x41
				got := w.inspect(t, w.restore(t, path, bad))
				if got.text == w.text || at >= known {
					continue
				}
				if got.silent {
					t.Errorf("byte %d: the answer differs and nothing is said", at)
				}
				if got.found == 0 {
					t.Errorf("byte %d: the answer differs and verify finds nothing: %s", at, got.said)
				}
			}
		})
	})
}

func TestTruncated(t *testing.T) {
	eachKind(t, func(t *testing.T, w whole, killed bool) {
		w.eachFile(t, "spool/", func(t *testing.T, path string, data []byte) {
			if killed && strings.HasSuffix(path, ".log") {
				return // a kill does that too
			}
			for n := 0; n < len(data); n += *damageStride {
				got := w.inspect(t, w.restore(t, path, data[:n]))
				if got.text != w.text && got.silent {
					t.Errorf("cut to %d bytes: the answer differs and nothing is said", n)
				}
			}
		})
	})
}

func TestMissingFiles(t *testing.T) {
	w := damageable(t, true)
	for path := range w.image {
		got := w.inspect(t, w.restore(t, path, nil))
		switch {
		case got.text != w.text && got.silent:
			t.Errorf("without %s the answer differs and nothing is said", path)
		case strings.HasSuffix(path, ".sst") && !strings.Contains(got.said, "the table is missing"):
			t.Errorf("without %s: %s", path, got.said)
		case strings.HasSuffix(path, ".log") && !strings.Contains(got.said, "the log is missing"):
			t.Errorf("without %s: %s", path, got.said)
		}
	}
}
