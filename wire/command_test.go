package wire_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// sameFrame checks a frame of the hand codec against the generated code.
func sameFrame(t *rapid.T, got []byte, want *pb.BaseCommand, payload []byte) {
	t.Helper()
	prefix := []byte("prefix")
	frame, err := wire.AppendCommand(prefix, want)
	if err != nil {
		t.Fatal(err)
	}
	frame = frame[len(prefix):]
	if got := frameBytes(frame[8:], nil); !bytes.Equal(frame, got) {
		t.Fatalf("AppendCommand frames wrongly: %x", frame)
	}
	if frame = frameBytes(frame[8:], payload); !bytes.Equal(got, frame) {
		t.Fatalf("by hand   %x\ngenerated %x", got, frame)
	}
}

// commandBody returns the command inside a frame of type want.
func commandBody(t interface{ Fatalf(string, ...any) }, frame []byte, want pb.BaseCommand_Type) []byte {
	size := int(frame[6])<<8 | int(frame[7])
	typ, body, err := wire.CommandType(frame[8 : 8+size])
	if err != nil || typ != want {
		t.Fatalf("CommandType: %v, %v", typ, err)
	}
	return body
}

func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func TestSend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := wire.Send{
			ProducerID: rapid.Uint64().Draw(t, "producer"), SequenceID: rapid.Uint64().Draw(t, "sequence"),
			HighestSequenceID: rapid.Uint64().Draw(t, "highest"), NumMessages: rapid.Int32().Draw(t, "messages"),
			IsChunk: rapid.Bool().Draw(t, "chunk"), Marker: rapid.Bool().Draw(t, "marker"), HasTxn: rapid.Bool().Draw(t, "txn"),
		}
		want := &pb.CommandSend{
			ProducerId: &s.ProducerID, SequenceId: &s.SequenceID, HighestSequenceId: nonZero(s.HighestSequenceID),
			IsChunk: nonZero(s.IsChunk), Marker: nonZero(s.Marker),
		}
		if s.NumMessages != 1 {
			want.NumMessages = &s.NumMessages
		}
		if s.HasTxn {
			s.TxnMost, s.TxnLeast = rapid.Uint64().Draw(t, "most"), rapid.Uint64().Draw(t, "least")
			want.TxnidMostBits, want.TxnidLeastBits = &s.TxnMost, &s.TxnLeast
		}
		entry := rapid.SliceOf(rapid.Byte()).Draw(t, "entry")
		frame := wire.AppendSend(nil, s, entry)
		sameFrame(t, frame, &pb.BaseCommand{Type: pb.BaseCommand_SEND.Enum(), Send: want}, entry)
		if got, err := wire.ParseSend(commandBody(t, frame, pb.BaseCommand_SEND)); err != nil || got != s {
			t.Fatalf("read back %+v, %v", got, err)
		}
	})
}

func TestSendReceipt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := wire.SendReceipt{
			ProducerID: rapid.Uint64().Draw(t, "producer"), SequenceID: rapid.Uint64().Draw(t, "sequence"),
			HighestSequenceID: rapid.Uint64().Draw(t, "highest"), Position: drawPosition(t),
		}
		frame := wire.AppendSendReceipt(nil, r.ProducerID, r.SequenceID, r.HighestSequenceID, r.Position)
		sameFrame(t, frame, &pb.BaseCommand{Type: pb.BaseCommand_SEND_RECEIPT.Enum(), SendReceipt: &pb.CommandSendReceipt{
			ProducerId: &r.ProducerID, SequenceId: &r.SequenceID, HighestSequenceId: nonZero(r.HighestSequenceID),
			MessageId: &pb.MessageIdData{LedgerId: proto.Uint64(uint64(r.Position.Ledger)), EntryId: proto.Uint64(uint64(r.Position.Entry))},
		}}, nil)
		if got, err := wire.ParseSendReceipt(commandBody(t, frame, pb.BaseCommand_SEND_RECEIPT)); err != nil || got != r {
			t.Fatalf("read back %+v, %v", got, err)
		}
	})
}

