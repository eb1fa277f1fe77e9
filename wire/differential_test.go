package wire_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"spoolctl/wire"
)

// unread names the nested messages that a hand parser steps over: a nil value
// means the whole field, otherwise the fields inside it.
type unread map[protowire.Number]unread

// strip removes the fields that a hand parser does not look into, so that what is
// left must be judged alike by both codecs. Broken encoding is left as it is.
func strip(b []byte, skip unread) []byte {
	var out []byte
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return append(out, b...)
		}
		size := protowire.ConsumeFieldValue(number, typ, b[n:])
		if size < 0 {
			return append(out, b...)
		}
		inner, known := skip[number]
		switch {
		case !known || typ != protowire.BytesType:
			out = append(out, b[:n+size]...)
		case inner != nil:
			value, _ := protowire.ConsumeBytes(b[n:])
			out = protowire.AppendTag(out, number, typ)
			out = protowire.AppendBytes(out, strip(value, inner))
		}
		b = b[n+size:]
	}
	return out
}

// agree checks a hand parser's verdict on b against the generated code, whose
// result is in want afterwards. It reports whether the values can be compared.
func agree(t *testing.T, b []byte, handErr error, want proto.Message, skip unread) bool {
	t.Helper()
	if handErr != nil && !errors.Is(handErr, wire.ErrMalformed) {
		t.Fatalf("untyped error %v", handErr)
	}
	if err := proto.Unmarshal(strip(b, skip), want); (err == nil) != (handErr == nil) {
		t.Fatalf("by hand: %v; generated: %v", handErr, err)
	}
	if err := proto.Unmarshal(b, want); err == nil && handErr != nil {
		t.Fatalf("by hand: %v; the generated code accepts", handErr)
	} else if err != nil {
		return false
	}
	return true
}

// seeds adds serialized messages and two damaged forms of each.
func seeds(f *testing.F, messages ...proto.Message) {
	f.Helper()
	for _, m := range messages {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append(b, 0xff, 0x01))
	}
}

// unknownFields is a field of every wire type, with numbers nobody uses.
func unknownFields() []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1<<63)
	b = protowire.AppendFixed32(protowire.AppendTag(b, 1001, protowire.Fixed32Type), 1)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 1002, protowire.Fixed64Type), 1)
	b = protowire.AppendString(protowire.AppendTag(b, 1003, protowire.BytesType), "x")
	b = protowire.AppendTag(b, 1004, protowire.StartGroupType)
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 5)
	return protowire.AppendTag(b, 1004, protowire.EndGroupType)
}

// brokenFields are endings that no parser may accept.
func brokenFields() map[string][]byte {
	return map[string][]byte{
		"cut varint":        {0x08},
		"endless varint":    {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"overflow":          {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02},
		"field number 0":    {0x00, 0x01},
		"number too large":  {0x80, 0x80, 0x80, 0x80, 0x10, 0x01},
		"over-long length":  {0x0a, 0x05, 0x01},
		"huge length":       {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"cut fixed32":       {0x0d, 1, 2, 3},
		"cut fixed64":       {0x09, 1, 2, 3},
		"open group":        {0x0b, 0x08, 0x01},
		"end without group": {0x0c},
		"group mismatch":    {0x0b, 0x14},
		"wire type 6":       {0x0e},
		"wire type 7":       {0x0f},
	}
}

func TestHandParsersSkipUnknownAndRefuseBroken(t *testing.T) {
	id := &wire.AckID{Position: wire.Position{Ledger: 1, Entry: 2}, Partition: -1, Batch: -1}
	body := func(frame []byte) []byte {
		_, b, err := wire.CommandType(frame[8:])
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	meta, err := proto.Marshal(plainMetadata())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		good  []byte
		parse func([]byte) error
	}{
		"CommandType": {wire.AppendFlow(nil, 1, 2)[8:], func(b []byte) error { _, _, err := wire.CommandType(b); return err }},
		"Send":        {body(wire.AppendSend(nil, wire.Send{}, nil)), func(b []byte) error { _, err := wire.ParseSend(b); return err }},
		"SendReceipt": {body(wire.AppendSendReceipt(nil, 1, 2, 3, id.Position)), func(b []byte) error { _, err := wire.ParseSendReceipt(b); return err }},
		"Message":     {body(wire.AppendMessageHeader(nil, wire.Message{}, 0)), func(b []byte) error { _, err := wire.ParseMessage(b); return err }},
		"Ack":         {body(wire.AppendAck(nil, &wire.Ack{IDs: []wire.AckID{*id}})), func(b []byte) error { return wire.ParseAck(b, new(wire.Ack)) }},
		"Flow":        {body(wire.AppendFlow(nil, 1, 2)), func(b []byte) error { _, _, err := wire.ParseFlow(b); return err }},
		"Metadata":    {meta, func(b []byte) error { _, err := wire.ParseMetadata(b); return err }},
	} {
		for range 2 {
			if err := c.parse(c.good); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			c.good = append(unknownFields(), c.good...)
		}
		if err := c.parse(nil); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s without required fields: %v", name, err)
		}
		for what, tail := range brokenFields() {
			if err := c.parse(append(c.good[:len(c.good):len(c.good)], tail...)); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("%s with %s: %v", name, what, err)
			}
		}
	}
}
