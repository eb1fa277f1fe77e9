package wire

import (
	"errors"
	"fmt"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed is wrapped by every error about bytes that are not the protobuf
// message they should be: broken encoding, or a required field that is missing.
var ErrMalformed = errors.New("malformed message")

// Wire types, for tags written as number<<3|type.
const (
	varint    = uint64(protowire.VarintType)
	lenPrefix = uint64(protowire.BytesType)
)

// fields walks over the fields of one serialized message without allocating.
//
// Protobuf lets the fields of a message come in any order, a field that is not
// repeated come several times (the last one counts), and a field that a reader
// knows come with another wire type (it is then an unknown field). Matching on
// the whole tag, number and type, gives exactly that.
type fields struct {
	rest []byte
	tag  uint64 // number<<3 | wire type of the current field
	num  uint64 // value of a varint field
	data []byte // value of a length-prefixed field; aliases the message
	bad  bool
}

// next moves to the next field. It returns false at the end and when the encoding
// is broken, which bad tells apart.
func (f *fields) next() bool {
	b := f.rest
	if len(b) == 0 {
		return false
	}
	n := 1
	f.tag = uint64(b[0])
	if f.tag >= 0x80 {
		if f.tag, n = protowire.ConsumeVarint(b); n < 0 {
			f.bad = true
			return false
		}
	}
	number := f.tag >> 3
	if number < uint64(protowire.MinValidNumber) || number > uint64(protowire.MaxValidNumber) {
		f.bad = true
		return false
	}
	b = b[n:]
	switch f.tag & 7 {
	case varint:
		if len(b) > 0 && b[0] < 0x80 {
			f.num, n = uint64(b[0]), 1
		} else {
			f.num, n = protowire.ConsumeVarint(b)
		}
	case lenPrefix:
		f.data, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(protowire.Number(number), protowire.Type(f.tag&7), b)
	}
	if n < 0 {
		f.bad = true
		return false
	}
	f.rest = b[n:]
	return true
}

// check is called after the walk with a bit set of the fields seen (bit n = field
// n) and of those that must be there.
func (f *fields) check(message string, seen, required uint64) error {
	if f.bad {
		return fmt.Errorf("%w: %s: broken encoding", ErrMalformed, message)
	}
	if missing := required &^ seen; missing != 0 {
		return fmt.Errorf("%w: %s: required field %d is missing", ErrMalformed, message, bits.TrailingZeros64(missing))
	}
	return nil
}

// appendPacked appends the varints of a packed field to words.
func (f *fields) appendPacked(words []uint64) []uint64 {
	for b := f.data; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			f.bad = true
			break
		}
		words = append(words, v)
		b = b[n:]
	}
	return words
}

// appendField appends a varint field whose tag is below 128.
func appendField(dst []byte, tag, value uint64) []byte {
	return protowire.AppendVarint(append(dst, byte(tag)), value)
}

// sizeField is the number of bytes that appendField appends.
func sizeField(value uint64) int { return 1 + protowire.SizeVarint(value) }

// appendBool appends a bool field whose tag is below 128, nothing when it is false.
func appendBool(dst []byte, tag uint64, value bool) []byte {
	if value {
		dst = append(dst, byte(tag), 1)
	}
	return dst
}
