package damage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Blocks of keys stand at the start of a table, one behind the other. Where the
// index that tells their lengths is lost, the checksum behind each does.

// maxBlock bounds a block, in bytes: one that holds the largest entry.
const maxBlock = 300 << 20

// errNoBlock ends a scan where no whole block follows.
var errNoBlock = errors.New("no block of keys follows")

// scanTable calls each for the keys in the readable blocks from the start of a
// table whose structure is lost, and returns how many there were. The error is
// each's or one of reading the file.
func scanTable(fs vfs.FS, path string, bounds Table, each func(op) error) (read int64, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	s := &scanner{file: f, size: info.Size()}
	for err == nil {
		var b []byte
		var compression byte
		if b, compression, err = s.next(); err != nil {
			break
		}
		var ops []op
		if ops, err = decodeBlock(b, compression); err != nil {
			break // the index, or what follows it
		}
		for _, o := range ops {
			if bounds.Virtual && (bytes.Compare(o.key, bounds.Smallest) < 0 || bytes.Compare(o.key, bounds.Largest) > 0) {
				continue
			}
			if err := each(o); err != nil {
				return read, err
			}
			read++
		}
	}
	if errors.Is(err, errNoBlock) {
		err = nil
	}
	return read, err
}

// scanner finds blocks by their checksums.
type scanner struct {
	file io.ReaderAt
	size int64
	at   int64  // of the next block
	buf  []byte // what was read from there
}

// next returns the next block, which is valid until the next call, and how it
// is compressed.
func (s *scanner) next() (data []byte, compression byte, err error) {
	table := crc32.MakeTable(crc32.Castagnoli) // the table is made once
	sum := uint32(0)
	for n := 0; n < maxBlock; n++ {
		if n+trailerLen > len(s.buf) {
			more := min(int64(max(64<<10, len(s.buf))), s.size-s.at-int64(len(s.buf)))
			if more <= 0 {
				return nil, 0, errNoBlock
			}
			old := len(s.buf)
			s.buf = append(s.buf, make([]byte, more)...)
			if _, err := s.file.ReadAt(s.buf[old:], s.at+int64(old)); err != nil && !errors.Is(err, io.EOF) {
				return nil, 0, err
			}
			if n+trailerLen > len(s.buf) {
				return nil, 0, errNoBlock
			}
		}
		// The sum is that of the bytes so far and of the one for the compression.
		c := crc32.Update(sum, table, s.buf[n:n+1])
		if n > 0 && (c>>15|c<<17)+0xa282ead8 == binary.LittleEndian.Uint32(s.buf[n+1:]) {
			data, compression = s.buf[:n:n], s.buf[n]
			s.at += int64(n + trailerLen)
			s.buf = s.buf[n+trailerLen:]
			return data, compression, nil
		}
		sum = c
	}
	return nil, 0, errNoBlock
}

// decodeBlock returns the keys of a block, or errNoBlock when it holds
// something else.
func decodeBlock(b []byte, compression byte) (out []op, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("%w: %v", errNoBlock, r)
		}
	}()
	how := block.CompressionIndicator(compression)
	n, err := block.DecompressedLen(how, b)
	if err != nil || n > maxBlock {
		return nil, errNoBlock
	}
	v := block.Alloc(n, nil)
	if err := block.DecompressInto(how, b, v.BlockData()); err != nil {
		v.Release()
		return nil, errNoBlock
	}
	var o pebble.Options
	o.EnsureDefaults()
	schema := o.KeySchemas[o.KeySchema]
	if err := colblk.InitDataBlockMetadata(schema, v.BlockMetadata(), v.BlockData()); err != nil {
		v.Release()
		return nil, errNoBlock
	}
	var it colblk.DataBlockIter
	it.InitOnce(schema, o.Comparer, nil)
	if err := it.InitHandle(o.Comparer, v.MakeHandle(), block.NoTransforms); err != nil {
		v.Release()
		return nil, errNoBlock
	}
	defer func() { _ = it.Close() }() // its errors were met while iterating
	for kv := it.First(); kv != nil; kv = it.Next() {
		val, _, err := kv.Value(nil)
		if err != nil {
			return nil, errNoBlock
		}
		one := op{key: bytes.Clone(kv.K.UserKey), value: bytes.Clone(val), seq: uint64(kv.K.SeqNum()), kind: kv.K.Kind()}
		ordered := len(out) == 0 || bytes.Compare(out[len(out)-1].key, one.key) <= 0
		if !ordered || one.kind > pebble.InternalKeyKindMax || setsKey(one.kind) && Decode(one.key, one.value) != nil {
			return nil, errNoBlock
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, errNoBlock
	}
	return out, nil
}

func setsKey(k pebble.InternalKeyKind) bool {
	return k == pebble.InternalKeyKindSet || k == pebble.InternalKeyKindSetWithDelete
}
