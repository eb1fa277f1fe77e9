package damage

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// contents are the records of a database, except those that mend rewrites.
func contents(t testing.TB, r pebble.Reader) map[string]string {
	t.Helper()
	it, err := r.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for ok := it.First(); ok; ok = it.Next() {
		if f := key.Family(it.Key()[0]); f == key.Resource || f == key.Dedup {
			out[string(it.Key())] = string(it.Value())
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRescueEqualsPebble fills databases at random with writes, deletions,
// range deletions, flushes and compactions, and reads them file by file: the
// result must be what Pebble itself says.
func TestRescueEqualsPebble(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewMem()
		db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: quiet{}, FormatMajorVersion: pebble.FormatValueSeparation,
			MemTableSize: 64 << 10, L0CompactionThreshold: 2, LBaseMaxBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		name := func() []byte { return key.ForResource('t', fmt.Sprintf("%04d", rng.IntN(400))) }
		for range 2000 {
			switch n := rng.IntN(100); {
			case n < 80:
				err = db.Set(name(), bytes.Repeat([]byte{byte(n)}, rng.IntN(200)), pebble.NoSync)
			case n < 95:
				err = db.Delete(name(), pebble.NoSync)
			case n < 98:
				a, b := name(), name()
				if bytes.Compare(a, b) > 0 {
					a, b = b, a
				}
				err = db.DeleteRange(a, b, pebble.NoSync)
			case n < 99:
				err = db.Flush()
			default:
				err = db.Compact(context.Background(), []byte{0}, []byte{0xff}, false)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		want := contents(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Rescue(context.Background(), Options{FS: fs, Dir: "db", Show: "db", Memory: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Problems) > 0 {
			t.Errorf("seed %d: %v", seed, r.Problems)
		}
		if diff := cmp.Diff(want, contents(t, r.DB)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBadBlocks damages several blocks of one table: all other blocks must be
// read, and the keys of the bad ones named.
func TestBadBlocks(t *testing.T) {
	fs := vfs.NewMem()
	o := &pebble.Options{FS: fs, Logger: quiet{}, FormatMajorVersion: pebble.FormatValueSeparation}
	o.Levels[0].BlockSize = 1024
	db, err := pebble.Open("db", o)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		v := make([]byte, 100)
		for j := range v {
			v[j] = byte(rng.Uint32())
		}
		h := record.AppendHeader(nil, record.Header{Messages: 1, TotalMessages: int64(i + 1), TotalBytes: int64(100 * (i + 1))})
		if err := db.Set(key.ForEntry(1, 7, int64(i)), append(h, v...), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	m := ReadManifest(fs, "db", "db")
	if len(m.Tables) != 1 || !m.Whole {
		t.Fatalf("manifest %+v", m)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	path := fs.PathJoin("db", fmt.Sprintf("%06d.sst", m.Live()[0].File))
	blocks, bad, err := CheckTable(fs, path, nil)
	if err != nil || len(bad) > 0 || blocks < 50 {
		t.Fatalf("%d blocks, %v, %v", blocks, bad, err)
	}
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{100, 30_000, 34_000, 70_000} {
		if _, err := f.WriteAt([]byte("damage"), at); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	r, err := Rescue(context.Background(), Options{FS: fs, Dir: "db", Show: "db", Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	keys, err := FindBadKeys(fs, path)
	if err != nil || len(keys) != 4 {
		t.Fatalf("bad keys %v, %v", keys, err)
	}
	lost := 0
	for i := range 1000 {
		k := key.ForEntry(1, 7, int64(i))
		isBad := false
		for _, b := range keys {
			isBad = isBad || ((b.After == nil || bytes.Compare(k, b.After) > 0) && bytes.Compare(k, b.Last) <= 0)
		}
		_, closer, err := r.DB.Get(k)
		if (err != nil) != isBad {
			t.Errorf("entry %d: %v, in a bad block: %v", i, err, isBad)
		}
		if err != nil {
			lost++
		} else {
			closer.Close()
		}
	}
	if lost == 0 || lost > 60 {
		t.Errorf("%d entries are lost", lost)
	}
	p := r.Problems[0]
	if p.Lost == nil || *p.Lost != int64(lost) || *p.Recovered != int64(1000-lost) || p.Offset == nil || len(p.Ledgers) != 1 {
		t.Errorf("problem %s, lost %d", p, lost)
	}
}

// TestDeletes compares the pieces with looking at every range.
func TestDeletes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "ranges")
		var ranges []rangeDel
		for i := range n {
			a, b := rapid.IntRange(0, 20).Draw(t, "a"), rapid.IntRange(1, 21).Draw(t, "b")
			if a < b {
				ranges = append(ranges, rangeDel{[]byte{byte(a)}, []byte{byte(b)}, uint64(i + 1)})
			}
		}
		rapid.Permutation(ranges).Draw(t, "order")
		d := newDeletes(append([]rangeDel(nil), ranges...))
		for k := range 22 {
			for seq := range uint64(n + 2) {
				want := false
				for _, r := range ranges {
					want = want || (int(r.start[0]) <= k && k < int(r.end[0]) && r.seq > seq)
				}
				if got := d.covers([]byte{byte(k)}, seq); got != want {
					t.Fatalf("key %d at %d: %v, want %v", k, seq, got, want)
				}
			}
		}
	})
}

// chunkOf makes a chunk of a numbered log.
func chunkOf(log uint32, enc byte, data []byte) []byte {
	b := make([]byte, headSync, headSync+len(data))
	binary.LittleEndian.PutUint16(b[4:], uint16(len(data)))
	b[6] = enc
	binary.LittleEndian.PutUint32(b[7:], log)
	b = append(b, data...)
	binary.LittleEndian.PutUint32(b, maskedSum(b[6:]))
	return b
}

func TestReadLog(t *testing.T) {
	end := make([]byte, headLog)
	end[6] = 5
	binary.LittleEndian.PutUint32(end[7:], 8)
	a, b, c := chunkOf(7, 9, []byte("aaa")), chunkOf(7, 9, []byte("bbb")), chunkOf(7, 9, []byte("ccc"))
	bad := bytes.Clone(b)
	bad[headSync] ^= 1
	old := chunkOf(3, 9, []byte("old"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, tc := range []struct {
		name  string
		data  []byte
		want  string
		gaps  []Gap
		ended bool
		cut   bool
	}{
		{name: "empty"},
		{name: "whole", data: join(a, b, c, end), want: "aaa bbb ccc", ended: true},
		{name: "no end mark", data: join(a, b), want: "aaa bbb"},
		{name: "older log behind", data: join(a, old, old), want: "aaa"},
		{name: "rest of an older log behind", data: join(a, old[9:], old), want: "aaa"},
		{name: "bad before an older log", data: join(a, bad, old), want: "aaa", gaps: []Gap{{Offset: 22, Length: 44, Tail: true}}},
		{name: "zeroes behind", data: join(a, make([]byte, 100)), want: "aaa"},
		{name: "bad in the middle", data: join(a, bad, c, end), want: "aaa !ccc", gaps: []Gap{{Offset: 22, Length: 22}}, ended: true},
		{name: "bad before the end mark", data: join(a, bad, end), want: "aaa", gaps: []Gap{{Offset: 22, Length: 22}}, ended: true},
		{name: "bad at the end", data: join(a, bad), want: "aaa", gaps: []Gap{{Offset: 22, Length: 22, Tail: true}}},
		{name: "cut", data: join(a, b[:10]), want: "aaa", gaps: []Gap{{Offset: 22, Length: 10, Tail: true, Short: true}}},
		{name: "half a record", data: join(a, chunkOf(7, 10, []byte("half"))), want: "aaa", cut: true},
		{name: "several chunks", data: join(chunkOf(7, 10, []byte("x")), chunkOf(7, 11, []byte("y")), chunkOf(7, 12, []byte("z")), end), want: "xyz", ended: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			log, err := ReadLog(bytes.NewReader(tc.data), 7, func(r Record) error {
				s := string(r.Data)
				if r.AfterGap {
					s = "!" + s
				}
				got = append(got, s)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if s := fmt.Sprint(got); s != "["+tc.want+"]" || log.Ended != tc.ended || log.Cut != tc.cut {
				t.Errorf("got %s, %+v", s, log)
			}
			if diff := cmp.Diff(tc.gaps, log.Gaps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add(uint64(7), chunkOf(7, 9, []byte("aaa")))
	f.Add(uint64(0), []byte{0, 0, 0, 0, 3, 0, 1, 1, 2, 3})
	f.Add(uint64(7), append(make([]byte, blockLen), chunkOf(7, 12, []byte("z"))...))
	f.Fuzz(func(t *testing.T, n uint64, b []byte) {
		total := 0
		log, err := ReadLog(bytes.NewReader(b), n, func(r Record) error {
			total += len(r.Data)
			return nil
		})
		if err != nil || total > len(b) {
			t.Fatalf("%d bytes of records in %d, %v", total, len(b), err)
		}
		for _, g := range log.Gaps {
			if g.Offset < 0 || g.Length <= 0 || g.Offset+g.Length > int64(len(b)) {
				t.Fatalf("gap %+v of %d bytes", g, len(b))
			}
		}
	})
}

func FuzzManifestEdit(f *testing.F) {
	f.Add([]byte{tagLogNumber, 3, tagNewFile4, 0, 5, 10, 9, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 9, 'b', 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, customEnd})
	f.Add([]byte{tagDeletedFile, 0, 5, tagLastSequence, 200, 1})
	f.Fuzz(func(_ *testing.T, b []byte) {
		m := &Manifest{Tables: map[uint64]Table{}, Gone: map[uint64]bool{}}
		_ = m.apply(b, &Edit{}) // any error is fine, a panic is not
		m.Live()
	})
}
