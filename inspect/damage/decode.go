package damage

import (
	"encoding/binary"
	"fmt"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
)

// Decode checks that a record's key and value are what its family holds. Keys
// of no known family, and families that no program writes yet, pass: callers
// look at key.Family.Known.
func Decode(k, v []byte) error {
	if len(k) == 0 {
		return fmt.Errorf("%w: empty key", key.ErrMalformed)
	}
	var err error
	switch key.Family(k[0]) {
	case key.Topic:
		if _, err = key.ParseTopic(k); err == nil {
			_, err = record.ParseTopic(v)
		}
	case key.Ledger:
		if _, _, err = key.ParseLedger(k); err == nil {
			_, err = record.ParseLedger(v)
		}
	case key.Extent:
		var first int64
		if _, first, err = key.ParseExtent(k); err == nil {
			_, err = record.ParseExtent(first, v)
		}
	case key.Entry:
		if _, _, _, err = key.ParseEntry(k); err == nil {
			_, _, err = record.ParseHeader(v)
		}
	case key.Cursor:
		if _, _, err = key.ParseCursor(k); err == nil {
			_, err = record.ParseCursor(v)
		}
	case key.Holes:
		if _, _, _, err = key.ParseHoles(k); err == nil {
			_, err = record.ParseHoles(v)
		}
	case key.Meta:
		if _, err = key.ParseMeta(k); err == nil {
			if _, n := binary.Uvarint(v); n <= 0 {
				err = fmt.Errorf("%w: store-wide fact", record.ErrMalformed)
			}
		}
	case key.Resource:
		_, _, err = key.ParseResource(k)
	case key.Schema:
		if _, _, err = key.ParseSchema(k); err == nil {
			_, err = record.ParseSchema(v)
		}
	case key.Dedup:
		if _, _, err = key.ParseProducer(k); err == nil {
			_, err = record.ParseProducer(v)
		}
	}
	return err
}
