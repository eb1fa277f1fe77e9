package decode

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/hamba/avro/v2"
)

// maxRecursive bounds payloads of types that hold themselves, in bytes: the
// decoder needs about a KiB of stack for each level.
const maxRecursive = 64 << 10

// maxDefinition bounds an Avro definition, in bytes.
const maxDefinition = 1 << 20

func avroDecoder(definition []byte) (func([]byte) (any, error), error) {
	if len(definition) > maxDefinition {
		return nil, fmt.Errorf("%w: the definition has %d bytes", ErrSchema, len(definition))
	}
	s, err := avro.ParseBytesWithCache(definition, "", &avro.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	recursive := circle{every: true, done: map[string]bool{}}.in(s)
	if recursive && endless(s, map[string]bool{}) {
		return nil, fmt.Errorf("%w: a record holds itself without end", ErrSchema)
	}
	api := avro.Config{MaxByteSliceSize: maxDecoded, MaxSliceAllocSize: 64 * maxDecoded}.Freeze()
	return func(payload []byte) (any, error) {
		if recursive && len(payload) > maxRecursive {
			return nil, fmt.Errorf("%w: %d bytes of a type that holds itself are more than the %d that are decoded", ErrPayload, len(payload), maxRecursive)
		}
		// The library takes the end of the bytes for the end of the value: a byte
		// more tells whether all of them, and no more, belong to it.
		r := avro.NewReader(nil, 0, avro.WithReaderConfig(api)).Reset(append(slices.Clone(payload), 0))
		var v any
		r.ReadVal(s, &v)
		if r.Peek(); r.Error != nil {
			return nil, fmt.Errorf("%w: %w", ErrPayload, r.Error)
		}
		r.Read(make([]byte, 1))
		if r.Peek(); r.Error == nil {
			return nil, fmt.Errorf("%w: bytes are left over", ErrPayload)
		}
		return plain(v), nil
	}, nil
}

// circle finds types that hold themselves.
type circle struct {
	// every: follow also what a value may leave out: items of arrays and maps,
	// and the choices of a union.
	every bool
	done  map[string]bool // records by name: false while on the way from the root
}

// in reports whether a record of s holds itself.
func (c circle) in(s avro.Schema) bool {
	switch s := s.(type) {
	case *avro.RefSchema:
		return c.in(s.Schema())
	case *avro.ArraySchema:
		return c.every && c.in(s.Items())
	case *avro.MapSchema:
		return c.every && c.in(s.Values())
	case *avro.UnionSchema:
		return (c.every || len(s.Types()) == 1) && slices.ContainsFunc(s.Types(), c.in)
	case *avro.RecordSchema:
		if done, seen := c.done[s.FullName()]; seen {
			return !done
		}
		c.done[s.FullName()] = false
		if slices.ContainsFunc(s.Fields(), func(f *avro.Field) bool { return c.in(f.Type()) }) {
			return true
		}
		c.done[s.FullName()] = true
	}
	return false
}

// endless reports whether a record that s can reach must hold itself, so that
// no value of it ends and a decoder would never return.
func endless(s avro.Schema, seen map[string]bool) bool {
	switch s := s.(type) {
	case *avro.RefSchema:
		return endless(s.Schema(), seen)
	case *avro.ArraySchema:
		return endless(s.Items(), seen)
	case *avro.MapSchema:
		return endless(s.Values(), seen)
	case *avro.UnionSchema:
		return slices.ContainsFunc(s.Types(), func(t avro.Schema) bool { return endless(t, seen) })
	case *avro.RecordSchema:
		if seen[s.FullName()] {
			return false
		}
		seen[s.FullName()] = true
		return circle{done: map[string]bool{}}.in(s) ||
			slices.ContainsFunc(s.Fields(), func(f *avro.Field) bool { return endless(f.Type(), seen) })
	}
	return false
}

// plain replaces what encoding/json writes badly.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = plain(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plain(x)
		}
	case *big.Rat:
		return v.FloatString(decimals(v))
	case big.Rat:
		return v.FloatString(decimals(&v))
	case time.Duration:
		return v.String()
	case float64, float32:
		return number(v)
	}
	if r := reflect.ValueOf(v); r.IsValid() && r.Kind() == reflect.Array && r.Type().Elem().Kind() == reflect.Uint8 {
		out := make([]byte, r.Len())
		reflect.Copy(reflect.ValueOf(out), r)
		return out
	}
	return v
}

// decimals is how many digits behind the point a decimal number needs.
func decimals(r *big.Rat) int {
	const most = 38
	n, exact := r.FloatPrec()
	if !exact {
		return most
	}
	return min(n, most)
}
