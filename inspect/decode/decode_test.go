package decode_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"spoolctl/inspect/decode"
	"spoolctl/storage/record"
	"spoolctl/wire/pb"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

func schema(t pb.Schema_Type, data string, props ...string) record.Schema {
	s := record.Schema{Type: int32(t), Data: []byte(data), Properties: map[string]string{}}
	for i := 0; i+1 < len(props); i += 2 {
		s.Properties[props[i]] = props[i+1]
	}
	return s
}

func be(v any) []byte {
	b, err := binary.Append(nil, binary.BigEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

func sized(parts ...string) (out []byte) {
	for _, p := range parts {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(p))), p...)
	}
	return out
}

const node = `{"type":"record","name":"Node","fields":[{"name":"next","type":["null","Node"]}]}`

// native is the schema of pb.KeyValue, with its whole descriptors.
func native(t *testing.T) string {
	t.Helper()
	file := protodesc.ToFileDescriptorProto((&pb.KeyValue{}).ProtoReflect().Descriptor().ParentFile())
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(map[string]any{"fileDescriptorSet": set, "rootMessageTypeName": (&pb.KeyValue{}).ProtoReflect().Descriptor().FullName()})
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func TestDecode(t *testing.T) {
	pair, err := proto.Marshal(&pb.KeyValue{Key: proto.String("k"), Value: proto.String("v")})
	if err != nil {
		t.Fatal(err)
	}
	info := `[{"number":1,"name":"name","type":"STRING","label":"optional"},{"number":2,"name":"all","type":"STRING","label":"repeated"}]`
	for name, c := range map[string]struct {
		s            record.Schema
		payload, key []byte
		want         string // JSON; empty: an error
	}{
		"json":                {schema(pb.Schema_Json, "{}"), []byte(`{"a": 1}`), nil, `{"a":1}`},
		"not json":            {schema(pb.Schema_Json, "{}"), []byte(`{`), nil, ""},
		"string":              {schema(pb.Schema_String, ""), []byte("é"), nil, `"é"`},
		"not text":            {schema(pb.Schema_String, ""), []byte{0xff}, nil, ""},
		"bytes":               {schema(pb.Schema_None, ""), []byte{1}, nil, `"AQ=="`},
		"bool":                {schema(pb.Schema_Bool, ""), []byte{1}, nil, "true"},
		"int8":                {schema(pb.Schema_Int8, ""), []byte{0xff}, nil, "-1"},
		"int16":               {schema(pb.Schema_Int16, ""), be(int16(-2)), nil, "-2"},
		"int32":               {schema(pb.Schema_Int32, ""), be(int32(3)), nil, "3"},
		"int64":               {schema(pb.Schema_Int64, ""), be(int64(-4)), nil, "-4"},
		"int64 of 4 bytes":    {schema(pb.Schema_Int64, ""), be(int32(3)), nil, ""},
		"float":               {schema(pb.Schema_Float, ""), be(float32(1.5)), nil, "1.5"},
		"not a number":        {schema(pb.Schema_Double, ""), be(math.NaN()), nil, `"NaN"`},
		"timestamp":           {schema(pb.Schema_Timestamp, ""), be(int64(1500)), nil, `"1970-01-01T00:00:01.5Z"`},
		"instant":             {schema(pb.Schema_Instant, ""), append(be(int64(1)), be(int32(5))...), nil, `"1970-01-01T00:00:01.000000005Z"`},
		"local date":          {schema(pb.Schema_LocalDate, ""), be(int64(365)), nil, `"1971-01-01"`},
		"far date":            {schema(pb.Schema_LocalDate, ""), be(int64(math.MaxInt64)), nil, `"5881580-07-12"`},
		"avro node":           {schema(pb.Schema_Avro, node), []byte{2, 2, 0}, nil, `{"next":{"Node":{"next":{"Node":{"next":null}}}}}`},
		"avro cut short":      {schema(pb.Schema_Avro, node), []byte{2, 2}, nil, ""},
		"avro left over":      {schema(pb.Schema_Avro, node), []byte{0, 0}, nil, ""},
		"avro deep":           {schema(pb.Schema_Avro, node), bytes.Repeat([]byte{2}, 64<<10), nil, ""},
		"avro large":          {schema(pb.Schema_Avro, node), bytes.Repeat([]byte{2}, 2<<20), nil, ""},
		"protobuf native":     {schema(pb.Schema_ProtobufNative, native(t)), pair, nil, `{"key":"k","value":"v"}`},
		"protobuf native bad": {schema(pb.Schema_ProtobufNative, native(t)), []byte{0xff}, nil, ""},
		"protobuf":            {schema(pb.Schema_Protobuf, "{}", "__PARSING_INFO__", info), pair, nil, `{"all":["v"],"name":"k"}`},
		"protobuf by number":  {schema(pb.Schema_Protobuf, "{}"), pair, nil, `{"#1":"k","#2":"v"}`},
		"protobuf bad":        {schema(pb.Schema_Protobuf, "{}"), []byte{0x0a, 0x7f}, nil, ""},
		"pair inline":         {schema(pb.Schema_KeyValue, string(sized("", "{}")), "key.schema.type", "STRING", "value.schema.type", "JSON"), sized("k", `{"v":1}`), nil, `{"key":"k","value":{"v":1}}`},
		"pair separated":      {schema(pb.Schema_KeyValue, string(sized("", "")), "key.schema.type", "INT32", "value.schema.type", "STRING", "kv.encoding.type", "SEPARATED"), []byte("v"), be(int32(9)), `{"key":9,"value":"v"}`},
		"pair cut short":      {schema(pb.Schema_KeyValue, string(sized("", "")), "key.schema.type", "STRING", "value.schema.type", "STRING"), []byte{0, 0, 0, 9}, nil, ""},
	} {
		s, err := decode.New(c.s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v, err := s.Decode(c.payload, c.key)
		if c.want == "" {
			if !errors.Is(err, decode.ErrPayload) {
				t.Errorf("%s: %v, %v", name, v, err)
			}
			continue
		}
		got, jerr := json.Marshal(v)
		if err != nil || jerr != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, %v", name, got, err, jerr)
		}
	}
}

func TestBadSchemas(t *testing.T) {
	for name, s := range map[string]record.Schema{
		"avro":          schema(pb.Schema_Avro, `{"type":"nothing"}`),
		"endless":       schema(pb.Schema_Avro, `{"type":"record","name":"A","fields":[{"name":"a","type":"A"}]}`),
		"native":        schema(pb.Schema_ProtobufNative, `{}`),
		"parsing info":  schema(pb.Schema_Protobuf, "", "__PARSING_INFO__", "{"),
		"pair":          schema(pb.Schema_KeyValue, "abc"),
		"pair of pairs": schema(pb.Schema_KeyValue, string(sized("", "")), "key.schema.type", "KEY_VALUE"),
		"auto consume":  schema(pb.Schema_AutoConsume, ""),
		"unknown":       {Type: 99},
		"large avro":    {Type: int32(pb.Schema_Avro), Data: make([]byte, 2<<20)},
		"descriptors":   schema(pb.Schema_ProtobufNative, `{"fileDescriptorSet":"AAAA","rootMessageTypeName":"x"}`),
	} {
		if _, err := decode.New(s); !errors.Is(err, decode.ErrSchema) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecode: whatever the schema and the payload are, nothing panics, and
// what comes out can be written as JSON.
func FuzzDecode(f *testing.F) {
	f.Add(int32(pb.Schema_Avro), []byte(node), []byte{2, 0})
	f.Add(int32(pb.Schema_Protobuf), []byte("{}"), []byte{0x0a, 1, 'k'})
	f.Add(int32(pb.Schema_KeyValue), sized("", ""), sized("a", "b"))
	f.Add(int32(pb.Schema_LocalDateTime), []byte(nil), make([]byte, 16))
	f.Fuzz(func(t *testing.T, typ int32, data, payload []byte) {
		s, err := decode.New(record.Schema{Type: typ, Data: data})
		if err != nil {
			return
		}
		v, err := s.Decode(payload, nil)
		if err != nil {
			return
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("type %d, schema %q, payload %q: %v", typ, data, payload, err)
		}
	})
}
