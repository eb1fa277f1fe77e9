package record

import (
	"maps"
	"slices"
	"time"

	"spoolctl/wire"

	"google.golang.org/protobuf/encoding/protowire"
)

// Topic is the head of a topic.
type Topic struct {
	Name       string            // 1: full name, persistent://tenant/namespace/local
	Created    time.Time         // 2: milliseconds
	Terminated bool              // 3: no more entries may be added
	Last       wire.Position     // 4, 5: the last entry of a terminated topic
	Properties map[string]string // 6
}

// Append adds the encoding of t to dst.
func (t *Topic) Append(dst []byte) []byte {
	dst = appendString(dst, 1, t.Name)
	dst = appendInt(dst, 2, millis(t.Created))
	if t.Terminated {
		dst = appendInt(dst, 3, 1)
		dst = appendInt(dst, 4, t.Last.Ledger)
		dst = appendInt(dst, 5, t.Last.Entry)
	}
	return appendMap(dst, 6, t.Properties)
}

// ParseTopic decodes a topic head.
func ParseTopic(b []byte) (t Topic, err error) {
	err = fields("topic head", b, func(num protowire.Number, v uint64, b []byte) error {
		switch num {
		case 1:
			t.Name = string(b)
		case 2:
			t.Created = fromMillis(int64(v))
		case 3:
			t.Terminated = v != 0
		case 4:
			t.Last.Ledger = int64(v)
		case 5:
			t.Last.Entry = int64(v)
		case 6:
			k, s, _, err := parsePair("topic property", b)
			if t.Properties == nil {
				t.Properties = map[string]string{}
			}
			t.Properties[k] = s
			return err
		}
		return nil
	})
	return t, err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
