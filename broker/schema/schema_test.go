package schema_test

import (
	"errors"
	"strings"
	"testing"

	"spoolctl/broker/schema"
)

const (
	one      = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}`
	required = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string"}]}`
	optional = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string","default":""}]}`
	wider    = `{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}`
)

func of(t schema.Type, data string) schema.Definition {
	return schema.Definition{Type: t, Data: []byte(data)}
}

func TestCheck(t *testing.T) {
	pair := func(text string) schema.Definition {
		data, err := schema.JoinKeyValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Definition{Type: schema.KeyValue, Data: data,
			Properties: map[string]string{"key.schema.type": "STRING", "value.schema.type": "AVRO"}}
	}
	for _, c := range []struct {
		name     string
		strategy schema.Strategy
		versions []schema.Definition
		next     schema.Definition
		ok       bool
	}{
		{"first", schema.Full, nil, of(schema.Avro, one), true},
		{"added with default", schema.Full, []schema.Definition{of(schema.Avro, one)}, of(schema.Avro, optional), true},
		{"added without default, full", schema.Full, []schema.Definition{of(schema.JSON, one)}, of(schema.JSON, required), false},
		{"added without default, backward", schema.Backward, []schema.Definition{of(schema.JSON, one)}, of(schema.JSON, required), false},
		{"added without default, forward", schema.Forward, []schema.Definition{of(schema.JSON, one)}, of(schema.JSON, required), true},
		{"removed without default, forward", schema.Forward, []schema.Definition{of(schema.Avro, required)}, of(schema.Avro, one), false},
		{"removed without default, backward", schema.Backward, []schema.Definition{of(schema.Avro, required)}, of(schema.Avro, one), true},
		{"promoted, backward", schema.Backward, []schema.Definition{of(schema.Avro, one)}, of(schema.Avro, wider), true},
		{"promoted, forward", schema.Forward, []schema.Definition{of(schema.Avro, one)}, of(schema.Avro, wider), false},
		{"only the last counts", schema.Forward, []schema.Definition{of(schema.Avro, required), of(schema.Avro, one)}, of(schema.Avro, one), true},
		{"all count", schema.ForwardTransitive, []schema.Definition{of(schema.Avro, required), of(schema.Avro, one)}, of(schema.Avro, one), false},
		{"other type", schema.Full, []schema.Definition{of(schema.String, "")}, of(schema.Avro, one), false},
		{"other type, anything goes", schema.AlwaysCompatible, []schema.Definition{of(schema.String, "")}, of(schema.Avro, one), true},
		{"nothing goes", schema.AlwaysIncompatible, []schema.Definition{of(schema.Avro, one)}, of(schema.Avro, optional), false},
		{"protobuf, same root", schema.Full, []schema.Definition{of(schema.ProtobufNative, `{"rootMessageTypeName":"a","x":1}`)}, of(schema.ProtobufNative, `{"rootMessageTypeName":"a"}`), true},
		{"protobuf, other root", schema.Full, []schema.Definition{of(schema.ProtobufNative, `{"rootMessageTypeName":"a"}`)}, of(schema.ProtobufNative, `{"rootMessageTypeName":"b"}`), false},
		{"pair, value grows", schema.Full, []schema.Definition{pair(`{"key":"","value":` + one + `}`)}, pair(`{"key":"","value":` + optional + `}`), true},
		{"pair, value breaks", schema.Full, []schema.Definition{pair(`{"key":"","value":` + one + `}`)}, pair(`{"key":"","value":` + required + `}`), false},
	} {
		err := schema.Check(c.strategy, c.versions, c.next)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, schema.ErrIncompatible)) {
			t.Errorf("%s: %v, want ok=%v", c.name, err, c.ok)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		d  schema.Definition
		ok bool
	}{
		{of(schema.Avro, one), true},
		{of(schema.Avro, "{"), false},
		{of(schema.Avro, `{"type":"record"}`), false},
		{of(schema.JSON, `{"type":"object"}`), true},
		{of(schema.JSON, "{"), false},
		{of(schema.String, ""), true},
		{of(schema.None, ""), true},
		{of(schema.AutoConsume, ""), false},
		{of(schema.AutoConsume, ""), false},
		{of(schema.KeyValue, "\x00\x00"), false},
		{of(schema.KeyValue, "\xff\xff\xff\xff"), false},
	} {
		if err := schema.Validate(c.d); (err == nil) != c.ok || (err != nil && !errors.Is(err, schema.ErrInvalid)) {
			t.Errorf("%s %q: %v, want ok=%v", c.d.Type, c.d.Data, err, c.ok)
		}
	}
}

// TestNesting checks that a definition that nests without end is refused, and the deepest one that is not is compared at once.
func TestNesting(t *testing.T) {
	nest := func(n int, inner string) schema.Definition {
		return of(schema.Avro, strings.Repeat(`{"type":"array","items":`, n)+inner+strings.Repeat("}", n))
	}
	if err := schema.Validate(nest(10_000, `"int"`)); !errors.Is(err, schema.ErrInvalid) {
		t.Errorf("10000 levels: %v", err)
	}
	if err := schema.Check(schema.Full, []schema.Definition{nest(128, `"int"`)}, nest(128, `"string"`)); !errors.Is(err, schema.ErrIncompatible) {
		t.Errorf("128 levels: %v", err)
	}
}

func TestSame(t *testing.T) {
	if !schema.Same(of(schema.JSON, `{"a":1,"b":2}`), of(schema.JSON, `{ "b":2, "a":1 }`)) {
		t.Error("spacing and order make a difference")
	}
	if schema.Same(of(schema.JSON, `{"a":9007199254740993}`), of(schema.JSON, `{"a":9007199254740992}`)) {
		t.Error("different numbers are the same")
	}
	if schema.Same(of(schema.JSON, one), of(schema.Avro, one)) || schema.Same(of(schema.Avro, one), of(schema.Avro, wider)) {
		t.Error("different schemas are the same")
	}
}

func TestKeyValueText(t *testing.T) {
	const text = `{"key":"","value":{"type":"int"}}`
	data, err := schema.JoinKeyValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := schema.KeyValueText(schema.Definition{Type: schema.KeyValue, Data: data})
	if err != nil || got != text {
		t.Errorf("%s, %v; want %s", got, err, text)
	}
}

// FuzzCheck feeds any definitions to validation and the checks: none may panic.
func FuzzCheck(f *testing.F) {
	f.Add(int32(schema.Avro), []byte(one), []byte(optional))
	f.Add(int32(schema.JSON), []byte(required), []byte(`{"type":["null","int"]}`))
	f.Add(int32(schema.KeyValue), []byte("\x00\x00\x00\x00\x00\x00\x00\x00"), []byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, typ int32, a, b []byte) {
		x, y := schema.Definition{Type: schema.Type(typ), Data: a}, schema.Definition{Type: schema.Type(typ), Data: b}
		if schema.Validate(x) != nil || schema.Validate(y) != nil {
			return
		}
		if err := schema.Check(schema.FullTransitive, []schema.Definition{x}, y); err != nil && !errors.Is(err, schema.ErrIncompatible) {
			t.Error(err)
		}
	})
}
