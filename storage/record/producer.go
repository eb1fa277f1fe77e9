package record

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Producer is what deduplication knows of a producer. Its key holds the topic and the producer's name.
type Producer struct {
	Sequence int64     // 1, plus one: highest sequence id whose message is stored whole; -1 = none
	Chunked  int64     // 2, plus one: sequence id of the chunked message that is stored in part; -1 = none
	Chunk    int32     // 3: the next chunk of it
	LastUse  time.Time // 4: when the producer last stored something; milliseconds
}

// Append adds the encoding of p to dst.
func (p *Producer) Append(dst []byte) []byte {
	dst = appendInt(dst, 1, p.Sequence+1)
	dst = appendInt(dst, 2, p.Chunked+1)
	dst = appendInt(dst, 3, int64(p.Chunk))
	return appendInt(dst, 4, millis(p.LastUse))
}

// ParseProducer decodes a producer's record.
func ParseProducer(b []byte) (Producer, error) {
	p := Producer{Sequence: -1, Chunked: -1}
	err := fields("producer", b, func(num protowire.Number, v uint64, _ []byte) error {
		n := int64(v)
		if n < 0 || (num == 3 && n > 1<<31-1) {
			return fmt.Errorf("%w: producer: field %d is out of range", ErrMalformed, num)
		}
		switch num {
		case 1:
			p.Sequence = n - 1
		case 2:
			p.Chunked = n - 1
		case 3:
			p.Chunk = int32(n)
		case 4:
			p.LastUse = fromMillis(n)
		}
		return nil
	})
	return p, err
}
