package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func sameAck(want, got *wire.Ack) string {
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(wire.Ack{}), cmpopts.EquateEmpty())
}

func ackOf(m *pb.CommandAck) *wire.Ack {
	a := &wire.Ack{
		ConsumerID: m.GetConsumerId(), Cumulative: m.GetAckType() == pb.CommandAck_Cumulative, RequestID: m.GetRequestId(), HasRequestID: m.RequestId != nil,
		TxnMost: m.GetTxnidMostBits(), TxnLeast: m.GetTxnidLeastBits(), HasTxn: m.TxnidMostBits != nil && m.TxnidLeastBits != nil, ValidationError: -1,
	}
	if m.ValidationError != nil {
		a.ValidationError = int32(*m.ValidationError)
	}
	for _, id := range m.MessageId {
		a.IDs = append(a.IDs, wire.AckID{
			Position:  wire.Position{Ledger: int64(id.GetLedgerId()), Entry: int64(id.GetEntryId())},
			Partition: id.GetPartition(), Batch: id.GetBatchIndex(), BatchSize: id.GetBatchSize(), AckSet: fromInt64s(id.AckSet),
		})
	}
	for _, p := range m.Properties {
		a.Properties = append(a.Properties, wire.AckProperty{Key: p.GetKey(), Value: p.GetValue()})
	}
	return a
}

func drawAck(t *rapid.T) *pb.CommandAck {
	m := &pb.CommandAck{
		ConsumerId: proto.Uint64(rapid.Uint64().Draw(t, "consumer")),
		AckType:    pb.CommandAck_AckType(rapid.Int32Range(0, 1).Draw(t, "type")).Enum(),
		RequestId:  maybe(t, rapid.Uint64(), "request"),
	}
	if rapid.Bool().Draw(t, "txn") {
		m.TxnidMostBits, m.TxnidLeastBits = proto.Uint64(rapid.Uint64().Draw(t, "most")), proto.Uint64(rapid.Uint64().Draw(t, "least"))
	}
	if v := maybe(t, rapid.Int32Range(0, 4), "validation"); v != nil {
		m.ValidationError = pb.CommandAck_ValidationError(*v).Enum()
	}
	for range rapid.IntRange(0, 30).Draw(t, "ids") {
		id := &pb.MessageIdData{LedgerId: proto.Uint64(rapid.Uint64().Draw(t, "ledger")), EntryId: proto.Uint64(rapid.Uint64().Draw(t, "entry"))}
		id.AckSet = toInt64s(drawWords(t))
		if rapid.Bool().Draw(t, "optional") {
			id.Partition, id.BatchIndex = proto.Int32(rapid.Int32Min(0).Draw(t, "partition")), proto.Int32(rapid.Int32Min(0).Draw(t, "batch"))
			id.BatchSize = proto.Int32(rapid.Int32Min(1).Draw(t, "size"))
		}
		m.MessageId = append(m.MessageId, id)
	}
	for range rapid.IntRange(0, 2).Draw(t, "properties") {
		m.Properties = append(m.Properties, &pb.KeyLongValue{Key: proto.String(rapid.String().Draw(t, "k")), Value: proto.Uint64(rapid.Uint64().Draw(t, "v"))})
	}
	return m
}

func TestAckReuse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got wire.Ack
		for range 3 {
			want := drawAck(t)
			a := ackOf(want)
			frame := wire.AppendAck(nil, a)
			sameFrame(t, frame, &pb.BaseCommand{Type: pb.BaseCommand_ACK.Enum(), Ack: want}, nil)
			if err := wire.ParseAck(commandBody(t, frame, pb.BaseCommand_ACK), &got); err != nil {
				t.Fatal(err)
			}
			if diff := sameAck(a, &got); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestAckDropsLargeMemory(t *testing.T) {
	big := &wire.Ack{ValidationError: -1, IDs: make([]wire.AckID, 10_000)}
	_, body, err := wire.CommandType(wire.AppendAck(nil, big)[8:])
	if err != nil {
		t.Fatal(err)
	}
	var a wire.Ack
	if err := wire.ParseAck(body, &a); err != nil || len(a.IDs) != len(big.IDs) {
		t.Fatalf("%d ids, %v", len(a.IDs), err)
	}
	_, body, err = wire.CommandType(wire.AppendAck(nil, &wire.Ack{ValidationError: -1, IDs: big.IDs[:1]})[8:])
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.ParseAck(body, &a); err != nil || cap(a.IDs) > 5000 {
		t.Fatalf("room for %d ids kept, %v", cap(a.IDs), err)
	}
}

func FuzzParseAck(f *testing.F) {
	id := &pb.MessageIdData{LedgerId: proto.Uint64(1), EntryId: proto.Uint64(2), AckSet: []int64{-1, 5}, BatchIndex: proto.Int32(3)}
	full := &pb.CommandAck{
		ConsumerId: proto.Uint64(1), AckType: pb.CommandAck_Cumulative.Enum(), MessageId: []*pb.MessageIdData{id, id}, RequestId: proto.Uint64(0),
		ValidationError: pb.CommandAck_DecryptionError.Enum(), Properties: []*pb.KeyLongValue{{Key: proto.String("k"), Value: proto.Uint64(1)}},
		TxnidLeastBits: proto.Uint64(1), TxnidMostBits: proto.Uint64(2),
	}
	seeds(f, &pb.CommandAck{ConsumerId: proto.Uint64(1), AckType: pb.CommandAck_Individual.Enum(), MessageId: []*pb.MessageIdData{id}}, full)
	// The same ack set in its packed form.
	packed := []byte{0x08, 1, 0x10, 2, 0x2a, 2, 7, 9}
	f.Add(protowire.AppendBytes([]byte{0x08, 1, 0x10, 0, 0x1a}, packed))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got wire.Ack
		err := wire.ParseAck(b, &got)
		var want pb.CommandAck
		if !agree(t, b, err, &want, unread{3: {7: nil}}) {
			return
		}
		if diff := sameAck(ackOf(&want), &got); diff != "" {
			t.Fatal(diff)
		}
	})
}
