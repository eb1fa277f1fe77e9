package wire_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// maybe draws a value, or nothing half of the time.
func maybe[T any](t *rapid.T, gen *rapid.Generator[T], name string) *T {
	if rapid.Bool().Draw(t, name+" set") {
		v := gen.Draw(t, name)
		return &v
	}
	return nil
}

func maybeBytes(t *rapid.T, name string) []byte {
	if p := maybe(t, rapid.SliceOfN(rapid.Byte(), 0, 8), name); p != nil {
		return append([]byte{}, *p...)
	}
	return nil
}

func drawMetadata(t *rapid.T) *pb.MessageMetadata {
	m := &pb.MessageMetadata{
		ProducerName:           proto.String(rapid.String().Draw(t, "producer")),
		SequenceId:             proto.Uint64(rapid.Uint64().Draw(t, "sequence")),
		PublishTime:            proto.Uint64(rapid.Uint64().Draw(t, "publish")),
		PartitionKey:           maybe(t, rapid.String(), "key"),
		UncompressedSize:       maybe(t, rapid.Uint32(), "uncompressed"),
		NumMessagesInBatch:     maybe(t, rapid.Int32(), "messages"),
		EventTime:              maybe(t, rapid.Uint64(), "event"),
		SchemaVersion:          maybeBytes(t, "schema"),
		PartitionKeyB64Encoded: maybe(t, rapid.Bool(), "b64"),
		OrderingKey:            maybeBytes(t, "ordering"),
		DeliverAtTime:          maybe(t, rapid.Int64(), "deliver"),
		MarkerType:             maybe(t, rapid.Int32(), "marker"),
		TxnidLeastBits:         maybe(t, rapid.Uint64(), "least"),
		TxnidMostBits:          maybe(t, rapid.Uint64(), "most"),
		HighestSequenceId:      maybe(t, rapid.Uint64(), "highest"),
		NullValue:              maybe(t, rapid.Bool(), "null"),
		Uuid:                   maybe(t, rapid.String(), "uuid"),
		NumChunksFromMsg:       maybe(t, rapid.Int32(), "chunks"),
		TotalChunkMsgSize:      maybe(t, rapid.Int32(), "chunk size"),
		ChunkId:                maybe(t, rapid.Int32(), "chunk"),
		ReplicatedFrom:         maybe(t, rapid.String(), "from"),
	}
	if c := maybe(t, rapid.Int32Range(0, 4), "compression"); c != nil {
		m.Compression = pb.CompressionType(*c).Enum()
	}
	for range rapid.IntRange(0, 2).Draw(t, "properties") {
		m.Properties = append(m.Properties, &pb.KeyValue{Key: proto.String(rapid.String().Draw(t, "k")), Value: proto.String(rapid.String().Draw(t, "v"))})
	}
	if rapid.Bool().Draw(t, "encrypted") {
		m.EncryptionKeys = []*pb.EncryptionKeys{{Key: proto.String("k"), Value: []byte("v")}}
	}
	return m
}

// metadataOf is what ParseMetadata has to return for m.
func metadataOf(m *pb.MessageMetadata) wire.Metadata {
	text := func(p *string) []byte {
		if p == nil {
			return nil
		}
		return []byte(*p)
	}
	return wire.Metadata{
		ProducerName: text(m.ProducerName), SequenceID: m.GetSequenceId(), HighestSequenceID: m.GetHighestSequenceId(),
		PublishTime: m.GetPublishTime(), EventTime: m.GetEventTime(),
		NumMessages: m.GetNumMessagesInBatch(), HasNumMessages: m.NumMessagesInBatch != nil,
		PartitionKey: text(m.PartitionKey), PartitionKeyB64: m.GetPartitionKeyB64Encoded(), OrderingKey: m.OrderingKey,
		DeliverAt: m.GetDeliverAtTime(), Compression: int32(m.GetCompression()), UncompressedSize: m.GetUncompressedSize(),
		Encrypted: len(m.EncryptionKeys) > 0, SchemaVersion: m.SchemaVersion,
		TxnMost: m.GetTxnidMostBits(), TxnLeast: m.GetTxnidLeastBits(), HasTxn: m.TxnidMostBits != nil && m.TxnidLeastBits != nil,
		MarkerType: m.GetMarkerType(), HasMarker: m.MarkerType != nil,
		UUID: text(m.Uuid), NumChunks: m.GetNumChunksFromMsg(), ChunkID: m.GetChunkId(), TotalChunkSize: m.GetTotalChunkMsgSize(),
		NullValue: m.GetNullValue(),
	}
}

func TestParseMetadata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMetadata(t)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.ParseMetadata(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(metadataOf(m), got); diff != "" {
			t.Fatal(diff)
		}
		full, err := wire.ParseMetadataFull(b)
		if err != nil || !proto.Equal(full, m) {
			t.Fatalf("ParseMetadataFull: %v, %v", full, err)
		}
	})
}

func FuzzParseMetadata(f *testing.F) {
	seeds(f, plainMetadata(), &pb.MessageMetadata{
		ProducerName: proto.String(""), SequenceId: proto.Uint64(1), PublishTime: proto.Uint64(2), NumMessagesInBatch: proto.Int32(-1),
		Properties:     []*pb.KeyValue{{Key: proto.String("k"), Value: proto.String("v")}},
		EncryptionKeys: []*pb.EncryptionKeys{{Key: proto.String("k"), Value: []byte("v")}},
		PartitionKey:   proto.String("key"), OrderingKey: []byte{}, Compression: pb.CompressionType_ZSTD.Enum(), DeliverAtTime: proto.Int64(-1),
		TxnidLeastBits: proto.Uint64(1), TxnidMostBits: proto.Uint64(0), MarkerType: proto.Int32(20), Uuid: proto.String("u"), ChunkId: proto.Int32(3),
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		got, err := wire.ParseMetadata(b)
		var want pb.MessageMetadata
		if !agree(t, b, err, &want, unread{4: nil, 13: nil}) {
			return
		}
		if diff := cmp.Diff(metadataOf(&want), got); diff != "" {
			t.Fatal(diff)
		}
		wire.KeyHash(&got)
		if !bytes.Equal(before, b) {
			t.Fatal("the input was changed")
		}
	})
}
