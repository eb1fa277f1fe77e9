package compaction

import (
	"crypto/sha256"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// kind says what decides whether a message stays.
type kind uint8

const (
	kept      kind = iota // it stays
	dropped               // it goes
	gone                  // it was compacted out before
	keyed                 // it stays when it is the last of its key
	deleting              // it deletes its key, and goes
	chunk                 // a chunk that is not the last of its message: it stays when that stays
	lastChunk             // the last chunk of its message: it stays when it is the last of its key
)

// hash is the start of a key's SHA-256: nobody can make keys that collide.
type hash [16]byte

func hashOf(b []byte) (h hash) {
	sum := sha256.Sum256(b)
	copy(h[:], sum[:])
	return h
}

// message is what selection needs of a message.
type message struct {
	kind kind
	key  hash
	uuid hash // of a chunk's message
}

// maxBatch is the largest number of messages of a batch that is taken apart, so that one entry takes bounded memory.
const maxBatch = 1 << 20

// decoder takes one entry after the other apart.
type decoder struct {
	maxBytes      int
	retainNullKey bool

	// Of the entry decoded last:
	messages []message
	whole    bool // it could not be taken apart: one message that stays
	parts    wire.EntryParts
	meta     wire.Metadata
	payload  []byte // of a batch, decompressed
}

func (d *decoder) decode(data []byte) {
	d.messages, d.whole = d.messages[:0], false
	if !d.takeApart(data) {
		d.messages, d.whole = append(d.messages[:0], message{kind: kept}), true
	}
}

// takeApart fills messages, or returns false.
func (d *decoder) takeApart(data []byte) bool {
	var err error
	if d.parts, err = wire.SplitEntry(data); err != nil {
		return false
	}
	if d.meta, err = wire.ParseMetadata(d.parts.Metadata); err != nil {
		return false
	}
	switch {
	case d.meta.HasMarker:
		d.messages = append(d.messages, message{kind: dropped})
		return true
	case d.meta.HasNumMessages:
		return d.batch()
	}
	d.messages = append(d.messages, d.single())
	return true
}

func (d *decoder) batch() bool {
	if d.meta.Encrypted || d.meta.NumMessages > maxBatch || d.parts.Verify() != nil { // damage must not get a new checksum
		return false
	}
	var err error
	if d.payload, err = wire.Decompress(&d.meta, d.parts.Payload, d.maxBytes); err != nil {
		return false
	}
	for s, err := range wire.Unbatch(&d.meta, d.payload) {
		if err != nil {
			return false
		}
		d.messages = append(d.messages, d.inBatch(s.Meta, len(s.Payload)))
	}
	return true
}

func (d *decoder) inBatch(m *pb.SingleMessageMetadata, size int) message {
	switch {
	case m.GetCompactedOut():
		return message{kind: gone}
	case m.PartitionKey == nil:
		return d.keyless()
	case size == 0 || m.GetNullValue():
		return message{kind: deleting, key: hashOf([]byte(m.GetPartitionKey()))}
	}
	return message{kind: keyed, key: hashOf([]byte(m.GetPartitionKey()))}
}

// single is about an entry that is not a batch. It may be encrypted: the key is not.
func (d *decoder) single() message {
	m := &d.meta
	if m.PartitionKey == nil {
		return d.keyless()
	}
	key := hashOf(m.PartitionKey)
	empty := len(d.parts.Payload) == 0 || !m.Encrypted && m.Compression != int32(pb.CompressionType_NONE) && m.UncompressedSize == 0
	switch {
	case m.NumChunks > 1 && m.ChunkID < m.NumChunks-1:
		return message{kind: chunk, key: key, uuid: hashOf(m.UUID)}
	case m.NumChunks > 1:
		return message{kind: lastChunk, key: key, uuid: hashOf(m.UUID)}
	case empty || m.NullValue:
		return message{kind: deleting, key: key}
	}
	return message{kind: keyed, key: key}
}

func (d *decoder) keyless() message {
	if d.retainNullKey {
		return message{kind: kept}
	}
	return message{kind: dropped}
}
