package damage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableFile is an open table.
type tableFile struct {
	*sstable.Reader
	file vfs.File
	size int64
}

func openTable(fs vfs.FS, path string) (t *tableFile, err error) {
	defer guard(&err)
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	src, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o := &pebble.Options{}
	o.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), src, o.MakeReaderOptions())
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return &tableFile{Reader: r, file: f, size: info.Size()}, nil
}

// guard turns a panic of the table reader on damaged bytes into an error.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("not a readable table: %v", r)
	}
}

// trailerLen is what follows every block: one byte for the compression and the
// checksum of block and byte.
const trailerLen = 5

// BadBlock is a block of a table whose checksum does not match.
type BadBlock struct {
	Offset, Length int64
	Kind           string
}

// CheckTable reads every block of a table and compares its checksum. It
// returns all bad blocks, and an error when the table's structure itself is
// not readable.
func CheckTable(fs vfs.FS, path string) (blocks int64, bad []BadBlock, err error) {
	defer guard(&err)
	t, err := openTable(fs, path)
	if err != nil {
		return 0, nil, err
	}
	defer t.Close()
	l, err := t.Layout()
	if err != nil {
		return 0, nil, err
	}
	check := func(kind string, offset, length uint64) error {
		if length == 0 {
			return nil
		}
		if offset+length+trailerLen > uint64(t.size) {
			bad = append(bad, BadBlock{int64(offset), int64(length), kind})
			return nil
		}
		b := make([]byte, length+trailerLen)
		if _, err := t.file.ReadAt(b, int64(offset)); err != nil {
			return err
		}
		blocks++
		if maskedSum(b[:length+1]) != binary.LittleEndian.Uint32(b[length+1:]) {
			bad = append(bad, BadBlock{int64(offset), int64(length), kind})
		}
		return nil
	}
	for _, h := range l.Data {
		if err = check("data", h.Offset, h.Length); err != nil {
			return blocks, bad, err
		}
	}
	for _, h := range l.Index {
		err = errors.Join(err, check("index", h.Offset, h.Length))
	}
	for _, h := range l.Filter {
		err = errors.Join(err, check("filter", h.Offset, h.Length))
	}
	for _, h := range l.ValueBlock {
		err = errors.Join(err, check("value", h.Offset, h.Length))
	}
	err = errors.Join(err,
		check("top index", l.TopIndex.Offset, l.TopIndex.Length),
		check("range deletions", l.RangeDel.Offset, l.RangeDel.Length),
		check("range keys", l.RangeKey.Offset, l.RangeKey.Length),
		check("value index", l.ValueIndex.Offset, l.ValueIndex.Length),
		check("properties", l.Properties.Offset, l.Properties.Length),
		check("meta index", l.MetaIndex.Offset, l.MetaIndex.Length))
	return blocks, bad, err
}

// op is one version of one key.
type op struct {
	key, value []byte
	seq        uint64
	kind       pebble.InternalKeyKind
}

// tableStats say how much of a table could be read.
type tableStats struct {
	read        int64
	lost        *int64 // nil: unknown
	first, last []byte // bounds of the first stretch that is lost
	err         error  // the first error met
}

// readTable calls each for every point key of a table that can be read, not in
// order: what stands before the first bad block, what stands behind the last
// one, and what can be found between. Slices are valid during the call only.
// The error is each's; damage is in the stats.
func readTable(t *tableFile, bounds Table, each func(op) error) (st tableStats, err error) {
	defer func() {
		if r := recover(); r != nil {
			st.err = fmt.Errorf("not a readable table: %v", r)
		}
	}()
	w := &tableWalk{t: t, bounds: bounds, each: each}
	defer w.close()
	if err := w.iter(); err != nil {
		st.err = err
		return st, nil
	}
	if err := w.forward(nil, nil); err != nil {
		return w.stats(), err
	}
	if w.err == nil {
		return w.stats(), nil
	}
	w.lostFrom = w.at
	if err := w.backward(w.at); err != nil {
		return w.stats(), err
	}
	err = w.between(w.lostFrom, w.firstBehind, 0)
	return w.stats(), err
}

type tableWalk struct {
	t           *tableFile
	bounds      Table
	each        func(op) error
	it          sstable.Iterator
	read        int64
	at          []byte // last key read forward
	err         error
	lostFrom    []byte
	firstBehind []byte // first key read behind the last bad block
}

// probeDepth bounds the search for readable blocks between two bad ones.
const probeDepth = 24

func (w *tableWalk) iter() (err error) {
	w.close()
	w.it, err = w.t.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	return err
}

func (w *tableWalk) close() {
	if w.it != nil {
		w.it.Close() // an error here was already met while iterating
		w.it = nil
	}
}

func (w *tableWalk) wanted(k []byte) bool {
	b := w.bounds
	return !b.Virtual || (b.Smallest == nil || bytes.Compare(k, b.Smallest) >= 0) && (b.Largest == nil || bytes.Compare(k, b.Largest) <= 0)
}

func (w *tableWalk) give(k []byte, seq uint64, kind pebble.InternalKeyKind, v []byte) error {
	if !w.wanted(k) {
		return nil
	}
	w.read++
	return w.each(op{key: k, value: v, seq: seq, kind: kind})
}

