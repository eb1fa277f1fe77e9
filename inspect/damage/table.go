package damage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableFile is an open table.
type tableFile struct {
	*sstable.Reader
	file *checkedFile
	size int64
	buf  []byte // for one block at a time
}

// checkedFile is a table's file that refuses to read blocks known to be bad:
// Pebble would look for the flipped bit in each, at length.
type checkedFile struct {
	vfs.File
	bad map[int64]bool // by offset
}

var errBadBlock = errors.New("the block does not match its checksum")

// ReadAt implements sstable.ReadableFile.
func (f *checkedFile) ReadAt(b []byte, off int64) (int, error) {
	if f.bad[off] {
		return 0, errBadBlock
	}
	return f.File.ReadAt(b, off)
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
	file := &checkedFile{File: f}
	src, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o := &pebble.Options{}
	o.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), src, o.MakeReaderOptions())
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return &tableFile{Reader: r, file: file, size: info.Size()}, nil
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
// not readable. A data block of which seen says that it was read already, and
// that its checksum was right, counts without being read again; all its keys
// are above after, and at most last. seen may be nil.
func CheckTable(fs vfs.FS, path string, seen func(after, last []byte) bool) (blocks int64, bad []BadBlock, err error) {
	defer guard(&err)
	t, err := openTable(fs, path)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = t.Close() }() // it was only read
	c, err := t.checkUnseen(seen)
	return c.blocks, c.bad, err
}

// tableCheck is what reading all blocks of a table found out.
type tableCheck struct {
	blocks int64
	bad    []BadBlock
	data   []dataBlock // in order
}

// dataBlock is a block of keys and values. All its keys are at most last, all
// keys of the next block are above.
type dataBlock struct {
	last           []byte
	ok             bool
	offset, length int64
}

// check reads every block.
func (t *tableFile) check() (c tableCheck, err error) { return t.checkUnseen(nil) }

func (t *tableFile) checkUnseen(seen func(after, last []byte) bool) (c tableCheck, err error) {
	l, err := t.Layout()
	if err != nil {
		return c, err
	}
	good := func(kind string, h block.Handle) bool {
		if h.Length == 0 {
			return true
		}
		c.blocks++
		ok := t.sumMatches(h)
		if !ok {
			c.bad = append(c.bad, BadBlock{int64(h.Offset), int64(h.Length), kind})
		}
		return ok
	}
	for _, h := range l.Index {
		if !good("index", h) {
			return c, errBadBlock
		}
		err := t.eachSeparator(h, func(last []byte, data block.Handle) {
			ok := seen != nil && len(c.data) > 0 && seen(c.data[len(c.data)-1].last, last)
			if ok {
				c.blocks++
			} else {
				ok = good("data", data)
			}
			c.data = append(c.data, dataBlock{last: bytes.Clone(last), ok: ok, offset: int64(data.Offset), length: int64(data.Length)})
		})
		if err != nil {
			return c, err
		}
	}
	for _, h := range l.Filter {
		good("filter", h.Handle)
	}
	for _, h := range l.ValueBlock {
		good("value", h)
	}
	good("top index", l.TopIndex)
	good("range deletions", l.RangeDel)
	good("range keys", l.RangeKey)
	good("value index", l.ValueIndex)
	good("properties", l.Properties)
	good("meta index", l.MetaIndex)
	t.file.bad = make(map[int64]bool, len(c.bad))
	for _, b := range c.bad {
		t.file.bad[b.Offset] = true
	}
	return c, nil
}

func (t *tableFile) sumMatches(h block.Handle) bool {
	if h.Offset > uint64(t.size) || h.Length > uint64(t.size) || h.Offset+h.Length+trailerLen > uint64(t.size) {
		return false
	}
	if n := int(h.Length + trailerLen); cap(t.buf) < n {
		t.buf = make([]byte, n)
	}
	b := t.buf[:h.Length+trailerLen]
	if _, err := t.file.File.ReadAt(b, int64(h.Offset)); err != nil {
		return false
	}
	return maskedSum(b[:h.Length+1]) == binary.LittleEndian.Uint32(b[h.Length+1:])
}

// eachSeparator reads an index block.
func (t *tableFile) eachSeparator(h block.Handle, each func(last []byte, data block.Handle)) error {
	b, err := t.BlockReader().Read(context.Background(), block.NoReadEnv, nil, h, blockkind.Metadata,
		func(*block.Metadata, []byte) error { return nil })
	if err != nil {
		return err
	}
	defer b.Release()
	var it colblk.IndexIter
	if err := it.Init(t.Comparer, b.BlockData(), block.NoTransforms); err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		data, err := it.BlockHandleWithProperties()
		if err != nil {
			return err
		}
		each(it.Separator(), data.Handle)
	}
	return it.Close()
}

