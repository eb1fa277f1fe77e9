package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every decoding error of this package.
var ErrMalformed = errors.New("malformed record")

// ChecksumState says what is known of the producer's CRC32C when the entry was stored.
type ChecksumState uint8

// The checksum states.
const (
	ChecksumAbsent   ChecksumState = 0 // the producer sent no checksum
	ChecksumVerified ChecksumState = 1 // the broker verified it before storing
	ChecksumUnknown  ChecksumState = 2 // stored without being verified (imported)
)

// Header leads every stored entry; the producer's bytes follow it verbatim.
type Header struct {
	PublishTime   int64         `json:"publishTime"`   // milliseconds since the epoch, as the producer said
	Messages      int32         `json:"messages"`      // client-visible messages in this entry, at least 1
	TotalMessages int64         `json:"totalMessages"` // messages of the topic up to and including this entry
	TotalBytes    int64         `json:"totalBytes"`    // payload bytes of the topic up to and including this entry
	Checksum      ChecksumState `json:"checksum"`
}

// MaxHeaderLen is the longest encoding of a Header in bytes.
const MaxHeaderLen = 1 + 4*binary.MaxVarintLen64

const (
	headerVersion  = 1 // in the low 4 bits of the first byte
	checksumShift  = 4
	checksumMask   = 3
	headerReserved = 0xc0
)

// AppendHeader adds the encoding of h to dst.
func AppendHeader(dst []byte, h Header) []byte {
	dst = append(dst, headerVersion|byte(h.Checksum&checksumMask)<<checksumShift)
	dst = binary.AppendUvarint(dst, uint64(h.PublishTime))
	dst = binary.AppendUvarint(dst, uint64(h.Messages))
	dst = binary.AppendUvarint(dst, uint64(h.TotalMessages))
	return binary.AppendUvarint(dst, uint64(h.TotalBytes))
}

// ParseHeader splits a stored entry into its header and the producer's bytes, which alias v.
func ParseHeader(v []byte) (h Header, data []byte, err error) {
	if len(v) == 0 || v[0]&0x0f != headerVersion || v[0]&headerReserved != 0 {
		return h, nil, fmt.Errorf("%w: entry header has an unknown version", ErrMalformed)
	}
	h.Checksum = ChecksumState(v[0] >> checksumShift & checksumMask)
	v = v[1:]
	var f [4]uint64
	for i := range f {
		field, n := binary.Uvarint(v)
		if n <= 0 {
			return h, nil, fmt.Errorf("%w: entry header is cut short", ErrMalformed)
		}
		f[i], v = field, v[n:]
	}
	if f[1] == 0 || f[1] > 1<<31-1 || f[2] > 1<<63-1 || f[3] > 1<<63-1 {
		return h, nil, fmt.Errorf("%w: entry header counts are out of range", ErrMalformed)
	}
	h.PublishTime, h.Messages, h.TotalMessages, h.TotalBytes = int64(f[0]), int32(f[1]), int64(f[2]), int64(f[3])
	return h, v, nil
}
