package record

import (
	"bytes"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Schema is one version of a schema. The version itself is in the key.
type Schema struct {
	Type       int32             // 1: a Schema.Type of the wire protocol
	Name       string            // 2: as the client named it
	Data       []byte            // 3: the definition, as the client sent it
	Properties map[string]string // 4
	Timestamp  time.Time         // 5: when it was registered, milliseconds
	User       string            // 6: the role that registered it
	Deleted    bool              // 7: the schema was deleted here; the fields before tell when and by whom only
}

// Append adds the encoding of s to dst.
func (s *Schema) Append(dst []byte) []byte {
	dst = appendInt(dst, 1, int64(s.Type))
	dst = appendString(dst, 2, s.Name)
	if len(s.Data) > 0 {
		dst = appendBytes(dst, 3, s.Data)
	}
	dst = appendMap(dst, 4, s.Properties)
	dst = appendInt(dst, 5, millis(s.Timestamp))
	dst = appendString(dst, 6, s.User)
	if s.Deleted {
		dst = appendInt(dst, 7, 1)
	}
	return dst
}

// ParseSchema decodes a schema version; the result does not alias b.
func ParseSchema(b []byte) (s Schema, err error) {
	err = fields("schema", b, func(num protowire.Number, v uint64, b []byte) error {
		switch num {
		case 1:
			s.Type = int32(v)
		case 2:
			s.Name = string(b)
		case 3:
			s.Data = bytes.Clone(b)
		case 4:
			k, v, _, err := parsePair("schema property", b)
			if s.Properties == nil {
				s.Properties = map[string]string{}
			}
			s.Properties[k] = v
			return err
		case 5:
			s.Timestamp = fromMillis(int64(v))
		case 6:
			s.User = string(b)
		case 7:
			s.Deleted = v != 0
		}
		return nil
	})
	return s, err
}
