package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/inspect/decode"
	"spoolctl/storage"
	"spoolctl/wire"
)

// SchemaRow is one line of `inspect schemas`: one version of a topic's schema.
type SchemaRow struct {
	Topic      string            `json:"topic" col:"TOPIC,name"` // tenant/namespace/topic; partitions share one
	Version    uint64            `json:"version" col:"VERSION" fmt:"plain"`
	Type       string            `json:"type" col:"TYPE"`
	Name       string            `json:"name" col:"NAME,wide"` // as the client named it
	Size       int               `json:"size" col:"SIZE" fmt:"bytes"`
	Registered time.Time         `json:"registered" col:"REGISTERED" fmt:"time"`
	User       string            `json:"user" col:"USER,wide"`
	Deleted    bool              `json:"deleted" col:"DELETED"`
	Usable     bool              `json:"usable" col:"USABLE,wide"` // payloads can be decoded by it
	Note       *string           `json:"note" col:"NOTE,wide"`     // why not
	Properties map[string]string `json:"properties" col:"PROPERTIES,wide"`
	Definition any               `json:"definition" col:"DEFINITION,wide"`
}

// Schemas lists all versions of the schemas of the chosen topics, which need
// not exist: a schema may be registered before its topic is.
func (s *Session) Schemas(ctx context.Context, sel Selector) ([]SchemaRow, error) {
	return again(s, func() (out []SchemaRow, err error) {
		subjects, err := s.spool.ResourcePaths(storage.KindSchemas, "")
		if err != nil {
			return nil, s.degrade(ctx, err)
		}
		topics := make([]string, len(subjects))
		for i, subject := range subjects {
			topics[i] = wire.Persistent.String() + "://" + subject
		}
		chosen, err := sel.pick(topics)
		if err != nil {
			return nil, err
		}
		for _, at := range chosen {
			subject := subjects[at]
			versions, err := s.spool.Schemas(subject)
			if err != nil {
				if err = s.degrade(ctx, err); !isDamage(err) {
					return nil, err
				}
				s.problem(damage.Problem{What: fmt.Sprintf("the schemas of %s cannot be read: %s", subject, firstLine(err))})
				continue
			}
			for _, v := range versions {
				out = append(out, schemaRow(subject, v))
			}
		}
		return out, nil
	})
}

func schemaRow(subject string, v storage.SchemaVersion) SchemaRow {
	row := SchemaRow{
		Topic: subject, Version: v.Version, Type: decode.TypeName(v.Type), Name: v.Name, Size: len(v.Data),
		Registered: v.Timestamp, User: v.User, Deleted: v.Deleted, Properties: v.Properties,
	}
	switch {
	case json.Valid(v.Data):
		row.Definition = json.RawMessage(v.Data)
	case printable(v.Data):
		row.Definition = string(v.Data)
	default:
		row.Definition = v.Data
	}
	if v.Deleted {
		return row
	}
	if _, err := decode.New(v.Schema); err != nil {
		row.Note = new(firstLine(err))
		return row
	}
	row.Usable = true
	return row
}
