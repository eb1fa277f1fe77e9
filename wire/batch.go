package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/protobuf/proto"

	"spoolctl/wire/pb"
)

// ErrBatch is wrapped by every error of Unbatch that is not about encryption.
var ErrBatch = errors.New("malformed batch")

// ErrEncrypted is returned for a payload that only its consumer can read.
var ErrEncrypted = errors.New("the payload is encrypted")

// Single is one message of an entry.
type Single struct {
	Index   int32                     // in the batch; -1 when the entry is not a batch
	Meta    *pb.SingleMessageMetadata // nil when the entry is not a batch
	Payload []byte                    // aliases the payload of the entry
}

// Unbatch yields the messages of an entry from its metadata and its decompressed
// payload. An entry that is not a batch yields itself once. After an error, which
// wraps ErrBatch or is ErrEncrypted, nothing more follows. A caller that has
// decrypted the payload clears Encrypted in its copy of the metadata first.
func Unbatch(m *Metadata, uncompressed []byte) iter.Seq2[Single, error] {
	return func(yield func(Single, error) bool) {
		if m.Encrypted {
			yield(Single{}, ErrEncrypted)
			return
		}
		if !m.HasNumMessages {
			yield(Single{Index: -1, Payload: uncompressed}, nil)
			return
		}
		if m.NumMessages < 1 {
			yield(Single{}, fmt.Errorf("%w: it announces %d messages", ErrBatch, m.NumMessages))
			return
		}
		rest := uncompressed
		for i := range m.NumMessages {
			single, after, err := cutSingle(rest)
			if err != nil {
				yield(Single{}, fmt.Errorf("%w: message %d of %d: %w", ErrBatch, i, m.NumMessages, err))
				return
			}
			single.Index, rest = i, after
			if !yield(single, nil) {
				return
			}
		}
	}
}

func cutSingle(b []byte) (s Single, rest []byte, err error) {
	head, b, ok := cutSized(b)
	if !ok {
		return Single{}, nil, errors.New("the metadata is cut off")
	}
	s.Meta = new(pb.SingleMessageMetadata)
	if err := proto.Unmarshal(head, s.Meta); err != nil {
		return Single{}, nil, err
	}
	size := int64(s.Meta.GetPayloadSize())
	if size < 0 || size > int64(len(b)) {
		return Single{}, nil, fmt.Errorf("its payload of %d bytes does not fit the %d that are left", size, len(b))
	}
	s.Payload = b[:size:size]
	return s, b[size:], nil
}

// AppendSingle appends one message to the payload of a batch. It sets the payload
// size in meta.
func AppendSingle(dst []byte, meta *pb.SingleMessageMetadata, payload []byte) []byte {
	meta.PayloadSize = proto.Int32(int32(len(payload)))
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	// Properties without key or value are the caller's mistake, not worth an
	// error here: without the check of required fields marshalling cannot fail.
	dst, _ = proto.MarshalOptions{AllowPartial: true}.MarshalAppend(dst, meta)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return append(dst, payload...)
}
