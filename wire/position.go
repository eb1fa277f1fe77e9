package wire

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrPosition is wrapped by every error of ParsePosition and ParseMessageID.
var ErrPosition = errors.New("invalid position")

// Position is the place of one entry in a topic. Entry ids start at 0 in each
// ledger; Entry -1 is the place before the first entry of the ledger.
type Position struct{ Ledger, Entry int64 }

// Earliest is before every entry of every topic: {-1, -1} on the wire.
func Earliest() Position { return Position{-1, -1} }

// Latest is behind every entry of every topic: both numbers are 2^63-1.
func Latest() Position { return Position{math.MaxInt64, math.MaxInt64} }

// Compare orders positions by ledger, then by entry: -1, 0 or 1.
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(p.Ledger, q.Ledger); c != 0 {
		return c
	}
	return cmp.Compare(p.Entry, q.Entry)
}

// Less reports whether p is before q.
func (p Position) Less(q Position) bool { return p.Compare(q) < 0 }

// String is "ledger:entry". ParsePosition reads it back.
func (p Position) String() string {
	b := strconv.AppendInt(make([]byte, 0, 24), p.Ledger, 10)
	b = append(b, ':')
	return string(strconv.AppendInt(b, p.Entry, 10))
}

// MessageID is the address of one message: an entry, the partition of the topic
// it is in and the index inside its batch. Partition and Batch are -1 when there
// is none.
type MessageID struct {
	Position
	Partition, Batch int32
}

// Compare orders ids by position, then partition, then batch index.
func (m MessageID) Compare(n MessageID) int {
	return cmp.Or(m.Position.Compare(n.Position), cmp.Compare(m.Partition, n.Partition), cmp.Compare(m.Batch, n.Batch))
}

// Less reports whether m is before n.
func (m MessageID) Less(n MessageID) bool { return m.Compare(n) < 0 }

// String is "ledger:entry[:partition[:batch]]", without the trailing parts that
// are -1. ParseMessageID reads it back.
func (m MessageID) String() string {
	s := m.Position.String()
	if m.Partition < 0 && m.Batch < 0 {
		return s
	}
	s += ":" + strconv.Itoa(int(m.Partition))
	if m.Batch >= 0 {
		s += ":" + strconv.Itoa(int(m.Batch))
	}
	return s
}

// ParsePosition reads "ledger:entry", "earliest" or "latest".
func ParsePosition(s string) (Position, error) {
	m, err := ParseMessageID(s)
	if err != nil {
		return Position{}, err
	}
	if strings.Count(s, ":") > 1 {
		return Position{}, fmt.Errorf("%w %q: want ledger:entry, earliest or latest", ErrPosition, s)
	}
	return m.Position, nil
}

// ParseMessageID reads "ledger:entry[:partition[:batch]]", "earliest" or
// "latest". A part that is absent is -1.
func ParseMessageID(s string) (MessageID, error) {
	switch s {
	case "earliest":
		return MessageID{Earliest(), -1, -1}, nil
	case "latest":
		return MessageID{Latest(), -1, -1}, nil
	}
	bad := func() (MessageID, error) {
		return MessageID{}, fmt.Errorf("%w %q: want ledger:entry[:partition[:batch]], earliest or latest", ErrPosition, s)
	}
	parts := strings.SplitN(s, ":", 5)
	if len(parts) < 2 || len(parts) > 4 {
		return bad()
	}
	numbers := [4]int64{-1, -1, -1, -1}
	for i, part := range parts {
		bits := 64
		if i >= 2 {
			bits = 32
		}
		n, err := strconv.ParseInt(part, 10, bits)
		if err != nil || n < -1 {
			return bad()
		}
		numbers[i] = n
	}
	return MessageID{Position{numbers[0], numbers[1]}, int32(numbers[2]), int32(numbers[3])}, nil
}
