package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// SchemaVersion is one version of a subject's schema.
type SchemaVersion struct {
	Version uint64
	record.Schema
}

// schemaSubject is the document of KindSchemas: it gives the versions' keys their id. A subject is a name and not a topic,
// because a schema may be there before its topic, all partitions share one, and topics that are not stored have one too.
type schemaSubject struct {
	ID uint64 `json:"id"`
}

// SchemaSubject returns the subject that a topic's schema belongs to: tenant/namespace/topic, without domain and partition.
func SchemaSubject(name wire.TopicName) string {
	base := name.Base()
	return base.NamespaceName().String() + "/" + base.Local
}

// PutSchema adds a version after the last one of the subject and returns its number, 0 for the first; durable on return.
// The caller lets no two changes of one subject run at a time.
func (s *Store) PutSchema(ctx context.Context, subject string, sc record.Schema) (version uint64, err error) {
	if err := checkName(subject); err != nil {
		return 0, fmt.Errorf("%w: schema of %q", err, subject)
	}
	id, found, err := subjectID(s.db, subject)
	if err != nil {
		return 0, err
	}
	var doc []byte
	if found {
		if err := eachSchema(s.db, id, func(v SchemaVersion) error { version = v.Version + 1; return nil }); err != nil {
			return 0, err
		}
	} else {
		id = s.ids.newTopic()
		if doc, err = json.Marshal(schemaSubject{id}); err != nil {
			return 0, err
		}
	}
	err = s.control(ctx, func(b *batch) error {
		if !found {
			b.usesIDs = true
			if err := b.Set(key.ForResource(byte(KindSchemas), subject), doc, nil); err != nil {
				return err
			}
		}
		return b.Set(key.ForSchema(id, version), sc.Append(nil), nil)
	})
	if err != nil {
		return 0, fmt.Errorf("store schema of %s: %w", subject, err)
	}
	return version, nil
}

// DeleteSchemas removes all versions of a subject, if there are any; durable on return.
func (s *Store) DeleteSchemas(ctx context.Context, subject string) error {
	id, found, err := subjectID(s.db, subject)
	if err != nil || !found {
		return err
	}
	lower, upper := key.ForSchemas(id)
	err = s.control(ctx, func(b *batch) error {
		return firstError(
			b.DeleteRange(lower, upper, nil),
			b.Delete(key.ForResource(byte(KindSchemas), subject), nil))
	})
	if err != nil {
		return fmt.Errorf("delete schemas of %s: %w", subject, err)
	}
	return nil
}

// Schemas returns all versions of a subject's schema in order, deletions included; none when there is no such subject.
func (s *Store) Schemas(subject string) ([]SchemaVersion, error) { return schemas(s.db, subject) }

// Schemas is Store.Schemas on a stopped spool.
func (s *Spool) Schemas(subject string) ([]SchemaVersion, error) { return schemas(s.r, subject) }

// Schemas returns all versions of the topic's schema in order, deletions included. Partitions have one schema together.
func (t *TopicView) Schemas() ([]SchemaVersion, error) {
	name, err := wire.ParseTopic(t.Name)
	if err != nil {
		return nil, t.corrupt(key.ForTopic(t.ID), wire.Position{}, err)
	}
	return t.s.Schemas(SchemaSubject(name))
}

func schemas(r pebble.Reader, subject string) (all []SchemaVersion, err error) {
	id, found, err := subjectID(r, subject)
	if err != nil || !found {
		return nil, err
	}
	err = eachSchema(r, id, func(v SchemaVersion) error {
		all = append(all, v)
		return nil
	})
	return all, err
}

func subjectID(r pebble.Reader, subject string) (id uint64, found bool, err error) {
	var doc schemaSubject
	found, err = readResource(r, KindSchemas, subject, &doc)
	return doc.ID, found, err
}

func eachSchema(r pebble.Reader, id uint64, each func(SchemaVersion) error) error {
	lower, upper := key.ForSchemas(id)
	return scan(r, lower, upper, func(k, v []byte) error {
		_, version, err := key.ParseSchema(k)
		if err != nil {
			return &CorruptError{Key: slices.Clone(k), Cause: err}
		}
		sc, err := record.ParseSchema(v)
		if err != nil {
			return &CorruptError{Key: slices.Clone(k), Cause: err}
		}
		return each(SchemaVersion{version, sc})
	})
}
