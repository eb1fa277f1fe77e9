package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"spoolctl/wire/pb"
)

const (
	magicChecksum       = 0x0e01 // followed by a CRC-32C
	magicBrokerMetadata = 0x0e02 // followed by a size and a BrokerEntryMetadata
)

var (
	// ErrEntry is wrapped by every error about the outer form of a stored entry.
	ErrEntry = errors.New("malformed entry")
	// ErrChecksum is wrapped by the error for an entry whose bytes do not match
	// its checksum.
	ErrChecksum = errors.New("checksum mismatch")
)

// EntryParts are the pieces of a stored entry. Slices alias the entry.
type EntryParts struct {
	Broker      []byte // BrokerEntryMetadata, nil when the broker added none
	Checksum    uint32 // CRC-32C of all that follows it
	HasChecksum bool
	Metadata    []byte // MessageMetadata
	Payload     []byte // compressed and encrypted as the metadata says

	covered []byte // what the checksum is computed over
}

// SplitEntry takes a stored entry apart: an optional broker part, an optional
// checksum, the metadata and the payload. It does not verify the checksum.
// Errors wrap ErrEntry.
func SplitEntry(data []byte) (EntryParts, error) {
	var p EntryParts
	if startsWith(data, magicBrokerMetadata) {
		var ok bool
		if p.Broker, data, ok = cutSized(data[2:]); !ok {
			return EntryParts{}, fmt.Errorf("%w: the broker metadata is cut off", ErrEntry)
		}
	}
	if startsWith(data, magicChecksum) {
		if len(data) < 6 {
			return EntryParts{}, fmt.Errorf("%w: the checksum is cut off", ErrEntry)
		}
		p.HasChecksum, p.Checksum = true, binary.BigEndian.Uint32(data[2:])
		data = data[6:]
	}
	p.covered = data
	var ok bool
	if p.Metadata, p.Payload, ok = cutSized(data); !ok {
		return EntryParts{}, fmt.Errorf("%w: the metadata is cut off", ErrEntry)
	}
	return p, nil
}

// Verify computes the checksum. The error wraps ErrChecksum; an entry that
// carries no checksum passes.
func (p EntryParts) Verify() error {
	if !p.HasChecksum {
		return nil
	}
	if sum := Checksum(p.covered); sum != p.Checksum {
		return fmt.Errorf("%w: the entry says %08x, its bytes give %08x", ErrChecksum, p.Checksum, sum)
	}
	return nil
}

// BuildEntry makes a stored entry: checksum, metadata and payload. The required
// fields of meta (producer name, sequence id, publish time) must be set, else the
// entry cannot be read back.
func BuildEntry(meta *pb.MessageMetadata, payload []byte) []byte {
	const head = 2 + 4 + 4
	marshal := proto.MarshalOptions{AllowPartial: true}
	size := marshal.Size(meta)
	entry := make([]byte, head, head+size+len(payload))
	// Without the check of required fields a proto2 message always marshals.
	entry, _ = marshal.MarshalAppend(entry, meta)
	binary.BigEndian.PutUint16(entry, magicChecksum)
	binary.BigEndian.PutUint32(entry[6:], uint32(len(entry)-head))
	entry = append(entry, payload...)
	binary.BigEndian.PutUint32(entry[2:], Checksum(entry[6:]))
	return entry
}

func startsWith(b []byte, magic uint16) bool {
	return len(b) >= 2 && binary.BigEndian.Uint16(b) == magic
}

// cutSized cuts a u32 length and that many bytes off b.
func cutSized(b []byte) (part, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.BigEndian.Uint32(b))
	b = b[4:]
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
