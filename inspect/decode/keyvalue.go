package decode

import (
	"encoding/binary"
	"fmt"

	"spoolctl/storage/record"
	"spoolctl/wire/pb"
)

// keyValue is the value of a key-value schema.
type keyValue struct {
	Key   any `json:"key"`
	Value any `json:"value"`
}

// keyValue prepares a schema of two others. Its data is the key's definition
// and the value's, each after its length; the types stand in the properties.
func (s *Schema) keyValue(sc record.Schema) error {
	key, rest, err := sized(sc.Data)
	if err != nil {
		return fmt.Errorf("%w: key: %w", ErrSchema, err)
	}
	value, _, err := sized(rest)
	if err != nil {
		return fmt.Errorf("%w: value: %w", ErrSchema, err)
	}
	var parts [2]*Schema
	for i, p := range []struct {
		name string
		data []byte
	}{{"key", key}, {"value", value}} {
		t := typeOf(sc.Properties[p.name+".schema.type"])
		if t == pb.Schema_KeyValue {
			return fmt.Errorf("%w: the %s is a pair itself", ErrSchema, p.name)
		}
		if parts[i], err = New(record.Schema{Type: int32(t), Data: p.data}); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if sc.Properties["kv.encoding.type"] == "SEPARATED" {
		s.key, s.decode = parts[0].decode, parts[1].decode
		return nil
	}
	s.decode = func(b []byte) (any, error) {
		var out keyValue
		for i, into := range []*any{&out.Key, &out.Value} {
			part, rest, err := sized(b)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrPayload, err)
			}
			if b = rest; part == nil {
				continue
			}
			if *into, err = parts[i].decode(part); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil
}

// sized cuts off a part that stands behind its length; -1 is no part.
func sized(b []byte) (part, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("%d bytes where a length must be", len(b))
	}
	n, b := int32(binary.BigEndian.Uint32(b)), b[4:]
	if n == -1 {
		return nil, b, nil
	}
	if n < 0 || int64(n) > int64(len(b)) {
		return nil, nil, fmt.Errorf("a part of %d bytes where %d are left", n, len(b))
	}
	return b[:n:n], b[n:], nil
}

// typeOf reads a type's name as Java clients write it: upper case, with
// underscores. A name that is not known counts as plain bytes.
func typeOf(name string) pb.Schema_Type {
	for t, n := range pb.Schema_Type_name {
		if plainName(n) == plainName(name) {
			return pb.Schema_Type(t)
		}
	}
	return pb.Schema_None
}

func plainName(s string) string {
	out := make([]byte, 0, len(s))
	for _, c := range []byte(s) {
		switch {
		case c == '_':
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
