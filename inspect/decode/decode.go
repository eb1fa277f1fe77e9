package decode

import (
	"encoding/json"
	"errors"
	"fmt"

	"spoolctl/storage/record"
	"spoolctl/wire/pb"
)

// ErrSchema is wrapped by errors about a schema that cannot be used.
var ErrSchema = errors.New("schema")

// ErrPayload is wrapped by errors about a payload that is not what its schema
// says.
var ErrPayload = errors.New("payload does not follow its schema")

// maxDecoded bounds the payloads that are decoded, in bytes: a decoder follows
// the nesting of a payload with its stack.
const maxDecoded = 1 << 20

// Schema decodes payloads of one version of a schema. It is safe for
// concurrent use.
type Schema struct {
	name   string
	decode func(payload []byte) (any, error)
	key    func(payload []byte) (any, error) // of a key-value schema whose key is kept apart
}

// New prepares the decoder of s. Errors wrap ErrSchema.
func New(s record.Schema) (_ *Schema, err error) {
	out := &Schema{name: TypeName(s.Type)}
	defer guard(&err, ErrSchema)
	switch pb.Schema_Type(s.Type) {
	case pb.Schema_Json:
		out.decode = decodeJSON
	case pb.Schema_Avro:
		out.decode, err = avroDecoder(s.Data)
	case pb.Schema_Protobuf:
		out.decode, err = protobufDecoder(s)
	case pb.Schema_ProtobufNative:
		out.decode, err = nativeDecoder(s.Data)
	case pb.Schema_KeyValue:
		err = out.keyValue(s)
	default:
		out.decode = primitive(pb.Schema_Type(s.Type))
	}
	if err != nil {
		return nil, err
	}
	if out.decode == nil {
		return nil, fmt.Errorf("%w: payloads of type %s cannot be decoded", ErrSchema, out.name)
	}
	return out, nil
}

// Type is the name of the schema's type.
func (s *Schema) Type() string { return s.name }

// Decode returns the value of a payload, made of what encoding/json can write.
// key is the message's key, which some key-value schemas keep a part of the
// value in. Errors wrap ErrPayload.
func (s *Schema) Decode(payload, key []byte) (v any, err error) {
	if len(payload) > maxDecoded {
		return nil, fmt.Errorf("%w: %d bytes are more than the %d that are decoded", ErrPayload, len(payload), maxDecoded)
	}
	defer guard(&err, ErrPayload)
	if s.key == nil {
		return s.decode(payload)
	}
	out := keyValue{}
	if out.Key, err = s.key(key); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	out.Value, err = s.decode(payload)
	return out, err
}

// guard turns a panic of a library on strange bytes into an error.
func guard(err *error, kind error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", kind, r)
	}
}

func decodeJSON(b []byte) (any, error) {
	if !json.Valid(b) {
		return nil, fmt.Errorf("%w: not a JSON document", ErrPayload)
	}
	return json.RawMessage(append([]byte(nil), b...)), nil
}

// TypeName is the name of a schema type as Pulsar's tools write it.
func TypeName(t int32) string {
	if name, ok := pb.Schema_Type_name[t]; ok {
		return name
	}
	return fmt.Sprintf("type %d", t)
}
