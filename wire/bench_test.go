package wire_test

import (
	"bytes"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// hotPath is every operation that runs once per message; none may allocate.
func hotPath(tb testing.TB) map[string]func() error {
	body := func(frame []byte) []byte {
		_, b, err := wire.CommandType(frame[8:])
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	meta := plainMetadata()
	meta.PartitionKey, meta.NumMessagesInBatch, meta.UncompressedSize = proto.String("a2V5"), proto.Int32(10), proto.Uint32(1000)
	meta.PartitionKeyB64Encoded, meta.Compression = proto.Bool(true), pb.CompressionType_LZ4.Enum()
	meta.Properties = []*pb.KeyValue{{Key: proto.String("k"), Value: proto.String("v")}}
	entry := wire.BuildEntry(meta, make([]byte, 1024))
	parts, err := wire.SplitEntry(entry)
	if err != nil {
		tb.Fatal(err)
	}
	parsed, err := wire.ParseMetadata(parts.Metadata)
	if err != nil {
		tb.Fatal(err)
	}
	noKey := wire.Metadata{ProducerName: []byte("standalone-0-1"), SequenceID: 123456}

	pos := wire.Position{Ledger: 1234, Entry: 56789}
	sendFrame := wire.AppendSend(nil, wire.Send{ProducerID: 3, SequenceID: 123456, NumMessages: 10, HighestSequenceID: 123465}, nil)
	send := body(sendFrame)
	flow := body(wire.AppendFlow(nil, 3, 1000))
	ids := []wire.AckID{{Position: pos, Partition: -1, Batch: -1}, {Position: pos, Partition: 1, Batch: 2, BatchSize: 70, AckSet: []uint64{1<<64 - 1, 3}}}
	ackCommand := &wire.Ack{ConsumerID: 3, IDs: ids, RequestID: 9, HasRequestID: true, ValidationError: -1}
	ack := body(wire.AppendAck(nil, ackCommand))
	message := wire.Message{ConsumerID: 3, Position: pos, Partition: -1, RedeliveryCount: 1, AckSet: ids[1].AckSet}

	var into wire.Ack
	buffer := make([]byte, 0, 4096)
	return map[string]func() error{
		"CommandType":   func() error { _, _, err := wire.CommandType(sendFrame[8:]); return err },
		"ParseSend":     func() error { _, err := wire.ParseSend(send); return err },
		"ParseMetadata": func() error { _, err := wire.ParseMetadata(parts.Metadata); return err },
		"ParseAck":      func() error { return wire.ParseAck(ack, &into) },
		"ParseFlow":     func() error { _, _, err := wire.ParseFlow(flow); return err },
		"SplitEntry":    func() error { _, err := wire.SplitEntry(entry); return err },
		"Verify":        func() error { return parts.Verify() },
		"KeyHash":       func() error { wire.KeyHash(&parsed); return nil },
		"KeyHashNoKey":  func() error { wire.KeyHash(&noKey); return nil },
		"AppendSend": func() error {
			wire.AppendSend(buffer, wire.Send{ProducerID: 3, SequenceID: 1, NumMessages: 1}, entry)
			return nil
		},
		"AppendSendReceipt":   func() error { wire.AppendSendReceipt(buffer, 3, 123456, 123465, pos); return nil },
		"AppendMessageHeader": func() error { wire.AppendMessageHeader(buffer, message, len(entry)); return nil },
		"AppendAck":           func() error { wire.AppendAck(buffer, ackCommand); return nil },
		"AppendFlow":          func() error { wire.AppendFlow(buffer, 3, 1000); return nil },
		"AppendPong":          func() error { wire.AppendPong(buffer); return nil },
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	for name, run := range hotPath(t) {
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = run() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkHotPath(b *testing.B) {
	for name, run := range hotPath(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGenerated is the same SEND through the generated code, for comparison.
func BenchmarkGenerated(b *testing.B) {
	frame := wire.AppendSend(nil, wire.Send{ProducerID: 3, SequenceID: 123456, NumMessages: 10, HighestSequenceID: 123465}, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.ParseCommand(frame[8:]); err != nil {
			b.Fatal(err)
		}
	}
}

// endless repeats one frame for ever.
type endless struct {
	frame []byte
	at    int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.frame[e.at:])
	for n < len(b) {
		n += copy(b[n:], e.frame)
	}
	e.at = (e.at + n) % len(e.frame)
	return n, nil
}

func BenchmarkFrameReader(b *testing.B) {
	frame := wire.AppendSend(nil, wire.Send{ProducerID: 3, SequenceID: 123456, NumMessages: 1}, wire.BuildEntry(plainMetadata(), make([]byte, 1024)))
	var in io.Reader = &endless{frame: bytes.Clone(frame)}
	r := wire.NewFrameReader(in, testMaxFrame)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
