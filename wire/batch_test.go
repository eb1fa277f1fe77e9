package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func TestUnbatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var metas []*pb.SingleMessageMetadata
		var payloads [][]byte
		var batch []byte
		for range rapid.IntRange(1, 10).Draw(t, "messages") {
			meta := &pb.SingleMessageMetadata{PartitionKey: maybe(t, rapid.String(), "key"), SequenceId: maybe(t, rapid.Uint64(), "sequence")}
			payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
			batch = wire.AppendSingle(batch, meta, payload)
			metas, payloads = append(metas, meta), append(payloads, payload)
		}
		m := wire.Metadata{NumMessages: int32(len(metas)), HasNumMessages: true}
		n := 0
		for s, err := range wire.Unbatch(&m, batch) {
			if err != nil {
				t.Fatal(err)
			}
			if s.Index != int32(n) || !proto.Equal(s.Meta, metas[n]) || !bytes.Equal(s.Payload, payloads[n]) {
				t.Fatalf("message %d: %+v", n, s)
			}
			n++
		}
		if n != len(metas) {
			t.Fatalf("%d messages, want %d", n, len(metas))
		}
		for range wire.Unbatch(&m, batch) {
			break // must not go on
		}

		// One byte less, or one message more, must end in an error.
		failed := func(m *wire.Metadata, b []byte) (err error) {
			for _, e := range wire.Unbatch(m, b) {
				if err != nil {
					t.Fatal("something followed the error")
				}
				err = e
			}
			return err
		}
		if err := failed(&m, batch[:len(batch)-1]); !errors.Is(err, wire.ErrBatch) {
			t.Fatalf("cut: %v", err)
		}
		m.NumMessages++
		if err := failed(&m, batch); !errors.Is(err, wire.ErrBatch) {
			t.Fatalf("one more: %v", err)
		}
	})
}

func TestUnbatchOther(t *testing.T) {
	payload := []byte("payload")
	first := func(m wire.Metadata) (s wire.Single, err error) {
		for s, err = range wire.Unbatch(&m, payload) {
		}
		return s, err
	}
	if s, err := first(wire.Metadata{NumMessages: 1}); err != nil || s.Index != -1 || s.Meta != nil || !bytes.Equal(s.Payload, payload) {
		t.Errorf("no batch: %+v, %v", s, err)
	}
	if _, err := first(wire.Metadata{Encrypted: true}); !errors.Is(err, wire.ErrEncrypted) {
		t.Errorf("encrypted: %v", err)
	}
	for _, n := range []int32{0, -1} {
		if _, err := first(wire.Metadata{NumMessages: n, HasNumMessages: true}); !errors.Is(err, wire.ErrBatch) {
			t.Errorf("%d messages: %v", n, err)
		}
	}
}

func FuzzUnbatch(f *testing.F) {
	batch := wire.AppendSingle(nil, &pb.SingleMessageMetadata{PartitionKey: proto.String("k")}, []byte("one"))
	batch = wire.AppendSingle(batch, &pb.SingleMessageMetadata{}, nil)
	f.Add(int32(2), batch)
	f.Add(int32(3), batch)
	f.Add(int32(1), []byte{0, 0, 0, 11, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}) // payload size -1
	f.Add(int32(1), []byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, messages int32, b []byte) {
		m := wire.Metadata{NumMessages: messages, HasNumMessages: true}
		n, size, failed := int32(0), 0, false
		for s, err := range wire.Unbatch(&m, b) {
			if failed {
				t.Fatal("something followed an error")
			}
			if err != nil {
				if !errors.Is(err, wire.ErrBatch) {
					t.Fatalf("untyped error %v", err)
				}
				failed = true
				continue
			}
			if s.Index != n || len(s.Payload) != int(s.Meta.GetPayloadSize()) {
				t.Fatalf("message %d: %+v", n, s)
			}
			n, size = n+1, size+len(s.Payload)
		}
		if size > len(b) || !failed && n != messages {
			t.Fatalf("%d messages of %d, %d bytes of %d", n, messages, size, len(b))
		}
	})
}
