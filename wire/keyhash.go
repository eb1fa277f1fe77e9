package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// KeyHash is the hash by which Key_Shared assigns an entry to a consumer: Murmur3
// over the ordering key, else over the decoded partition key, with the sign bit
// cleared as Pulsar does. An entry without a key is hashed by its producer and
// sequence id, which spreads such entries over the consumers.
func KeyHash(m *Metadata) uint32 {
	var space [256]byte
	key := m.OrderingKey
	switch {
	case key != nil:
	case m.PartitionKey != nil && m.PartitionKeyB64:
		key = m.PartitionKey
		// A key that is not base64 after all is hashed as it stands.
		if b, err := base64.StdEncoding.AppendDecode(space[:0], key); err == nil {
			key = b
		}
	case m.PartitionKey != nil:
		key = m.PartitionKey
	default:
		key = append(space[:0], m.ProducerName...)
		key = append(key, '-')
		key = strconv.AppendUint(key, m.SequenceID, 10)
	}
	return Murmur3(key) & math.MaxInt32
}

// Murmur3 is MurmurHash3 x86_32 with seed 0.
func Murmur3(b []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	scramble := func(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }

	size := uint32(len(b))
	var h uint32
	for ; len(b) >= 4; b = b[4:] {
		h ^= scramble(binary.LittleEndian.Uint32(b))
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var tail uint32
	for i := len(b) - 1; i >= 0; i-- {
		tail = tail<<8 | uint32(b[i])
	}
	h ^= scramble(tail)

	h ^= size
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
