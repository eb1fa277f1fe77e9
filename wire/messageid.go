package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// idFields collects the fields of a MessageIdData, which may come in several
// pieces when the field that holds it is not repeated.
type idFields struct {
	AckID
	seen uint64
	bad  bool
}

// read takes the fields of one piece. Ack set words go behind the end of words,
// which is returned.
func (id *idFields) read(b []byte, words []uint64) []uint64 {
	if id.seen == 0 {
		id.Partition, id.Batch = -1, -1
	}
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			id.Ledger = int64(f.num)
			id.seen |= 1 << 1
		case 2<<3 | varint:
			id.Entry = int64(f.num)
			id.seen |= 1 << 2
		case 3<<3 | varint:
			id.Partition = int32(f.num)
		case 4<<3 | varint:
			id.Batch = int32(f.num)
		case 5<<3 | varint:
			words = append(words, f.num)
		case 5<<3 | lenPrefix:
			words = f.appendPacked(words)
		case 6<<3 | varint:
			id.BatchSize = int32(f.num)
		}
	}
	id.bad = id.bad || f.bad
	return words
}

// check says whether all pieces together made a MessageIdData.
func (id *idFields) check() error {
	f := fields{bad: id.bad}
	return f.check("MessageIdData", id.seen, 1<<1|1<<2)
}

// sizeID is the size of the MessageIdData that appendID appends.
func sizeID(p Position, partition, batch, batchSize int32, ackSet []uint64) int {
	size := sizeField(uint64(p.Ledger)) + sizeField(uint64(p.Entry))
	if partition != -1 {
		size += sizeField(uint64(partition))
	}
	if batch != -1 {
		size += sizeField(uint64(batch))
	}
	if batchSize != 0 {
		size += sizeField(uint64(batchSize))
	}
	return size + sizeWords(ackSet)
}

// appendID appends the length and the fields of a MessageIdData.
func appendID(dst []byte, p Position, partition, batch, batchSize int32, ackSet []uint64) []byte {
	dst = protowire.AppendVarint(dst, uint64(sizeID(p, partition, batch, batchSize, ackSet)))
	dst = appendField(dst, 1<<3, uint64(p.Ledger))
	dst = appendField(dst, 2<<3, uint64(p.Entry))
	if partition != -1 {
		dst = appendField(dst, 3<<3, uint64(partition))
	}
	if batch != -1 {
		dst = appendField(dst, 4<<3, uint64(batch))
	}
	dst = appendWords(dst, 5<<3, ackSet)
	if batchSize != 0 {
		dst = appendField(dst, 6<<3, uint64(batchSize))
	}
	return dst
}

// sizeWords is the size of what appendWords appends.
func sizeWords(words []uint64) int {
	size := 0
	for _, w := range words {
		size += sizeField(w)
	}
	return size
}

// appendWords appends a repeated field in the unpacked form of proto2.
func appendWords(dst []byte, tag uint64, words []uint64) []byte {
	for _, w := range words {
		dst = appendField(dst, tag, w)
	}
	return dst
}
