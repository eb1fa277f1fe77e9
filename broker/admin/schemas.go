package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"spoolctl/broker/fault"
	"spoolctl/broker/schema"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

func (s *Server) schemaRoutes() []route {
	const one = "/admin/v2/schemas/{tenant}/{namespace}/{topic}"
	on := func(pattern string, do func(ctx context.Context, c *call, name wire.TopicName) (any, error)) route {
		return topicRoute(wire.Persistent.String())(pattern, func(ctx context.Context, c *call, name wire.TopicName) (any, error) {
			result, err := do(ctx, c, name)
			return result, schemaRefusal(err)
		})
	}
	return []route{
		on("GET "+one+"/schema", s.getSchema),
		on("GET "+one+"/schema/{version}", s.getSchemaVersion),
		on("GET "+one+"/schemas", s.getSchemas),
		on("POST "+one+"/schema", s.postSchema),
		on("DELETE "+one+"/schema", s.deleteSchema),
		on("POST "+one+"/compatibility", s.postCompatibility),
		on("POST "+one+"/version", s.postVersion),
	}
}

// schemaRefusal gives the refusals that only schemas have their status.
func schemaRefusal(err error) error {
	switch fault.KindOf(err) {
	case fault.SchemaNotFound:
		return &statusError{http.StatusNotFound, err.Error()}
	case fault.IncompatibleSchema:
		return &statusError{http.StatusConflict, err.Error()}
	case fault.InvalidSchema:
		return &statusError{http.StatusUnprocessableEntity, err.Error()}
	}
	return err
}

// accepted is an answer with the status that schema POSTs have.
func accepted(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusAccepted, header: http.Header{"Content-Type": {"application/json"}}, body: b}, nil
}

// schemaInfo is Pulsar's JSON for one version.
type schemaInfo struct {
	Version    uint64            `json:"version"`
	Type       string            `json:"type"`
	Timestamp  int64             `json:"timestamp"` // ms since 1970
	Data       string            `json:"data"`
	Properties map[string]string `json:"properties"`
}

func infoOf(v storage.SchemaVersion) (schemaInfo, error) {
	t := schema.Type(v.Type)
	info := schemaInfo{Version: v.Version, Type: t.String(), Timestamp: v.Timestamp.UnixMilli(), Data: string(v.Data), Properties: propertiesOf(v.Properties)}
	if t == schema.KeyValue {
		text, err := schema.KeyValueText(schema.Definition{Type: t, Data: v.Data, Properties: v.Properties})
		if err != nil {
			return info, fault.Wrap(fault.Persistence, err, "version %d of the schema cannot be read", v.Version)
		}
		info.Data = text
	}
	return info, nil
}

func (s *Server) getSchema(_ context.Context, _ *call, name wire.TopicName) (any, error) {
	v, err := s.reg.Schema(name)
	if err != nil {
		return nil, err
	}
	return infoOf(v)
}

func (s *Server) getSchemaVersion(_ context.Context, c *call, name wire.TopicName) (any, error) {
	n, err := c.number("version")
	if err != nil {
		return nil, err
	}
	v, err := s.reg.SchemaAt(name, uint64(n))
	if err != nil {
		return nil, err
	}
	return infoOf(v)
}

func (s *Server) getSchemas(_ context.Context, _ *call, name wire.TopicName) (any, error) {
	versions, err := s.reg.SchemaVersions(name)
	if err != nil {
		return nil, err
	}
	infos := make([]schemaInfo, len(versions))
	for i, v := range versions {
		if infos[i], err = infoOf(v); err != nil {
			return nil, err
		}
	}
	return map[string]any{"getSchemaResponses": infos}, nil
}

// schemaBody reads Pulsar's PostSchemaPayload.
func schemaBody(c *call, name wire.TopicName) (record.Schema, error) {
	var p struct {
		Type       string            `json:"type"`
		Schema     string            `json:"schema"`
		Properties map[string]string `json:"properties"`
	}
	if err := c.body(&p); err != nil {
		return record.Schema{}, err
	}
	t, ok := schema.ParseType(p.Type)
	if !ok {
		return record.Schema{}, fault.New(fault.InvalidSchema, "a topic cannot have a schema of type %q; use one such as STRING, JSON or AVRO", p.Type)
	}
	sc := record.Schema{Type: int32(t), Name: name.Base().Local, Data: []byte(p.Schema), Properties: p.Properties}
	if t == schema.KeyValue {
		data, err := schema.JoinKeyValue(sc.Data)
		if err != nil {
			return sc, fault.Wrap(fault.InvalidSchema, err, "the schema cannot be used")
		}
		sc.Data = data
	}
	return sc, nil
}

func (s *Server) postSchema(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	sc, err := schemaBody(c, name)
	if err != nil {
		return nil, err
	}
	v, err := s.reg.PutSchema(ctx, name, sc)
	if err != nil {
		return nil, err
	}
	return accepted(map[string]any{"version": map[string]uint64{"version": v}})
}

func (s *Server) deleteSchema(ctx context.Context, c *call, name wire.TopicName) (any, error) {
	v, err := s.reg.DeleteSchema(ctx, name, "", c.flag("force"))
	if err != nil {
		return nil, err
	}
	return map[string]uint64{"version": v}, nil
}

func (s *Server) postCompatibility(_ context.Context, c *call, name wire.TopicName) (any, error) {
	sc, err := schemaBody(c, name)
	if err != nil {
		return nil, err
	}
	by, err := s.reg.SchemaStrategy(name)
	if err != nil {
		return nil, err
	}
	err = s.reg.CheckSchema(name, sc)
	if err != nil && !fault.Is(err, fault.IncompatibleSchema) {
		return nil, err
	}
	return accepted(map[string]any{"compatibility": err == nil, "schemaCompatibilityStrategy": by})
}

func (s *Server) postVersion(_ context.Context, c *call, name wire.TopicName) (any, error) {
	sc, err := schemaBody(c, name)
	if err != nil {
		return nil, err
	}
	v, err := s.reg.FindSchema(name, sc)
	if err != nil {
		return nil, err
	}
	return accepted(map[string]int64{"version": v})
}
