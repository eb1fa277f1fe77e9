package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"spoolctl/wire/pb"
)

// Send is CommandSend. The entry it announces is the payload of its frame.
type Send struct {
	ProducerID, SequenceID uint64
	HighestSequenceID      uint64 // last sequence id of a batch; 0 when absent
	NumMessages            int32  // 1 when absent; not checked
	IsChunk, Marker        bool
	TxnMost, TxnLeast      uint64
	HasTxn                 bool
}

// ParseSend reads a CommandSend. Errors wrap ErrMalformed.
func ParseSend(body []byte) (Send, error) {
	const (
		required  = 1<<1 | 1<<2
		txnFields = 1<<4 | 1<<5
	)
	s := Send{NumMessages: 1}
	f := fields{rest: body}
	var seen uint64
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			s.ProducerID = f.num
		case 2<<3 | varint:
			s.SequenceID = f.num
		case 3<<3 | varint:
			s.NumMessages = int32(f.num)
		case 4<<3 | varint:
			s.TxnLeast = f.num
		case 5<<3 | varint:
			s.TxnMost = f.num
		case 6<<3 | varint:
			s.HighestSequenceID = f.num
		case 7<<3 | varint:
			s.IsChunk = f.num != 0
		case 8<<3 | varint:
			s.Marker = f.num != 0
		default:
			continue
		}
		seen |= 1 << (f.tag >> 3)
	}
	s.HasTxn = seen&txnFields == txnFields
	if err := f.check("CommandSend", seen, required); err != nil {
		return Send{}, err
	}
	return s, nil
}

// AppendSend appends a SEND frame with its entry.
func AppendSend(dst []byte, s Send, entry []byte) []byte {
	var space [64]byte
	body := appendField(space[:0], 1<<3, s.ProducerID)
	body = appendField(body, 2<<3, s.SequenceID)
	if s.NumMessages != 1 {
		body = appendField(body, 3<<3, uint64(s.NumMessages))
	}
	if s.HasTxn {
		body = appendField(body, 4<<3, s.TxnLeast)
		body = appendField(body, 5<<3, s.TxnMost)
	}
	if s.HighestSequenceID != 0 {
		body = appendField(body, 6<<3, s.HighestSequenceID)
	}
	body = appendBool(body, 7<<3, s.IsChunk)
	body = appendBool(body, 8<<3, s.Marker)
	dst = appendHead(dst, pb.BaseCommand_SEND, len(body), len(entry))
	dst = append(dst, body...)
	return append(dst, entry...)
}

// SendReceipt is CommandSendReceipt: where an entry was stored. Position is
// {-1, -1} when it was not stored (a duplicate, a non-persistent topic).
type SendReceipt struct {
	ProducerID, SequenceID uint64
	HighestSequenceID      uint64
	Position               Position
}

// AppendSendReceipt appends a SEND_RECEIPT frame. A highest sequence id of 0 is
// left out.
func AppendSendReceipt(dst []byte, producerID, sequenceID, highest uint64, pos Position) []byte {
	id := sizeField(uint64(pos.Ledger)) + sizeField(uint64(pos.Entry))
	size := sizeField(producerID) + sizeField(sequenceID) + 2 + id
	if highest != 0 {
		size += sizeField(highest)
	}
	dst = appendHead(dst, pb.BaseCommand_SEND_RECEIPT, size, 0)
	dst = appendField(dst, 1<<3, producerID)
	dst = appendField(dst, 2<<3, sequenceID)
	dst = append(dst, 3<<3|byte(lenPrefix), byte(id))
	dst = appendField(dst, 1<<3, uint64(pos.Ledger))
	dst = appendField(dst, 2<<3, uint64(pos.Entry))
	if highest != 0 {
		dst = appendField(dst, 4<<3, highest)
	}
	return dst
}

// ParseSendReceipt reads a CommandSendReceipt. Errors wrap ErrMalformed.
func ParseSendReceipt(body []byte) (SendReceipt, error) {
	const required = 1<<1 | 1<<2
	var r SendReceipt
	var id idFields
	f := fields{rest: body}
	var seen uint64
	for f.next() {
		switch f.tag {
		case 1<<3 | varint:
			r.ProducerID = f.num
		case 2<<3 | varint:
			r.SequenceID = f.num
		case 3<<3 | lenPrefix:
			id.read(f.data, nil)
		case 4<<3 | varint:
			r.HighestSequenceID = f.num
		default:
			continue
		}
		seen |= 1 << (f.tag >> 3)
	}
	if err := f.check("CommandSendReceipt", seen, required); err != nil {
		return SendReceipt{}, err
	}
	r.Position = Position{-1, -1}
	if seen&(1<<3) != 0 {
		if err := id.check(); err != nil {
			return SendReceipt{}, err
		}
		r.Position = id.Position
	}
	return r, nil
}

// AppendSendError appends a SEND_ERROR frame. The message is for people.
func AppendSendError(dst []byte, producerID, sequenceID uint64, code pb.ServerError, msg string) []byte {
	size := sizeField(producerID) + sizeField(sequenceID) + sizeField(uint64(code)) + 1 + protowire.SizeBytes(len(msg))
	dst = appendHead(dst, pb.BaseCommand_SEND_ERROR, size, 0)
	dst = appendField(dst, 1<<3, producerID)
	dst = appendField(dst, 2<<3, sequenceID)
	dst = appendField(dst, 3<<3, uint64(code))
	dst = append(dst, 4<<3|byte(lenPrefix))
	return protowire.AppendString(dst, msg)
}
