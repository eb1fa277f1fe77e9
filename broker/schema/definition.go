package schema

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/hamba/avro/v2"
)

// ErrInvalid is wrapped by the error of every definition that its type does not allow.
var ErrInvalid = errors.New("invalid schema definition")

const (
	maxData  = 1 << 20 // of a definition, in bytes
	maxDepth = 128     // of its JSON
)

// Validate refuses, with ErrInvalid, a definition that its type does not allow.
func Validate(d Definition) error {
	if !d.Type.Registers() {
		return fmt.Errorf("%w: there are no schemas of type %s", ErrInvalid, d.Type)
	}
	if len(d.Data) > maxData {
		return fmt.Errorf("%w: %d bytes are more than the %d that are allowed", ErrInvalid, len(d.Data), maxData)
	}
	switch d.Type {
	case Avro, Protobuf:
		_, err := parseAvro(d.Data)
		return err
	case JSON, ProtobufNative:
		// A JSON schema may also be a document of another kind than Avro's.
		if !json.Valid(d.Data) {
			return fmt.Errorf("%w: a schema of type %s must be a JSON document", ErrInvalid, d.Type)
		}
	case KeyValue:
		_, _, err := d.split()
		return err
	}
	return nil
}

func parseAvro(data []byte) (avro.Schema, error) {
	if err := checkDepth(data); err != nil {
		return nil, err
	}
	s, err := avro.ParseBytesWithCache(data, "", &avro.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return s, nil
}

// checkDepth bounds how deep a definition nests: comparing definitions costs the square of it.
func checkDepth(data []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("%w: it nests deeper than %d levels", ErrInvalid, maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// Same says whether two definitions are one schema: equal types, and equal data, where the
// spacing and the order of a JSON document do not count. Properties do not make a difference.
func Same(a, b Definition) bool {
	if a.Type != b.Type {
		return false
	}
	if bytes.Equal(a.Data, b.Data) {
		return true
	}
	switch a.Type {
	case JSON, Avro, Protobuf, ProtobufNative:
		x, errX := document(a.Data)
		y, errY := document(b.Data)
		return errX == nil && errY == nil && reflect.DeepEqual(x, y)
	case KeyValue:
		return false
	}
	return true // the data of a primitive type says nothing
}

// document decodes a JSON document with its numbers as they are written.
func document(data []byte) (doc any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&doc)
	return doc, err
}

// split takes a key-value schema apart. Its data is the key's definition and the value's, each
// after its length in 4 bytes; the types stand in the properties.
func (d Definition) split() (k, v Definition, err error) {
	rest := d.Data
	for _, part := range []struct {
		into *Definition
		name string
	}{{&k, "key"}, {&v, "value"}} {
		if len(rest) < 4 || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return k, v, fmt.Errorf("%w: the %s of a key-value schema is cut short", ErrInvalid, part.name)
		}
		n := binary.BigEndian.Uint32(rest)
		part.into.Data, rest = rest[4:4+n], rest[4+n:]
		t, ok := ParseType(d.Properties[part.name+".schema.type"])
		if ok && t == KeyValue {
			return k, v, fmt.Errorf("%w: the %s of a key-value schema cannot be one itself", ErrInvalid, part.name)
		}
		part.into.Type = t
		if ok {
			if err := Validate(*part.into); err != nil {
				return k, v, fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	if len(rest) > 0 {
		return k, v, fmt.Errorf("%w: %d bytes follow a key-value schema", ErrInvalid, len(rest))
	}
	return k, v, nil
}

// JoinKeyValue makes the data of a key-value schema from the JSON form of the admin API,
// {"key":…,"value":…}, where a part without a definition is "" or absent.
func JoinKeyValue(text []byte) ([]byte, error) {
	var doc struct{ Key, Value json.RawMessage }
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf(`%w: a key-value schema is written {"key":…,"value":…}: %w`, ErrInvalid, err)
	}
	var data []byte
	for _, part := range []json.RawMessage{doc.Key, doc.Value} {
		if string(part) == `""` || string(part) == "null" {
			part = nil
		}
		data = binary.BigEndian.AppendUint32(data, uint32(len(part)))
		data = append(data, part...)
	}
	return data, nil
}

// KeyValueText is the inverse of JoinKeyValue.
func KeyValueText(d Definition) (string, error) {
	k, v, err := d.split()
	if err != nil {
		return "", err
	}
	doc := make(map[string]any, 2)
	for name, part := range map[string]Definition{"key": k, "value": v} {
		doc[name] = string(part.Data)
		if json.Valid(part.Data) {
			doc[name] = json.RawMessage(part.Data)
		}
	}
	b, err := json.Marshal(doc)
	return string(b), err
}
