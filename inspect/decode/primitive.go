package decode

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"spoolctl/wire/pb"
)

// primitive returns the decoder of a type that needs no definition, nil when
// there is none. Numbers are big-endian, as Pulsar's clients write them.
func primitive(t pb.Schema_Type) func([]byte) (any, error) {
	switch t {
	case pb.Schema_None:
		return func(b []byte) (any, error) { return append([]byte(nil), b...), nil }
	case pb.Schema_String:
		return func(b []byte) (any, error) {
			if !utf8.Valid(b) {
				return nil, fmt.Errorf("%w: not UTF-8", ErrPayload)
			}
			return string(b), nil
		}
	case pb.Schema_Bool:
		return fixed(1, func(b []byte) any { return b[0] != 0 })
	case pb.Schema_Int8:
		return fixed(1, func(b []byte) any { return int8(b[0]) })
	case pb.Schema_Int16:
		return fixed(2, func(b []byte) any { return int16(binary.BigEndian.Uint16(b)) })
	case pb.Schema_Int32:
		return fixed(4, func(b []byte) any { return int32(binary.BigEndian.Uint32(b)) })
	case pb.Schema_Int64:
		return fixed(8, func(b []byte) any { return long(b) })
	case pb.Schema_Float:
		return fixed(4, func(b []byte) any { return number(math.Float32frombits(binary.BigEndian.Uint32(b))) })
	case pb.Schema_Double:
		return fixed(8, func(b []byte) any { return number(math.Float64frombits(binary.BigEndian.Uint64(b))) })
	case pb.Schema_Date, pb.Schema_Timestamp:
		return fixed(8, func(b []byte) any { return time.UnixMilli(long(b)).UTC().Format(time.RFC3339Nano) })
	case pb.Schema_Time:
		return fixed(8, func(b []byte) any { return time.UnixMilli(long(b)).UTC().Format("15:04:05.000") })
	case pb.Schema_Instant:
		return fixed(12, func(b []byte) any {
			return time.Unix(long(b), int64(int32(binary.BigEndian.Uint32(b[8:])))).UTC().Format(time.RFC3339Nano)
		})
	case pb.Schema_LocalDate:
		return fixed(8, func(b []byte) any { return day(long(b)).Format(time.DateOnly) })
	case pb.Schema_LocalTime:
		return fixed(8, func(b []byte) any { return time.Unix(0, long(b)).UTC().Format("15:04:05.999999999") })
	case pb.Schema_LocalDateTime:
		return fixed(16, func(b []byte) any {
			return day(long(b)).Add(time.Duration(long(b[8:]))).Format("2006-01-02T15:04:05.999999999")
		})
	}
	return nil
}

func fixed(n int, value func([]byte) any) func([]byte) (any, error) {
	return func(b []byte) (any, error) {
		if len(b) != n {
			return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrPayload, len(b), n)
		}
		return value(b), nil
	}
}

func long(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

func day(n int64) time.Time {
	const most = 1 << 31 // days; beyond it time.Time overflows
	return time.Unix(max(-most, min(most, n))*24*60*60, 0).UTC()
}

// number is a float as JSON can hold it: text when it is not finite.
func number(v any) any {
	f, _ := v.(float64)
	if g, ok := v.(float32); ok {
		f = float64(g)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprint(f)
	}
	return v
}