// forward reads from a key (nil: the first) up to before another (nil: the
// end), until damage is met, which it leaves in w.err.
func (w *tableWalk) forward(from, before []byte) error {
	kv := w.it.First()
	if from != nil {
		kv = w.it.SeekGE(from, 0)
	}
	for ; kv != nil; kv = w.it.Next() {
		k := kv.K.UserKey
		if from != nil && bytes.Equal(k, from) {
			continue
		}
		if before != nil && bytes.Compare(k, before) >= 0 {
			return nil
		}
		v, _, err := kv.Value(nil)
		if err != nil {
			w.fail(err)
			return nil
		}
		w.at = append(w.at[:0], k...)
		if err := w.give(k, uint64(kv.K.SeqNum()), kv.K.Kind(), v); err != nil {
			return err
		}
	}
	w.fail(w.it.Error())
	return nil
}

func (w *tableWalk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// backward reads from the end down to damage, not further than after.
func (w *tableWalk) backward(after []byte) error {
	if err := w.iter(); err != nil {
		return nil // the forward walk has its error
	}
	for kv := w.it.Last(); kv != nil; kv = w.it.Prev() {
		k := kv.K.UserKey
		if after != nil && bytes.Compare(k, after) <= 0 {
			return nil
		}
		v, _, err := kv.Value(nil)
		if err != nil {
			return nil
		}
		w.firstBehind = append(w.firstBehind[:0], k...)
		if err := w.give(k, uint64(kv.K.SeqNum()), kv.K.Kind(), v); err != nil {
			return err
		}
	}
	return nil
}

// between looks for readable blocks between two keys, halving the key space.
func (w *tableWalk) between(lo, hi []byte, depth int) error {
	if depth > probeDepth {
		return nil
	}
	mid := middle(lo, hi)
	if mid == nil {
		return nil
	}
	if err := w.iter(); err != nil {
		return nil
	}
	kv := w.it.SeekGE(mid, 0)
	if kv == nil && w.it.Error() != nil {
		if err := w.between(lo, mid, depth+1); err != nil {
			return err
		}
		return w.between(mid, hi, depth+1)
	}
	if kv == nil || (hi != nil && bytes.Compare(kv.K.UserKey, hi) >= 0) {
		return w.between(lo, mid, depth+1)
	}
	// A readable block: all of it and its readable neighbours.
	found := bytes.Clone(kv.K.UserKey)
	first := found
	for kv := w.it.SeekLT(found, 0); kv != nil; kv = w.it.Prev() {
		if lo != nil && bytes.Compare(kv.K.UserKey, lo) <= 0 {
			break
		}
		v, _, err := kv.Value(nil)
		if err != nil {
			break
		}
		first = append(first[:0:0], kv.K.UserKey...)
		if err := w.give(kv.K.UserKey, uint64(kv.K.SeqNum()), kv.K.Kind(), v); err != nil {
			return err
		}
	}
	if err := w.iter(); err != nil {
		return nil
	}
	last := found
	for kv := w.it.SeekGE(found, 0); kv != nil; kv = w.it.Next() {
		if hi != nil && bytes.Compare(kv.K.UserKey, hi) >= 0 {
			break
		}
		v, _, err := kv.Value(nil)
		if err != nil {
			break
		}
		last = append(last[:0:0], kv.K.UserKey...)
		if err := w.give(kv.K.UserKey, uint64(kv.K.SeqNum()), kv.K.Kind(), v); err != nil {
			return err
		}
	}
	if err := w.between(lo, first, depth+1); err != nil {
		return err
	}
	return w.between(last, hi, depth+1)
}

// middle is a key between lo and hi (nil: no bound), nil when there is none.
func middle(lo, hi []byte) []byte {
	const width = 26 // longer than every key of the families that grow large
	a, b := make([]byte, width), bytes.Repeat([]byte{0xff}, width)
	copy(a, lo)
	if hi != nil {
		clear(b)
		copy(b, hi)
	}
	mid := make([]byte, width)
	carry := 0
	for i := width - 1; i >= 0; i-- { // a + b
		s := int(a[i]) + int(b[i]) + carry
		mid[i], carry = byte(s), s>>8
	}
	for i := range mid { // halve
		s := carry<<8 | int(mid[i])
		mid[i], carry = byte(s>>1), s&1
	}
	if bytes.Compare(mid, a) <= 0 || bytes.Compare(mid, b) >= 0 {
		return nil
	}
	return mid
}

func (w *tableWalk) stats() tableStats {
	st := tableStats{read: w.read, err: w.err, first: w.lostFrom, last: w.firstBehind}
	if w.err == nil {
		return st
	}
	if p, err := w.t.ReadPropertiesBlock(context.Background(), nil); err == nil && !w.bounds.Virtual {
		st.lost = new(max(0, int64(p.NumEntries-p.NumRangeDeletions)-w.read))
	}
	return st
}

// rangeDel deletes the keys in [start, end) that are older than seq.
type rangeDel struct {
	start, end []byte
	seq        uint64
}

func readRangeDels(t *tableFile, each func(rangeDel)) (err error) {
	defer guard(&err)
	it, err := t.NewRawRangeDelIter(context.Background(), sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil || it == nil {
		return err
	}
	defer it.Close()
	s, err := it.First()
	for ; s != nil && err == nil; s, err = it.Next() {
		for _, k := range s.Keys {
			each(rangeDel{bytes.Clone(s.Start), bytes.Clone(s.End), uint64(k.SeqNum())})
		}
	}
	return err
}
