package wire

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
)

// Checksum is CRC-32C (Castagnoli), the checksum of entries.
func Checksum(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// TopicsHash is the hash by which a client that asks for the topics of a
// namespace recognises an unchanged answer: CRC-32C over the sorted full names
// joined by commas, as hex digits of its little-endian bytes.
func TopicsHash(sorted []string) string {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	var name []byte
	for i, topic := range sorted {
		name = name[:0]
		if i > 0 {
			name = append(name, ',')
		}
		name = append(name, topic...)
		sum = crc32.Update(sum, table, name)
	}
	return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, sum))
}
