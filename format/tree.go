package format

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Every value is printed from a tree, so that all formats agree on names,
// order, nulls and times. A tree is one of: nil, bool, string, json.Number,
// []any, *object.

// object is a JSON object that keeps the order of its keys.
type object struct {
	keys []string
	vals map[string]any
}

func newObject(size int) *object { return &object{vals: make(map[string]any, size)} }

func (o *object) set(key string, val any) {
	if _, ok := o.vals[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.vals[key] = val
}

// maxDepth bounds recursion, so that a cyclic value is an error, not a crash.
const maxDepth = 64

var (
	timeType  = reflect.TypeFor[time.Time]()
	rawType   = reflect.TypeFor[json.RawMessage]()
	jsonType  = reflect.TypeFor[json.Marshaler]()
	textType  = reflect.TypeFor[encoding.TextMarshaler]()
	bytesType = reflect.TypeFor[[]byte]()
)

// toTree differs from encoding/json where the output contract does: a nil
// slice is [], a nil map is {}, omitempty is ignored so that the shape of an
// answer never depends on its values, times are UTC, NaN is null.
func toTree(v any) (any, error) { return treeOf(reflect.ValueOf(v), 0) }

func treeOf(v reflect.Value, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("value nests deeper than %d levels", maxDepth)
	}
	if !v.IsValid() {
		return nil, nil
	}
	t := v.Type()
	switch {
	case t == timeType:
		return timeText(v.Interface().(time.Time)), nil
	case t == rawType:
		return parseTree(v.Bytes())
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		if v.Kind() == reflect.Interface || !t.Implements(jsonType) {
			return treeOf(v.Elem(), depth+1)
		}
	}
	if t.Implements(jsonType) {
		b, err := v.Interface().(json.Marshaler).MarshalJSON()
		if err != nil {
			return nil, err
		}
		return parseTree(b)
	}
	if t.Implements(textType) {
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		return string(b), err
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		if n, ok := v.Interface().(json.Number); ok {
			return n, nil
		}
		return v.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.Number(strconv.FormatInt(v.Int(), 10)), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return json.Number(strconv.FormatUint(v.Uint(), 10)), nil
	case reflect.Float32, reflect.Float64:
		return floatTree(v.Float()), nil
	case reflect.Slice, reflect.Array:
		if t == bytesType || (v.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8) {
			return base64.StdEncoding.EncodeToString(v.Bytes()), nil
		}
		list := make([]any, 0, v.Len())
		for i := range v.Len() {
			item, err := treeOf(v.Index(i), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	case reflect.Map:
		return mapTree(v, depth)
	case reflect.Struct:
		o := newObject(v.NumField())
		return o, structTree(o, v, depth)
	}
	return nil, fmt.Errorf("cannot print a value of type %s", t)
}

func structTree(o *object, v reflect.Value, depth int) error {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, inline, ok := fieldName(f)
		if !ok {
			continue
		}
		if inline {
			fv := v.Field(i)
			if fv.Kind() == reflect.Pointer {
				if fv.IsNil() {
					continue
				}
				fv = fv.Elem()
			}
			if err := structTree(o, fv, depth+1); err != nil {
				return err
			}
			continue
		}
		val, err := treeOf(v.Field(i), depth+1)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.set(name, val)
	}
	return nil
}

// fieldName gives the JSON name of a struct field, or inline for an embedded
// struct without a name of its own; ok is false for a field that JSON skips.
func fieldName(f reflect.StructField) (name string, inline, ok bool) {
	tag := f.Tag.Get("json")
	if tag == "-" || !f.IsExported() && !f.Anonymous {
		return "", false, false
	}
	name, _, _ = strings.Cut(tag, ",")
	if name == "" && f.Anonymous {
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct && t != timeType {
			return "", true, true
		}
	}
	if !f.IsExported() {
		return "", false, false
	}
	if name == "" {
		name = f.Name
	}
	return name, false, true
}

func mapTree(v reflect.Value, depth int) (any, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("cannot print a map with keys of type %s", v.Type().Key())
	}
	keys := make([]string, 0, v.Len())
	byName := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		keys = append(keys, it.Key().String())
		byName[it.Key().String()] = it.Value()
	}
	slices.Sort(keys)
	o := newObject(len(keys))
	for _, k := range keys {
		val, err := treeOf(byName[k], depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		o.set(k, val)
	}
	return o, nil
}

// parseTree reads JSON text and keeps the order of keys and the digits of
// numbers.
func parseTree(b []byte) (any, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return parseValue(d, 0)
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("JSON nests deeper than %d levels", maxDepth)
	}
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			item, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		o := newObject(0)
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			val, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.set(key.(string), val)
		}
		_, err = d.Token()
		return o, err
	}
	return tok, nil
}

func timeText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func floatTree(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return json.Number(strconv.FormatFloat(f, format, -1, 64))
}

// plain turns a tree into the types that gojq and text/template work on.
func plain(tree any) any {
	switch v := tree.(type) {
	case *object:
		m := make(map[string]any, len(v.keys))
		for k, val := range v.vals {
			m[k] = plain(val)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plain(item)
		}
		return list
	case json.Number:
		return plainNumber(v)
	}
	return tree
}
