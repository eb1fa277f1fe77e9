package record

import (
	"time"

	"spoolctl/wire"

	"google.golang.org/protobuf/encoding/protowire"
)

// Cursor is the durable head of a subscription.
type Cursor struct {
	Name             string            // 1: subscription name
	MarkDelete       wire.Position     // 2, 3: this entry and all before it are acknowledged
	ConsumedMessages int64             // 4: messages of the topic (as counted by entry headers) that are acknowledged or were skipped, ever
	ConsumedBytes    int64             // 5: the same in payload bytes
	Created          time.Time         // 6: milliseconds
	LastActive       time.Time         // 7: milliseconds
	Properties       map[string]string // 8: subscription properties
	Positions        map[string]int64  // 9: properties that an acknowledgement left with the mark-delete position
}

// Append adds the encoding of c to dst.
func (c *Cursor) Append(dst []byte) []byte {
	dst = appendString(dst, 1, c.Name)
	dst = appendInt(dst, 2, c.MarkDelete.Ledger)
	dst = appendInt(dst, 3, c.MarkDelete.Entry)
	dst = appendInt(dst, 4, c.ConsumedMessages)
	dst = appendInt(dst, 5, c.ConsumedBytes)
	dst = appendInt(dst, 6, millis(c.Created))
	dst = appendInt(dst, 7, millis(c.LastActive))
	dst = appendMap(dst, 8, c.Properties)
	for _, k := range sortedKeys(c.Positions) {
		dst = appendBytes(dst, 9, appendInt(appendString(nil, 1, k), 2, c.Positions[k]))
	}
	return dst
}

// ParseCursor decodes a cursor head.
func ParseCursor(b []byte) (c Cursor, err error) {
	err = fields("cursor", b, func(num protowire.Number, v uint64, b []byte) error {
		switch num {
		case 1:
			c.Name = string(b)
		case 2:
			c.MarkDelete.Ledger = int64(v)
		case 3:
			c.MarkDelete.Entry = int64(v)
		case 4:
			c.ConsumedMessages = int64(v)
		case 5:
			c.ConsumedBytes = int64(v)
		case 6:
			c.Created = fromMillis(int64(v))
		case 7:
			c.LastActive = fromMillis(int64(v))
		case 8:
			k, s, _, err := parsePair("subscription property", b)
			if c.Properties == nil {
				c.Properties = map[string]string{}
			}
			c.Properties[k] = s
			return err
		case 9:
			k, _, n, err := parsePair("position property", b)
			if c.Positions == nil {
				c.Positions = map[string]int64{}
			}
			c.Positions[k] = n
			return err
		}
		return nil
	})
	return c, err
}