func TestSendError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		producer, sequence := rapid.Uint64().Draw(t, "producer"), rapid.Uint64().Draw(t, "sequence")
		code, msg := pb.ServerError(rapid.Int32Range(0, 25).Draw(t, "code")), rapid.StringN(0, 300, -1).Draw(t, "msg")
		sameFrame(t, wire.AppendSendError(nil, producer, sequence, code, msg), &pb.BaseCommand{
			Type:      pb.BaseCommand_SEND_ERROR.Enum(),
			SendError: &pb.CommandSendError{ProducerId: &producer, SequenceId: &sequence, Error: &code, Message: &msg},
		}, nil)
	})
}

func toInt64s(words []uint64) []int64 {
	var out []int64
	for _, w := range words {
		out = append(out, int64(w))
	}
	return out
}

func fromInt64s(words []int64) []uint64 {
	var out []uint64
	for _, w := range words {
		out = append(out, uint64(w))
	}
	return out
}

func drawWords(t *rapid.T) []uint64 {
	words := rapid.SliceOfN(rapid.Uint64(), 0, 20).Draw(t, "ack set")
	if len(words) == 0 {
		return nil
	}
	return words
}

func TestMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := wire.Message{
			ConsumerID: rapid.Uint64().Draw(t, "consumer"), Position: drawPosition(t), Partition: rapid.Int32().Draw(t, "partition"),
			RedeliveryCount: rapid.Uint32().Draw(t, "redelivery"), AckSet: drawWords(t), HasEpoch: rapid.Bool().Draw(t, "epoch set"),
		}
		want := &pb.CommandMessage{
			ConsumerId: &m.ConsumerID, RedeliveryCount: nonZero(m.RedeliveryCount), AckSet: toInt64s(m.AckSet),
			MessageId: &pb.MessageIdData{LedgerId: proto.Uint64(uint64(m.Ledger)), EntryId: proto.Uint64(uint64(m.Entry))},
		}
		if m.Partition != -1 {
			want.MessageId.Partition = &m.Partition
		}
		if m.HasEpoch {
			m.ConsumerEpoch = rapid.Uint64().Draw(t, "epoch")
			want.ConsumerEpoch = &m.ConsumerEpoch
		}
		entry := rapid.SliceOf(rapid.Byte()).Draw(t, "entry")
		frame := append(wire.AppendMessageHeader(nil, m, len(entry)), entry...)
		sameFrame(t, frame, &pb.BaseCommand{Type: pb.BaseCommand_MESSAGE.Enum(), Message: want}, entry)
		got, err := wire.ParseMessage(commandBody(t, frame, pb.BaseCommand_MESSAGE))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		consumer, permits := rapid.Uint64().Draw(t, "consumer"), rapid.Uint32().Draw(t, "permits")
		frame := wire.AppendFlow(nil, consumer, permits)
		sameFrame(t, frame, &pb.BaseCommand{
			Type: pb.BaseCommand_FLOW.Enum(), Flow: &pb.CommandFlow{ConsumerId: &consumer, MessagePermits: &permits},
		}, nil)
		c, p, err := wire.ParseFlow(commandBody(t, frame, pb.BaseCommand_FLOW))
		if err != nil || c != consumer || p != permits {
			t.Fatalf("read back %d, %d, %v", c, p, err)
		}
	})
}

func TestPingPong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameFrame(t, wire.AppendPing(nil), &pb.BaseCommand{Type: pb.BaseCommand_PING.Enum(), Ping: &pb.CommandPing{}}, nil)
		sameFrame(t, wire.AppendPong(nil), &pb.BaseCommand{Type: pb.BaseCommand_PONG.Enum(), Pong: &pb.CommandPong{}}, nil)
	})
}

