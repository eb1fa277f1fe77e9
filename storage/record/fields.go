package record

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields calls each for every field of a record, skipping what each does not know. Varints come as v, the rest as b.
func fields(what string, rec []byte, each func(num protowire.Number, v uint64, b []byte) error) error {
	for len(rec) > 0 {
		num, typ, n := protowire.ConsumeTag(rec)
		if n < 0 {
			return fmt.Errorf("%w: %s: %w", ErrMalformed, what, protowire.ParseError(n))
		}
		rec = rec[n:]
		var v uint64
		var b []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(rec)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(rec)
		default:
			n = protowire.ConsumeFieldValue(num, typ, rec)
		}
		if n < 0 {
			return fmt.Errorf("%w: %s: %w", ErrMalformed, what, protowire.ParseError(n))
		}
		rec = rec[n:]
		if err := each(num, v, b); err != nil {
			return err
		}
	}
	return nil
}

// appendInt adds an int64 field; zero is left out, negative numbers are zigzag-free two's complement as in protobuf.
func appendInt(dst []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(v))
}

func appendString(dst []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendString(dst, s)
}

func appendBytes(dst []byte, num protowire.Number, b []byte) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendBytes(dst, b)
}

// appendMap adds a string map, keys sorted so that equal maps have equal encodings. Pair: 1 key, 2 value.
func appendMap(dst []byte, num protowire.Number, m map[string]string) []byte {
	for _, k := range sortedKeys(m) {
		pair := appendString(appendString(nil, 1, k), 2, m[k])
		dst = appendBytes(dst, num, pair)
	}
	return dst
}

func parsePair(what string, b []byte) (k, s string, v int64, err error) {
	err = fields(what, b, func(num protowire.Number, n uint64, b []byte) error {
		switch num {
		case 1:
			k = string(b)
		case 2:
			s, v = string(b), int64(n)
		}
		return nil
	})
	return k, s, v, err
}

// millis and fromMillis keep times on disk as milliseconds since the epoch; zero stays the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
