package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"spoolctl/wire/pb"
)

// Metadata is what a broker or an inspector needs of a MessageMetadata. Slices
// alias the bytes it was read from; one that is absent is nil, one that is
// present and empty is not. Times are milliseconds since 1970, 0 when absent.
type Metadata struct {
	ProducerName      []byte
	SequenceID        uint64
	HighestSequenceID uint64 // of a batch; 0 when absent
	PublishTime       uint64
	EventTime         uint64

	NumMessages    int32 // as the producer wrote it: 1 when absent, not checked
	HasNumMessages bool  // the payload is a batch, even of one message

	PartitionKey    []byte
	PartitionKeyB64 bool // PartitionKey is base64 of the real key
	OrderingKey     []byte
	DeliverAt       int64 // milliseconds since 1970, 0 when absent

	Compression      int32 // a pb.CompressionType
	UncompressedSize uint32
	Encrypted        bool // the payload is encrypted
	SchemaVersion    []byte

	TxnMost, TxnLeast uint64
	HasTxn            bool
	MarkerType        int32
	HasMarker         bool

	UUID                               []byte // of a chunked message
	NumChunks, ChunkID, TotalChunkSize int32
	NullValue                          bool
}

// ParseMetadata reads a serialized MessageMetadata without allocating. Errors
// wrap ErrMalformed. It does not look into properties and encryption keys.
func ParseMetadata(b []byte) (Metadata, error) {
	const (
		required  = 1<<1 | 1<<2 | 1<<3
		txnFields = 1<<22 | 1<<23
	)
	m := Metadata{NumMessages: 1}
	f := fields{rest: b}
	var seen uint64
	for f.next() {
		switch f.tag {
		case 1<<3 | lenPrefix:
			m.ProducerName = f.data
		case 2<<3 | varint:
			m.SequenceID = f.num
		case 3<<3 | varint:
			m.PublishTime = f.num
		case 6<<3 | lenPrefix:
			m.PartitionKey = f.data
		case 8<<3 | varint:
			m.Compression = int32(f.num)
		case 9<<3 | varint:
			m.UncompressedSize = uint32(f.num)
		case 11<<3 | varint:
			m.NumMessages, m.HasNumMessages = int32(f.num), true
		case 12<<3 | varint:
			m.EventTime = f.num
		case 13<<3 | lenPrefix:
			m.Encrypted = true
		case 16<<3 | lenPrefix:
			m.SchemaVersion = f.data
		case 17<<3 | varint:
			m.PartitionKeyB64 = f.num != 0
		case 18<<3 | lenPrefix:
			m.OrderingKey = f.data
		case 19<<3 | varint:
			m.DeliverAt = int64(f.num)
		case 20<<3 | varint:
			m.MarkerType, m.HasMarker = int32(f.num), true
		case 22<<3 | varint:
			m.TxnLeast = f.num
		case 23<<3 | varint:
			m.TxnMost = f.num
		case 24<<3 | varint:
			m.HighestSequenceID = f.num
		case 25<<3 | varint:
			m.NullValue = f.num != 0
		case 26<<3 | lenPrefix:
			m.UUID = f.data
		case 27<<3 | varint:
			m.NumChunks = int32(f.num)
		case 28<<3 | varint:
			m.TotalChunkSize = int32(f.num)
		case 29<<3 | varint:
			m.ChunkID = int32(f.num)
		default:
			continue
		}
		seen |= 1 << (f.tag >> 3)
	}
	m.HasTxn = seen&txnFields == txnFields
	if err := f.check("MessageMetadata", seen, required); err != nil {
		return Metadata{}, err
	}
	return m, nil
}

// ParseMetadataFull reads every field, properties and encryption keys included.
// Errors wrap ErrMalformed.
func ParseMetadataFull(b []byte) (*pb.MessageMetadata, error) {
	m := new(pb.MessageMetadata)
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%w: MessageMetadata: %w", ErrMalformed, err)
	}
	return m, nil
}