func TestOtherCommands(t *testing.T) {
	cmd := &pb.BaseCommand{Type: pb.BaseCommand_SUCCESS.Enum(), Success: &pb.CommandSuccess{RequestId: proto.Uint64(3)}}
	frame, err := wire.AppendCommand(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if typ, body, err := wire.CommandType(frame[8:]); typ != pb.BaseCommand_SUCCESS || body != nil || err != nil {
		t.Errorf("CommandType: %v, %x, %v", typ, body, err)
	}
	if got, err := wire.ParseCommand(frame[8:]); err != nil || !proto.Equal(got, cmd) {
		t.Errorf("ParseCommand: %v, %v", got, err)
	}
	cmd.Success.RequestId = nil
	if b, err := wire.AppendCommand([]byte("prefix"), cmd); err == nil || string(b) != "prefix" {
		t.Errorf("missing required field: %q, %v", b, err)
	}
}

func TestCommandTypeOrder(t *testing.T) {
	body, err := proto.Marshal(&pb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(2)})
	if err != nil {
		t.Fatal(err)
	}
	command := protowire.AppendBytes(protowire.AppendTag(nil, 11, protowire.BytesType), body)
	typ := []byte{0x08, byte(pb.BaseCommand_FLOW)}
	for name, cmd := range map[string][]byte{
		"type first": append(typ[:2:2], command...),
		"type last":  append(command[:len(command):len(command)], typ...),
		"type twice": append(append([]byte{0x08, byte(pb.BaseCommand_SEND)}, command...), typ...),
		"unknown":    append(append(unknownFields(), typ...), command...),
	} {
		got, b, err := wire.CommandType(cmd)
		if err != nil || got != pb.BaseCommand_FLOW || !bytes.Equal(b, body) {
			t.Errorf("%s: %v, %x, %v", name, got, b, err)
		}
	}
	for name, cmd := range map[string][]byte{
		"no type":       command,
		"no command":    typ,
		"command twice": append(append(typ[:2:2], command...), command...),
		"around type":   append(append(command[:len(command):len(command)], typ...), command...),
	} {
		if _, _, err := wire.CommandType(cmd); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzCommandType(f *testing.F) {
	seeds(f,
		&pb.BaseCommand{Type: pb.BaseCommand_FLOW.Enum(), Flow: &pb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(2)}},
		&pb.BaseCommand{Type: pb.BaseCommand_PING.Enum(), Ping: &pb.CommandPing{}},
		&pb.BaseCommand{Type: pb.BaseCommand_SUCCESS.Enum(), Success: &pb.CommandSuccess{RequestId: proto.Uint64(3)}},
	)
	f.Fuzz(func(t *testing.T, b []byte) {
		typ, body, err := wire.CommandType(b)
		want, wantErr := wire.ParseCommand(b)
		if wantErr != nil {
			return // the peek does not look into the command
		}
		if err != nil {
			// Refused although valid: a hot command that is missing or in pieces.
			if hot := want.GetType(); hot < pb.BaseCommand_SEND || hot > pb.BaseCommand_FLOW {
				t.Fatal(err)
			}
			return
		}
		if typ != want.GetType() {
			t.Fatalf("type %v, want %v", typ, want.GetType())
		}
		if typ == pb.BaseCommand_FLOW {
			if c, p, err := wire.ParseFlow(body); err != nil || c != want.Flow.GetConsumerId() || p != want.Flow.GetMessagePermits() {
				t.Fatalf("%d, %d, %v; want %v", c, p, err, want.Flow)
			}
		}
	})
}

func FuzzParseSend(f *testing.F) {
	seeds(f, &pb.CommandSend{ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(2)}, &pb.CommandSend{
		ProducerId: proto.Uint64(1 << 63), SequenceId: proto.Uint64(300), NumMessages: proto.Int32(-5), IsChunk: proto.Bool(true), Marker: proto.Bool(false),
		TxnidLeastBits: proto.Uint64(0), TxnidMostBits: proto.Uint64(9), HighestSequenceId: proto.Uint64(400),
		MessageId: &pb.MessageIdData{LedgerId: proto.Uint64(1), EntryId: proto.Uint64(2)},
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := wire.ParseSend(b)
		var want pb.CommandSend
		if !agree(t, b, err, &want, unread{9: nil}) {
			return
		}
		if diff := cmp.Diff(wire.Send{
			ProducerID: want.GetProducerId(), SequenceID: want.GetSequenceId(), HighestSequenceID: want.GetHighestSequenceId(),
			NumMessages: want.GetNumMessages(), IsChunk: want.GetIsChunk(), Marker: want.GetMarker(),
			TxnMost: want.GetTxnidMostBits(), TxnLeast: want.GetTxnidLeastBits(), HasTxn: want.TxnidMostBits != nil && want.TxnidLeastBits != nil,
		}, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzParseSendReceipt(f *testing.F) {
	seeds(f, &pb.CommandSendReceipt{ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(2)}, &pb.CommandSendReceipt{
		ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(2), HighestSequenceId: proto.Uint64(3), MessageId: &pb.MessageIdData{
			LedgerId: proto.Uint64(1<<64 - 1), EntryId: proto.Uint64(5), AckSet: []int64{1, -1},
			FirstChunkMessageId: &pb.MessageIdData{LedgerId: proto.Uint64(1), EntryId: proto.Uint64(2)},
		},
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := wire.ParseSendReceipt(b)
		var want pb.CommandSendReceipt
		if !agree(t, b, err, &want, unread{3: {7: nil}}) {
			return
		}
		pos := wire.Position{Ledger: -1, Entry: -1}
		if id := want.MessageId; id != nil {
			pos = wire.Position{Ledger: int64(id.GetLedgerId()), Entry: int64(id.GetEntryId())}
		}
		if w := (wire.SendReceipt{want.GetProducerId(), want.GetSequenceId(), want.GetHighestSequenceId(), pos}); got != w {
			t.Fatalf("got %+v, want %+v", got, w)
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	id := &pb.MessageIdData{LedgerId: proto.Uint64(1), EntryId: proto.Uint64(2)}
	seeds(f, &pb.CommandMessage{ConsumerId: proto.Uint64(1), MessageId: id}, &pb.CommandMessage{
		ConsumerId: proto.Uint64(1), RedeliveryCount: proto.Uint32(7), AckSet: []int64{-1, 3}, ConsumerEpoch: proto.Uint64(0),
		MessageId: &pb.MessageIdData{LedgerId: proto.Uint64(1), EntryId: proto.Uint64(2), Partition: proto.Int32(4), BatchSize: proto.Int32(9), FirstChunkMessageId: id},
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := wire.ParseMessage(b)
		var want pb.CommandMessage
		if !agree(t, b, err, &want, unread{2: {7: nil}}) {
			return
		}
		if diff := cmp.Diff(wire.Message{
			ConsumerID: want.GetConsumerId(), Partition: want.MessageId.GetPartition(), RedeliveryCount: want.GetRedeliveryCount(),
			Position: wire.Position{Ledger: int64(want.MessageId.GetLedgerId()), Entry: int64(want.MessageId.GetEntryId())},
			AckSet:   fromInt64s(want.AckSet), ConsumerEpoch: want.GetConsumerEpoch(), HasEpoch: want.ConsumerEpoch != nil,
		}, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzParseFlow(f *testing.F) {
	seeds(f, &pb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(1000)})
	f.Fuzz(func(t *testing.T, b []byte) {
		consumer, permits, err := wire.ParseFlow(b)
		var want pb.CommandFlow
		if agree(t, b, err, &want, nil) && (consumer != want.GetConsumerId() || permits != want.GetMessagePermits()) {
			t.Fatalf("got %d, %d, want %v", consumer, permits, &want)
		}
	})
}
