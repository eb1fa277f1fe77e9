package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"spoolctl/wire/pb"
)

// keptIDs bounds what an Ack keeps for reuse between two calls of ParseAck.
const keptIDs = 4096

// AckID is one message id of an acknowledgement.
type AckID struct {
	Position
	Partition, Batch int32    // -1 when absent
	BatchSize        int32    // 0 when absent
	AckSet           []uint64 // bit set over the batch, bit 1 = still unacknowledged; nil when absent
}

// AckProperty is a number that a client stores with its acknowledgement.
type AckProperty struct {
	Key   string
	Value uint64
}

// Ack is CommandAck.
type Ack struct {
	ConsumerID        uint64
	Cumulative        bool
	IDs               []AckID
	RequestID         uint64
	HasRequestID      bool // the client wants an answer
	TxnMost, TxnLeast uint64
	HasTxn            bool
	ValidationError   int32 // a pb.CommandAck_ValidationError, -1 when absent
	Properties        []AckProperty

	words []uint64 // backing memory of the ack sets
}

// ParseAck reads a CommandAck into into, whose slices it reuses: ids and ack sets
// of the previous call are overwritten. After an error, which wraps ErrMalformed,
// the content of into is undefined.
func ParseAck(body []byte, into *Ack) error {
	const (
		required  = 1<<1 | 1<<2
		txnFields = 1<<6 | 1<<7
	)
	into.reset()
	f := fields{rest: body}
	var seen uint64
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			into.ConsumerID = f.num
		case 2<<3 | varint:
			into.Cumulative = int32(f.num) == int32(pb.CommandAck_Cumulative)
		case 3<<3 | lenPrefix:
			if err := into.addID(f.data); err != nil {
				return err
			}
		case 4<<3 | varint:
			into.ValidationError = int32(f.num)
		case 5<<3 | lenPrefix:
			if err := into.addProperty(f.data); err != nil {
				return err
			}
		case 6<<3 | varint:
			into.TxnLeast = f.num
		case 7<<3 | varint:
			into.TxnMost = f.num
		case 8<<3 | varint:
			into.RequestID, into.HasRequestID = f.num, true
		default:
			continue
		}
		seen |= 1 << (f.tag >> 3)
	}
	into.HasTxn = seen&txnFields == txnFields
	return f.check("CommandAck", seen, required)
}

func (a *Ack) reset() {
	ids, words, properties := a.IDs[:0], a.words[:0], a.Properties[:0]
	if cap(ids) > keptIDs {
		ids = nil
	}
	if cap(words) > keptIDs {
		words = nil
	}
	if cap(properties) > keptIDs {
		properties = nil
	}
	*a = Ack{IDs: ids, words: words, Properties: properties, ValidationError: -1}
}

func (a *Ack) addID(b []byte) error {
	var id idFields
	start := len(a.words)
	a.words = id.read(b, a.words)
	if err := id.check(); err != nil {
		return err
	}
	if end := len(a.words); end > start {
		// When words moves to larger memory, sets cut from it earlier keep the old.
		id.AckSet = a.words[start:end:end]
	}
	a.IDs = append(a.IDs, id.AckID)
	return nil
}

func (a *Ack) addProperty(b []byte) error {
	f := fields{rest: b}
	var p AckProperty
	var seen uint64
	for f.next() {
		switch f.tag {
		case 1<<3 | lenPrefix:
			p.Key = string(f.data)
			seen |= 1 << 1
		case 2<<3 | varint:
			p.Value = f.num
			seen |= 1 << 2
		}
	}
	a.Properties = append(a.Properties, p)
	return f.check("KeyLongValue", seen, 1<<1|1<<2)
}

// AppendAck appends an ACK frame.
func AppendAck(dst []byte, a *Ack) []byte {
	kind := uint64(pb.CommandAck_Individual)
	if a.Cumulative {
		kind = uint64(pb.CommandAck_Cumulative)
	}
	var space [256]byte
	body := appendField(space[:0], 1<<3, a.ConsumerID)
	body = appendField(body, 2<<3, kind)
	for i := range a.IDs {
		id := &a.IDs[i]
		body = append(body, 3<<3|byte(lenPrefix))
		body = appendID(body, id.Position, id.Partition, id.Batch, id.BatchSize, id.AckSet)
	}
	if a.ValidationError >= 0 {
		body = appendField(body, 4<<3, uint64(a.ValidationError))
	}
	for _, p := range a.Properties {
		body = append(body, 5<<3|byte(lenPrefix))
		body = protowire.AppendVarint(body, uint64(1+protowire.SizeBytes(len(p.Key))+sizeField(p.Value)))
		body = protowire.AppendString(append(body, 1<<3|byte(lenPrefix)), p.Key)
		body = appendField(body, 2<<3, p.Value)
	}
	if a.HasTxn {
		body = appendField(body, 6<<3, a.TxnLeast)
		body = appendField(body, 7<<3, a.TxnMost)
	}
	if a.HasRequestID {
		body = appendField(body, 8<<3, a.RequestID)
	}
	dst = appendHead(dst, pb.BaseCommand_ACK, len(body), 0)
	return append(dst, body...)
}

// ParseFlow reads a CommandFlow: a consumer is ready for that many more messages.
// Errors wrap ErrMalformed.
func ParseFlow(body []byte) (consumerID uint64, permits uint32, err error) {
	f := fields{rest: body}
	var seen uint64
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			consumerID = f.num
			seen |= 1 << 1
		case 2<<3 | varint:
			permits = uint32(f.num)
			seen |= 1 << 2
		}
	}
	if err := f.check("CommandFlow", seen, 1<<1|1<<2); err != nil {
		return 0, 0, err
	}
	return consumerID, permits, nil
}

// AppendFlow appends a FLOW frame.
func AppendFlow(dst []byte, consumerID uint64, permits uint32) []byte {
	dst = appendHead(dst, pb.BaseCommand_FLOW, sizeField(consumerID)+sizeField(uint64(permits)), 0)
	dst = appendField(dst, 1<<3, consumerID)
	return appendField(dst, 2<<3, uint64(permits))
}
