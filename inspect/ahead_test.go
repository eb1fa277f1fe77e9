package inspect_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire/pb"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"
)

// searchable is a spool with a topic of which a search takes many steps, and has to stop for much: large entries, ones that
// grow when decompressed, chunks, and ones that no producer sends.
func searchable(t testing.TB) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool", func(o *storage.Options) { o.Ledger.MaxEntries = 300 })
	o := m.topic("orders")
	c := o.cursor("sub")
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	for i := range 1200 {
		switch i % 150 {
		case 20:
			o.single(word(30_000), "large")
		case 40:
			text := bytes.Repeat([]byte(word(20)), 2000)
			kind := pb.CompressionType_SNAPPY
			o.custom(compress(t, kind, text), func(meta *pb.MessageMetadata) {
				meta.Compression, meta.UncompressedSize = &kind, proto.Uint32(uint32(len(text)))
			})
		case 60, 61, 63:
			o.chunk(fmt.Sprint("c", i/150), int32(i%150-60)*2/3, 3, word(300))
		case 80:
			o.append([]byte("garbage"), publishMs(o.sent), 1)
		case 81:
			o.append(append([]byte{0x0e, 0x01, 1, 2, 3, 4}, 0, 0, 0, 0), publishMs(o.sent), 1)
		case 100:
			o.batch(word(30), word(300), word(3000))
		default:
			o.single(word(r.IntN(900)), fmt.Sprint("key-", i%3))
		}
	}
	pos := o.positions()
	o.ack(c, storage.Ack{Position: pos[3]}, storage.Ack{Position: pos[100], Remaining: []uint64{0b101}}, storage.Ack{Position: pos[500]})
	m.stop()
	return fs
}

// said is what a session answers: rows and problems in their order.
func said(t *testing.T, fs vfs.FS, o inspect.MessagesOptions, most int, also func(*inspect.Message) bool) string {
	t.Helper()
	s, err := inspect.Open(context.Background(), inspect.Options{Dir: "spool", FS: fs, Memory: 256 << 10, Now: now})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	list, err := s.Messages(context.Background(), o)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for m, err := range list.Rows {
		if err == nil && !also(&m) {
			continue
		}
		note := ""
		if m.Note != nil {
			note = *m.Note
		}
		fmt.Fprintf(&b, "%s %s %s %x %v\n", m.ID, m.PublishTime, note, sha256.Sum256(m.Payload), err)
		if most--; most == 0 {
			break
		}
	}
	for _, p := range s.Problems() {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

// TestSearch: a search, which runs on all processors, gives what looking at one message after the other gives, damaged
// places included, wherever it ends.
func TestSearch(t *testing.T) {
	fs := searchable(t)
	f := inspect.Filter{Grep: regexp.MustCompile("a[b-f]|garbage")}
	all := func(*inspect.Message) bool { return true }
	agree := func(t *testing.T, fs vfs.FS, most int) {
		t.Helper()
		for _, pending := range []string{"", "sub"} {
			o := inspect.MessagesOptions{Selector: inspect.Selector{Globs: []string{"orders"}}, Pending: pending}
			want := said(t, fs, o, most, f.Match)
			o.Filter = f
			got := said(t, fs, o, most, all)
			if want == got {
				continue
			}
			w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
			for i := range min(len(w), len(g)) {
				if w[i] != g[i] {
					t.Fatalf("pending %q, most %d, line %d:\n%.300s\nwant\n%.300s", pending, most, i, g[i], w[i])
				}
			}
			t.Fatalf("pending %q: %d lines, want %d", pending, len(g), len(w))
		}
	}
	for _, most := range []int{-1, 1, 40} {
		agree(t, fs, most)
	}
	lose(t, fs, 5, 6, 299, 300, 301, 450, 700, 701, 1199)
	for _, most := range []int{-1, 1, 40} {
		agree(t, fs, most)
	}
}

// lose removes entries of a spool, counted over all of it.
func lose(t *testing.T, fs vfs.FS, which ...int) {
	t.Helper()
	db, err := pebble.Open("spool/store", &pebble.Options{FS: fs, Logger: silent{}, FormatMajorVersion: pebble.FormatValueSeparation})
	if err != nil {
		t.Fatal(err)
	}
	lower, upper := key.Entry.Bounds()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for ok := it.First(); ok; ok = it.Next() {
		if slices.Contains(which, at) {
			err = errors.Join(err, db.Delete(it.Key(), pebble.Sync))
		}
		at++
	}
	if err := errors.Join(err, it.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestSearchCancelled: a search whose context ends says so.
func TestSearchCancelled(t *testing.T) {
	fs := searchable(t)
	s := open(t, inspect.Options{Dir: "spool", FS: fs, Memory: 256 << 10})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	list, err := s.Messages(ctx, inspect.MessagesOptions{Filter: inspect.Filter{Grep: regexp.MustCompile("[a-z]")}})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, err = range list.Rows {
		rows++
		cancel()
	}
	if !errors.Is(err, context.Canceled) || rows > 1000 {
		t.Errorf("%d rows, then %v", rows, err)
	}
}
