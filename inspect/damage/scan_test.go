package damage

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestScan cuts a table short at many lengths, and spoils its end: every block
// of keys that is whole is read though the index is lost.
func TestScan(t *testing.T) {
	for _, c := range []*sstable.CompressionProfile{sstable.NoCompression, sstable.SnappyCompression, sstable.ZstdCompression} {
		fs := vfs.NewMem()
		o := &pebble.Options{FS: fs, Logger: quiet{}, FormatMajorVersion: pebble.FormatValueSeparation}
		o.Levels[0].BlockSize = 1024
		o.Levels[0].Compression = func() *sstable.CompressionProfile { return c }
		db, err := pebble.Open("db", o)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		want := map[string][]byte{}
		for i := range 400 {
			v := record.AppendHeader(nil, record.Header{Messages: 1, TotalMessages: int64(i + 1), TotalBytes: int64(100 * (i + 1))})
			v = append(v, bytes.Repeat([]byte{byte(rng.Uint32()), byte(i)}, 60)...)
			k := key.ForEntry(1, 7, int64(i))
			if err := db.Set(k, v, pebble.NoSync); err != nil {
				t.Fatal(err)
			}
			want[string(k)] = v
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		table := ReadManifest(fs, "db", "db").Live()[0]
		path := fs.PathJoin("db", TableFile(table.File))
		f, err := openTable(fs, path)
		if err != nil {
			t.Fatal(err)
		}
		check, err := f.check()
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		whole := fileBytes(t, fs, path)
		for cut := 0; cut < len(whole); cut += 1 + len(whole)/25 {
			for _, spoiled := range [][]byte{whole[:cut], append(bytes.Clone(whole[:cut]), make([]byte, len(whole)-cut)...)} {
				putFile(t, fs, path, spoiled)
				r, err := Rescue(context.Background(), Options{FS: fs, Dir: "db", Show: "db", Memory: 64 << 20})
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range want {
					intact := false
					for _, b := range check.data {
						if k <= string(b.last) {
							intact = b.offset+b.length+trailerLen <= int64(cut)
							break
						}
					}
					got, closer, err := r.DB.Get([]byte(k))
					if err == nil && !bytes.Equal(got, v) || intact && err != nil {
						t.Errorf("cut at %d: %s: %v", cut, key.Format([]byte(k)), err)
					}
					if err == nil {
						closer.Close()
					}
				}
				if len(r.Problems) == 0 {
					t.Error("nothing is said")
				}
				r.Close()
			}
		}
	}
}

func fileBytes(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func putFile(t *testing.T, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Clone(b)); err != nil { // the file system in memory may change what it is given
		t.Fatal(err)
	}
	f.Close()
}

// FuzzDecodeBlock: whatever a block holds, nothing panics.
func FuzzDecodeBlock(f *testing.F) {
	f.Add([]byte("block"), byte(0))
	f.Add(bytes.Repeat([]byte{1}, 100), byte(1))
	f.Fuzz(func(_ *testing.T, b []byte, compression byte) {
		if ops, err := decodeBlock(b, compression); err == nil {
			_ = fmt.Sprint(len(ops))
		}
	})
}