// op is one version of one key.
type op struct {
	key, value []byte
	seq        uint64
	kind       pebble.InternalKeyKind
	in         inLog // where it stands, for what was read from a log
}

// inLog is the place of an operation in a log.
type inLog struct {
	file   string
	record Record
	first  bool // of its record
	count  uint32
}

// tableStats say how much of a table could be read.
type tableStats struct {
	read        int64
	lost        *int64 // nil: unknown
	first, last []byte // bounds of what is lost; nil is the table's end
	bad         []BadBlock
	err         error // the first error met
	unindexed   bool  // which blocks there are is lost
}

// readTable calls each for every point key that stands in a readable block of
// a table, in order. Slices are valid during the call only. The error is
// each's; damage is in the stats.
func readTable(t *tableFile, bounds Table, each func(op) error) (st tableStats, err error) {
	defer func() {
		if r := recover(); r != nil {
			st.err = fmt.Errorf("not a readable table: %v", r)
		}
	}()
	c, err := t.check()
	if st.bad = c.bad; err != nil {
		st.err, st.unindexed = err, true
		return st, nil
	}
	for _, b := range c.bad {
		if b.Kind == "data" || b.Kind == "value" {
			st.err = errBadBlock
		}
	}
	it, err := t.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		st.err = err
		return st, nil
	}
	defer func() { _ = it.Close() }() // its errors were met while iterating
	w := &tableWalk{it: it, bounds: bounds, each: each, st: &st}
	for i := 0; i < len(c.data); {
		if !c.data[i].ok {
			w.lose(c.data, i)
			i++
			continue
		}
		j := i
		for j+1 < len(c.data) && c.data[j+1].ok {
			j++
		}
		if err := w.run(c.data, i, j); err != nil {
			return st, err
		}
		i = j + 1
	}
	if p, err := t.ReadPropertiesBlock(context.Background(), nil); err == nil && st.err != nil && !bounds.Virtual {
		st.lost = new(max(0, int64(p.NumEntries-p.NumRangeDeletions)-st.read))
	}
	return st, nil
}

type tableWalk struct {
	it     sstable.Iterator
	bounds Table
	each   func(op) error
	st     *tableStats
	losing bool // something was lost before
}

// lose notes that block i is bad.
func (w *tableWalk) lose(blocks []dataBlock, i int) {
	if !w.losing && i > 0 {
		w.st.first = blocks[i-1].last
	}
	w.losing = true
	if w.st.last = blocks[i].last; i == len(blocks)-1 {
		w.st.last = nil
	}
}

// run reads blocks i to j, which are all good.
func (w *tableWalk) run(blocks []dataBlock, i, j int) error {
	kv := w.it.First()
	if i > 0 {
		kv = w.it.SeekGE(append(bytes.Clone(blocks[i-1].last), 0), 0)
	}
	for ; kv != nil && bytes.Compare(kv.K.UserKey, blocks[j].last) <= 0; kv = w.it.Next() {
		v, _, err := kv.Value(nil)
		if err != nil {
			w.fail(err)
			continue
		}
		k := kv.K.UserKey
		if b := w.bounds; b.Virtual && (bytes.Compare(k, b.Smallest) < 0 || bytes.Compare(k, b.Largest) > 0) {
			continue
		}
		w.st.read++
		if err := w.each(op{key: k, value: v, seq: uint64(kv.K.SeqNum()), kind: kv.K.Kind()}); err != nil {
			return err
		}
	}
	w.fail(w.it.Error())
	return nil
}

func (w *tableWalk) fail(err error) {
	if w.st.err == nil {
		w.st.err = err
	}
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

// BadKeys is a stretch of keys whose block cannot be read: above After (nil:
// from the table's start) and up to Last.
type BadKeys struct {
	After, Last    []byte
	Offset, Length int64
}

// FindBadKeys returns the stretches of keys that a table has lost, in order.
func FindBadKeys(fs vfs.FS, path string) (out []BadKeys, err error) {
	defer guard(&err)
	t, err := openTable(fs, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.Close() }() // it was only read
	c, err := t.check()
	if err != nil {
		return nil, err
	}
	for i, b := range c.data {
		if b.ok {
			continue
		}
		k := BadKeys{Last: b.last, Offset: b.offset, Length: b.length}
		if i > 0 {
			k.After = c.data[i-1].last
		}
		out = append(out, k)
	}
	return out, nil
}
