package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"spoolctl/storage/record"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// nativeDecoder is for schemas that carry their whole descriptors.
func nativeDecoder(data []byte) (func([]byte) (any, error), error) {
	var doc struct {
		Set  []byte `json:"fileDescriptorSet"`
		Root string `json:"rootMessageTypeName"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(doc.Set, &set); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(doc.Root))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSchema, doc.Root, err)
	}
	root, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not a message", ErrSchema, doc.Root)
	}
	types := dynamicpb.NewTypes(files)
	return func(b []byte) (any, error) {
		m := dynamicpb.NewMessage(root)
		if err := (proto.UnmarshalOptions{Resolver: types, AllowPartial: true}).Unmarshal(b, m); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPayload, err)
		}
		text, err := protojson.MarshalOptions{Resolver: types, AllowPartial: true, UseProtoNames: true}.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPayload, err)
		}
		var out bytes.Buffer // protojson varies its spacing on purpose
		err = json.Compact(&out, text)
		return json.RawMessage(out.Bytes()), err
	}, nil
}

// field is what clients tell of a field beside the definition, in the property
// __PARSING_INFO__.
type field struct {
	Number int32  `json:"number"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Label  string `json:"label"`
}

// protobufDecoder is for schemas that describe the fields in Avro's terms and
// give their numbers, at the best, in a property. What has no name is shown by
// its number.
func protobufDecoder(s record.Schema) (func([]byte) (any, error), error) {
	known := map[protowire.Number]field{}
	if info := s.Properties["__PARSING_INFO__"]; info != "" {
		var list []field
		if err := json.Unmarshal([]byte(info), &list); err != nil {
			return nil, fmt.Errorf("%w: __PARSING_INFO__: %w", ErrSchema, err)
		}
		for _, f := range list {
			known[protowire.Number(f.Number)] = f
		}
	}
	return func(b []byte) (any, error) {
		m, err := protoFields(b, known, 0)
		if err != nil {
			return nil, err
		}
		return m, nil
	}, nil
}

// maxNesting bounds how deep messages of unknown types are looked into.
const maxNesting = 16

func protoFields(b []byte, known map[protowire.Number]field, depth int) (map[string]any, error) {
	out := map[string]any{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", ErrPayload, protowire.ParseError(n))
		}
		b = b[n:]
		f, named := known[num]
		if !named {
			f.Name = "#" + strconv.Itoa(int(num))
		}
		v, n := protoValue(b, num, typ, f.Type, depth)
		if n < 0 {
			return nil, fmt.Errorf("%w: field %s: %w", ErrPayload, f.Name, protowire.ParseError(n))
		}
		b = b[n:]
		switch have := out[f.Name].(type) {
		case nil:
			if out[f.Name] = v; f.Label == "repeated" || f.Label == "LABEL_REPEATED" {
				out[f.Name] = []any{v}
			}
		case []any:
			out[f.Name] = append(have, v)
		default:
			out[f.Name] = []any{have, v}
		}
	}
	return out, nil
}

// protoValue reads one value; the length is negative when it cannot be.
func protoValue(b []byte, num protowire.Number, typ protowire.Type, kind string, depth int) (any, int) {
	switch typ {
	case protowire.VarintType:
		v, n := protowire.ConsumeVarint(b)
		switch kind {
		case "BOOL":
			return protowire.DecodeBool(v), n
		case "SINT32", "SINT64":
			return protowire.DecodeZigZag(v), n
		case "UINT32", "UINT64":
			return v, n
		}
		return int64(v), n
	case protowire.Fixed32Type:
		v, n := protowire.ConsumeFixed32(b)
		switch kind {
		case "FIXED32":
			return v, n
		case "SFIXED32":
			return int32(v), n
		}
		return number(math.Float32frombits(v)), n
	case protowire.Fixed64Type:
		v, n := protowire.ConsumeFixed64(b)
		switch kind {
		case "FIXED64":
			return v, n
		case "SFIXED64":
			return int64(v), n
		}
		return number(math.Float64frombits(v)), n
	case protowire.BytesType:
		v, n := protowire.ConsumeBytes(b)
		return protoBytes(v, kind, depth), n
	}
	n := protowire.ConsumeFieldValue(num, typ, b)
	if n < 0 {
		return nil, n
	}
	return append([]byte(nil), b[:n]...), n
}

// protoBytes shows a field of bytes as what it most likely is.
func protoBytes(b []byte, kind string, depth int) any {
	switch kind {
	case "STRING":
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	case "BYTES":
		return append([]byte(nil), b...)
	case "MESSAGE", "GROUP":
		if m := nested(b, depth); m != nil {
			return m
		}
	}
	if utf8.Valid(b) {
		return string(b)
	}
	if m := nested(b, depth); m != nil {
		return m
	}
	return append([]byte(nil), b...)
}

// nested reads b as a message, nil when it is none.
func nested(b []byte, depth int) any {
	if depth >= maxNesting {
		return nil
	}
	m, err := protoFields(b, nil, depth+1)
	if err != nil {
		return nil
	}
	return m
}
