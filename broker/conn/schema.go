package conn

import (
	"context"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"spoolctl/broker/auth"
	"spoolctl/broker/fault"
	"spoolctl/broker/schema"
	"spoolctl/broker/topic"
	"spoolctl/storage/record"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// schemaOf makes a record of a client's schema; false when the client has none to be kept.
// Consumers that take everything give a type that is not.
func (c *Conn) schemaOf(m *pb.Schema) (record.Schema, bool) {
	if m == nil || !schema.Type(m.GetType()).Registers() {
		return record.Schema{}, false
	}
	s := record.Schema{Type: int32(m.GetType()), Name: m.GetName(), Data: m.GetSchemaData(), User: c.identity.Role}
	if len(m.GetProperties()) > 0 {
		s.Properties = make(map[string]string, len(m.GetProperties()))
		for _, p := range m.GetProperties() {
			s.Properties[p.GetKey()] = p.GetValue()
		}
	}
	return s, true
}

// schemaVersion is a version as clients get it.
func schemaVersion(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

// producerSchema registers a producer's schema and gives its version; nil without a schema,
// where that is allowed.
func (c *Conn) producerSchema(ctx context.Context, name wire.TopicName, m *pb.Schema) ([]byte, error) {
	s, ok := c.schemaOf(m)
	if !ok {
		return nil, c.s.opt.Registry.CheckUntyped(name)
	}
	v, err := c.s.opt.Registry.AddSchema(ctx, name, s)
	if err != nil || v == topic.NoVersion {
		return nil, err
	}
	return schemaVersion(uint64(v)), nil
}

// getSchema works on GET_SCHEMA.
func (c *Conn) getSchema(m *pb.CommandGetSchema) {
	request := m.GetRequestId()
	c.task(func(ctx context.Context) {
		r := &pb.CommandGetSchemaResponse{RequestId: &request}
		if err := c.readSchema(ctx, m, r); err != nil {
			code, words := serverError(err)
			if fault.Is(err, fault.SchemaNotFound) {
				words = "Topic not found or no-schema"
			}
			r.ErrorCode, r.ErrorMessage = enum(code), text(words)
		}
		c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_GET_SCHEMA_RESPONSE.Enum(), GetSchemaResponse: r})
	})
}

func (c *Conn) readSchema(ctx context.Context, m *pb.CommandGetSchema, r *pb.CommandGetSchemaResponse) error {
	name, err := wire.ParseTopic(m.GetTopic())
	if err != nil {
		return err
	}
	if err := c.mayUse(ctx, name); err != nil {
		return err
	}
	reg := c.s.opt.Registry
	v, err := reg.Schema(name)
	if at := m.GetSchemaVersion(); len(at) == 8 {
		v, err = reg.SchemaAt(name, binary.BigEndian.Uint64(at))
	} else if len(at) > 0 {
		return fault.New(fault.SchemaNotFound, "a schema version has 8 bytes, not %d", len(at))
	}
	if err != nil {
		return err
	}
	r.SchemaVersion = schemaVersion(v.Version)
	r.Schema = &pb.Schema{Name: &v.Name, SchemaData: append([]byte{}, v.Data...), Type: pb.Schema_Type(v.Type).Enum()}
	for k, val := range v.Properties {
		r.Schema.Properties = append(r.Schema.Properties, &pb.KeyValue{Key: proto.String(k), Value: proto.String(val)})
	}
	return nil
}

// mayUse says whether the client may produce to a topic or consume from it.
func (c *Conn) mayUse(ctx context.Context, name wire.TopicName) error {
	a := c.s.opt.Authorizer
	if a.Authorize(ctx, c.identity, auth.Produce, name.String(), "") == nil {
		return nil
	}
	err := a.Authorize(ctx, c.identity, auth.Consume, name.String(), "")
	return fault.Wrap(fault.Unauthorized, err, "not allowed to use %s", name)
}

// getOrCreateSchema works on GET_OR_CREATE_SCHEMA.
func (c *Conn) getOrCreateSchema(m *pb.CommandGetOrCreateSchema) {
	request := m.GetRequestId()
	c.task(func(ctx context.Context) {
		r := &pb.CommandGetOrCreateSchemaResponse{RequestId: &request}
		v, err := c.createSchema(ctx, m)
		if err != nil {
			code, words := serverError(err)
			r.ErrorCode, r.ErrorMessage = enum(code), text(words)
		} else {
			r.SchemaVersion = v
		}
		c.out.command(&pb.BaseCommand{Type: pb.BaseCommand_GET_OR_CREATE_SCHEMA_RESPONSE.Enum(), GetOrCreateSchemaResponse: r})
	})
}

func (c *Conn) createSchema(ctx context.Context, m *pb.CommandGetOrCreateSchema) ([]byte, error) {
	name, err := wire.ParseTopic(m.GetTopic())
	if err != nil {
		return nil, err
	}
	if err := c.s.opt.Authorizer.Authorize(ctx, c.identity, auth.Produce, name.String(), ""); err != nil {
		return nil, fault.Wrap(fault.Unauthorized, err, "not allowed to produce to %s", name)
	}
	// The producer is there, and so is its topic; without a topic there is nothing to have a schema.
	if _, err := c.s.opt.Registry.Get(ctx, name); err != nil {
		return nil, err
	}
	v, err := c.producerSchema(ctx, name, m.GetSchema())
	if v == nil && err == nil {
		v = []byte{}
	}
	return v, err
}
