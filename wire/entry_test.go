package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func plainMetadata() *pb.MessageMetadata {
	return &pb.MessageMetadata{ProducerName: proto.String("p-1"), SequenceId: proto.Uint64(7), PublishTime: proto.Uint64(1700000000000)}
}

func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		meta, payload := drawMetadata(t), rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		entry := wire.BuildEntry(meta, payload)
		parts, err := wire.SplitEntry(entry)
		if err != nil {
			t.Fatal(err)
		}
		if err := parts.Verify(); err != nil || !parts.HasChecksum || parts.Broker != nil {
			t.Fatalf("%+v: %v", parts, err)
		}
		got, err := wire.ParseMetadataFull(parts.Metadata)
		if err != nil || !proto.Equal(got, meta) || !bytes.Equal(parts.Payload, payload) {
			t.Fatalf("metadata %v, %v; payload %q", got, err, parts.Payload)
		}

		i := rapid.IntRange(0, len(entry)*8-1).Draw(t, "flip")
		entry[i/8] ^= 1 << (i % 8)
		if parts, err := wire.SplitEntry(entry); err == nil && parts.HasChecksum && parts.Verify() == nil {
			t.Fatalf("bit %d flipped and nothing noticed", i)
		}
	})
}

func TestSplitEntryForms(t *testing.T) {
	entry := wire.BuildEntry(plainMetadata(), []byte("payload"))
	broker := []byte{0x08, 0x01, 0x10, 0x02}
	withBroker := binary.BigEndian.AppendUint32([]byte{0x0e, 0x02}, uint32(len(broker)))
	withBroker = append(append(withBroker, broker...), entry...)

	p, err := wire.SplitEntry(withBroker)
	if err != nil || !bytes.Equal(p.Broker, broker) || string(p.Payload) != "payload" || p.Verify() != nil {
		t.Errorf("broker metadata: %+v, %v", p, err)
	}
	p, err = wire.SplitEntry(entry[6:])
	if err != nil || p.HasChecksum || string(p.Payload) != "payload" || p.Verify() != nil {
		t.Errorf("no checksum: %+v, %v", p, err)
	}
	entry[len(entry)-1] ^= 1
	p, err = wire.SplitEntry(entry)
	if err != nil || !errors.Is(p.Verify(), wire.ErrChecksum) {
		t.Errorf("flipped byte: %v, %v", err, p.Verify())
	}
	metaEnd := len(entry) - len("payload")
	for n := range metaEnd {
		if _, err := wire.SplitEntry(entry[:n]); !errors.Is(err, wire.ErrEntry) {
			t.Errorf("%d of %d bytes: %v", n, metaEnd, err)
		}
	}
}

func FuzzSplitEntry(f *testing.F) {
	entry := wire.BuildEntry(plainMetadata(), []byte("payload"))
	f.Add(entry)
	f.Add(entry[6:])
	f.Add(append([]byte{0x0e, 0x02, 0, 0, 0, 2, 8, 1}, entry...))
	f.Add([]byte{0x0e, 0x01, 0, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := wire.SplitEntry(data)
		if err != nil {
			if !errors.Is(err, wire.ErrEntry) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		var again []byte
		if p.Broker != nil {
			again = binary.BigEndian.AppendUint32([]byte{0x0e, 0x02}, uint32(len(p.Broker)))
			again = append(again, p.Broker...)
		}
		if p.HasChecksum {
			again = binary.BigEndian.AppendUint32(append(again, 0x0e, 0x01), p.Checksum)
		}
		again = binary.BigEndian.AppendUint32(again, uint32(len(p.Metadata)))
		again = append(append(again, p.Metadata...), p.Payload...)
		if !bytes.Equal(again, data) {
			t.Fatalf("the parts of %x make %x", data, again)
		}
		sum := wire.Checksum(again[len(again)-len(p.Payload)-len(p.Metadata)-4:])
		if (p.Verify() == nil) != (!p.HasChecksum || sum == p.Checksum) {
			t.Fatalf("Verify: %v", p.Verify())
		}
	})
}
