package wire

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"spoolctl/wire/pb"
)

// CommandType reads the type of a serialized BaseCommand. For the commands of
// the hand codec (SEND, SEND_RECEIPT, MESSAGE, ACK and FLOW) it also returns the
// bytes of the command itself, which alias cmd; for all others body is nil and
// ParseCommand reads the command. Errors wrap ErrMalformed; a hot command that
// is missing or comes twice is one.
func CommandType(cmd []byte) (t pb.BaseCommand_Type, body []byte, err error) {
	const typeTag = 1<<3 | varint
	f := fields{rest: cmd}
	var seen uint64
	typeFirst, bodies := true, 0
	for f.next() {
		switch f.tag {
		case typeTag:
			typeFirst = typeFirst && seen == 0
			t = pb.BaseCommand_Type(f.num)
			seen |= 1 << 1
		case uint64(t)<<3 | lenPrefix:
			body = f.data
			bodies++
		}
		typeFirst = typeFirst && seen != 0
	}
	if err := f.check("BaseCommand", seen, 1<<1); err != nil {
		return 0, nil, err
	}
	if !hot(t) {
		return t, nil, nil
	}
	if !typeFirst {
		body, bodies = findCommand(cmd, t)
	}
	switch bodies {
	case 0:
		return 0, nil, fmt.Errorf("%w: BaseCommand: type %s without its command", ErrMalformed, t)
	case 1:
		return t, body, nil
	default:
		return 0, nil, fmt.Errorf("%w: BaseCommand: %d commands %s", ErrMalformed, bodies, t)
	}
}

// findCommand is the slow way to the command, for when the type that tells its
// field number came late. Encoders write the type first, but need not.
func findCommand(cmd []byte, t pb.BaseCommand_Type) (body []byte, bodies int) {
	f := fields{rest: cmd}
	for f.next() {
		if f.tag == uint64(t)<<3|lenPrefix {
			body = f.data
			bodies++
		}
	}
	return body, bodies
}

func hot(t pb.BaseCommand_Type) bool {
	switch t {
	case pb.BaseCommand_SEND, pb.BaseCommand_SEND_RECEIPT, pb.BaseCommand_MESSAGE, pb.BaseCommand_ACK, pb.BaseCommand_FLOW:
		return true
	}
	return false
}

// ParseCommand reads a serialized BaseCommand of any type. The result does not
// alias cmd. Errors wrap ErrMalformed.
func ParseCommand(cmd []byte) (*pb.BaseCommand, error) {
	c := new(pb.BaseCommand)
	if err := proto.Unmarshal(cmd, c); err != nil {
		return nil, fmt.Errorf("%w: BaseCommand: %w", ErrMalformed, err)
	}
	return c, nil
}

// AppendCommand appends a whole frame with cmd to dst. When a required field is
// not set it returns dst as it was and an error.
func AppendCommand(dst []byte, cmd *pb.BaseCommand) ([]byte, error) {
	start := len(dst)
	b := append(dst, make([]byte, frameHead)...)
	b, err := proto.MarshalOptions{}.MarshalAppend(b, cmd)
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", cmd.GetType(), err)
	}
	size := uint32(len(b) - start - frameHead)
	binary.BigEndian.PutUint32(b[start:], size+4)
	binary.BigEndian.PutUint32(b[start+4:], size)
	return b, nil
}

// AppendPing appends a PING frame.
func AppendPing(dst []byte) []byte {
	return append(dst, 0, 0, 0, 9, 0, 0, 0, 5, 1<<3, byte(pb.BaseCommand_PING), 0x92, 0x01, 0)
}

// AppendPong appends a PONG frame.
func AppendPong(dst []byte) []byte {
	return append(dst, 0, 0, 0, 9, 0, 0, 0, 5, 1<<3, byte(pb.BaseCommand_PONG), 0x9a, 0x01, 0)
}

// frameHead is the two sizes in front of a command.
const frameHead = 8

// appendHead appends the start of a frame up to where the bodySize bytes of the
// command follow, and after them payloadSize bytes of payload. The number of t
// must be below 16.
func appendHead(dst []byte, t pb.BaseCommand_Type, bodySize, payloadSize int) []byte {
	commandSize := 2 + 1 + protowire.SizeBytes(bodySize)
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+commandSize+payloadSize))
	dst = binary.BigEndian.AppendUint32(dst, uint32(commandSize))
	dst = append(dst, 1<<3, byte(t), byte(t)<<3|byte(lenPrefix))
	return protowire.AppendVarint(dst, uint64(bodySize))
}
