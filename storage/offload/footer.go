package offload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	formatVersion = 1
	footerMagic   = "SPLEDGER"
	footerLen     = 8 + 4 + uuidLen + 4*8 + 3*4
	indexEntryLen = 8 + 8
	maxIndexLen   = 16 << 20 // a TiB of blocks of the default size
)

// errChecksum is the cause of most damage.
var errChecksum = errors.New("checksum mismatch")

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// place is where a block is.
type place struct{ offset, first int64 }

// footer is the end of an object.
type footer struct {
	spool       string
	ledger      int64
	entries     int64
	bytes       int64
	indexOffset int64
	blocks      uint32
	indexSum    uint32
}

func (f footer) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, footerMagic...)
	dst = binary.BigEndian.AppendUint32(dst, formatVersion)
	dst = append(dst, f.spool...)
	for _, n := range []int64{f.ledger, f.entries, f.bytes, f.indexOffset} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	dst = binary.BigEndian.AppendUint32(dst, f.blocks)
	dst = binary.BigEndian.AppendUint32(dst, f.indexSum)
	return binary.BigEndian.AppendUint32(dst, checksum(dst[start:]))
}

// parseFooter decodes the last footerLen bytes of an object and compares them with what the spool knows of it.
func parseFooter(b []byte, o Object) (f footer, err error) {
	if string(b[:8]) != footerMagic {
		return f, errors.New("it does not end like an offloaded ledger")
	}
	if checksum(b[:footerLen-4]) != binary.BigEndian.Uint32(b[footerLen-4:]) {
		return f, fmt.Errorf("footer: %w", errChecksum)
	}
	if v := binary.BigEndian.Uint32(b[8:]); v != formatVersion {
		return f, fmt.Errorf("it has format %d, this program reads %d", v, formatVersion)
	}
	f.spool = string(b[12 : 12+uuidLen])
	b = b[12+uuidLen:]
	for i, p := range []*int64{&f.ledger, &f.entries, &f.bytes, &f.indexOffset} {
		*p = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	f.blocks, f.indexSum = binary.BigEndian.Uint32(b[32:]), binary.BigEndian.Uint32(b[36:])
	index := int64(f.blocks) * indexEntryLen
	switch {
	case f.spool != o.Spool || f.ledger != o.Ledger || f.entries != o.Entries:
		return f, fmt.Errorf("it holds ledger %d of spool %s with %d entries", f.ledger, f.spool, f.entries)
	case f.blocks == 0 || index > maxIndexLen || f.indexOffset < 0 || f.indexOffset != o.Size-footerLen-index:
		return f, fmt.Errorf("an index of %d blocks cannot be at offset %d", f.blocks, f.indexOffset)
	}
	return f, nil
}

// parseIndex decodes the index: blocks that lie behind each other from the object's start to the index, each of a
// possible length, with rising entry ids.
func parseIndex(b []byte, f footer) ([]place, error) {
	if checksum(b) != f.indexSum {
		return nil, fmt.Errorf("index: %w", errChecksum)
	}
	index := make([]place, f.blocks, f.blocks+1)
	for i := range index {
		e := b[i*indexEntryLen:]
		index[i] = place{int64(binary.BigEndian.Uint64(e)), int64(binary.BigEndian.Uint64(e[8:]))}
	}
	if index[0] != (place{}) {
		return nil, errors.New("the first block is not at the start")
	}
	index = append(index, place{f.indexOffset, f.entries}) // so that every block has an end
	for i := range f.blocks {
		p, next := index[i], index[i+1]
		length, count := next.offset-p.offset, next.first-p.first // a wrap makes them negative or is refused with the block
		if next.offset < 0 || length < minBlockLen || length > maxBlockLen || next.first < 0 || count < 1 || count > length {
			return nil, fmt.Errorf("block %d cannot have %d entries in %d bytes", i, count, length)
		}
	}
	return index, nil
}
