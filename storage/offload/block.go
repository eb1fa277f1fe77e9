package offload

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	defaultBlockBytes = 1 << 20
	maxEntryBytes     = 257 << 20 // storage's largest entry and its header
	blockMagic        = 0x53504c42
	blockHeaderLen    = 4 + 4 + 8 + 4
	minBlockLen       = blockHeaderLen + 1 + 4
	maxBlockLen       = blockHeaderLen + binary.MaxVarintLen32 + maxEntryBytes + 4
)

// startBlock begins a block in dst; sealBlock ends it.
func startBlock(dst []byte) []byte { return append(dst[:0], make([]byte, blockHeaderLen)...) }

func appendEntry(block, value []byte) []byte {
	return append(binary.AppendUvarint(block, uint64(len(value))), value...)
}

func sealBlock(b []byte, first int64, count int) []byte {
	binary.BigEndian.PutUint32(b, blockMagic)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-blockHeaderLen))
	binary.BigEndian.PutUint64(b[8:], uint64(first))
	binary.BigEndian.PutUint32(b[16:], uint32(count))
	return binary.BigEndian.AppendUint32(b, checksum(b))
}

// block is a decoded block.
type block struct {
	first int64
	raw   []byte
	ends  []uint32 // where each entry ends in raw
}

// parseBlock checks that raw is the block of count entries from first on. raw is at least minBlockLen long, and count at
// most as large as that, which parseIndex saw to.
func parseBlock(raw []byte, first, count int64) (block, error) {
	body := raw[:len(raw)-4]
	if checksum(body) != binary.BigEndian.Uint32(raw[len(body):]) {
		return block{}, errChecksum
	}
	if binary.BigEndian.Uint32(raw) != blockMagic || int64(binary.BigEndian.Uint32(raw[4:])) != int64(len(body)-blockHeaderLen) ||
		int64(binary.BigEndian.Uint64(raw[8:])) != first || int64(binary.BigEndian.Uint32(raw[16:])) != count {
		return block{}, errors.New("it is not the block that the index says")
	}
	b := block{first: first, raw: raw, ends: make([]uint32, count)}
	at := blockHeaderLen
	for i := range b.ends {
		n, width := binary.Uvarint(body[at:])
		if width <= 0 || n > uint64(len(body)-at-width) {
			return block{}, fmt.Errorf("entry %d is cut off", first+int64(i))
		}
		at += width + int(n)
		b.ends[i] = uint32(at)
	}
	if at != len(body) {
		return block{}, errors.New("bytes are left behind its last entry")
	}
	return b, nil
}

// next is the entry id after the block.
func (b block) next() int64 { return b.first + int64(len(b.ends)) }

// value returns the bytes of an entry of the block; they alias it.
func (b block) value(entry int64) []byte {
	i, start := entry-b.first, blockHeaderLen
	if i > 0 {
		start = int(b.ends[i-1])
	}
	end := int(b.ends[i])
	_, width := binary.Uvarint(b.raw[start:end])
	return b.raw[start+width : end : end]
}
