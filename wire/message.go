package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"spoolctl/wire/pb"
)

// Message is CommandMessage: one entry on its way to a consumer. The entry is the
// payload of its frame.
type Message struct {
	ConsumerID uint64
	Position
	Partition       int32    // -1 when the topic is not partitioned
	RedeliveryCount uint32   // deliveries before this one
	AckSet          []uint64 // bit set over the batch, bit 1 = still to deliver; nil = all
	ConsumerEpoch   uint64
	HasEpoch        bool
}

// AppendMessageHeader appends a MESSAGE frame up to the point where the entryLen
// bytes of the stored entry follow as they are.
func AppendMessageHeader(dst []byte, m Message, entryLen int) []byte {
	id := sizeID(m.Position, m.Partition, -1, 0, nil)
	size := sizeField(m.ConsumerID) + 1 + protowire.SizeBytes(id) + sizeWords(m.AckSet)
	if m.RedeliveryCount != 0 {
		size += sizeField(uint64(m.RedeliveryCount))
	}
	if m.HasEpoch {
		size += sizeField(m.ConsumerEpoch)
	}
	dst = appendHead(dst, pb.BaseCommand_MESSAGE, size, entryLen)
	dst = appendField(dst, 1<<3, m.ConsumerID)
	dst = append(dst, 2<<3|byte(lenPrefix))
	dst = appendID(dst, m.Position, m.Partition, -1, 0, nil)
	if m.RedeliveryCount != 0 {
		dst = appendField(dst, 3<<3, uint64(m.RedeliveryCount))
	}
	dst = appendWords(dst, 4<<3, m.AckSet)
	if m.HasEpoch {
		dst = appendField(dst, 5<<3, m.ConsumerEpoch)
	}
	return dst
}

// ParseMessage reads a CommandMessage. It allocates only for an ack set. Errors
// wrap ErrMalformed.
func ParseMessage(body []byte) (Message, error) {
	const required = 1<<1 | 1<<2
	var m Message
	var id idFields
	f := fields{rest: body}
	var seen uint64
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			m.ConsumerID = f.num
			seen |= 1 << 1
		case 2<<3 | lenPrefix:
			id.read(f.data, nil)
			seen |= 1 << 2
		case 3<<3 | varint:
			m.RedeliveryCount = uint32(f.num)
		case 4<<3 | varint:
			m.AckSet = append(m.AckSet, f.num)
		case 4<<3 | lenPrefix:
			m.AckSet = f.appendPacked(m.AckSet)
		case 5<<3 | varint:
			m.ConsumerEpoch, m.HasEpoch = f.num, true
		}
	}
	if err := f.check("CommandMessage", seen, required); err != nil {
		return Message{}, err
	}
	if err := id.check(); err != nil {
		return Message{}, err
	}
	m.Position, m.Partition = id.Position, id.Partition
	return m, nil
}
