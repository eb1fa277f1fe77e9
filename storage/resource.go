package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
)

// Kind is the kind of a resource; the byte is part of the spool format.
type Kind byte

// The kinds, with the form of their paths.
const (
	KindTenant        Kind = 't' // tenant
	KindNamespace     Kind = 'n' // tenant/namespace
	KindPartitioned   Kind = 'p' // full name of the topic, without a partition
	KindTopicPolicies Kind = 'o' // full name of the topic
	KindSchemas       Kind = 's' // tenant/namespace/topic: see SchemaSubject
	KindSettings      Kind = 'c' // "broker": what was changed of the daemon's configuration at run time
	KindHistory       Kind = 'h' // revisions of other resources; see ResourceHistory
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case KindTenant:
		return "tenant"
	case KindNamespace:
		return "namespace"
	case KindPartitioned:
		return "partitioned topic"
	case KindTopicPolicies:
		return "topic policies"
	case KindSchemas:
		return "schemas"
	case KindSettings:
		return "settings"
	case KindHistory:
		return "history"
	}
	return fmt.Sprintf("kind %q", byte(k))
}

// Tenant is the document of a tenant.
type Tenant struct {
	AdminRoles      []string  `json:"adminRoles"`
	AllowedClusters []string  `json:"allowedClusters"`
	Created         time.Time `json:"created"`
}

// Namespace is the document of a namespace. Policies are kept by Pulsar's JSON field names.
type Namespace struct {
	Policies map[string]json.RawMessage `json:"policies"`
	Created  time.Time                  `json:"created"`
}

// Partitioned is the document of a partitioned topic; its partitions are topics of their own.
type Partitioned struct {
	Partitions int               `json:"partitions"`
	Properties map[string]string `json:"properties,omitempty"`
	Created    time.Time         `json:"created"`
}

// PutResource stores v, a document of the kind, under path; durable on return.
func (s *Store) PutResource(ctx context.Context, kind Kind, path string, v any) error {
	if err := checkName(path); err != nil {
		return fmt.Errorf("%w: %s %q", err, kind, path)
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, path, err)
	}
	err = s.control(ctx, func(b *batch) error {
		if kind.hasHistory() {
			if err := addRevision(s.db, b, kind, path, doc, s.opt.Now()); err != nil {
				return err
			}
		}
		return b.Set(key.ForResource(byte(kind), path), doc, nil)
	})
	if err != nil {
		return fmt.Errorf("store %s %s: %w", kind, path, err)
	}
	return nil
}

// DeleteResource removes a resource, if it is there; durable on return.
func (s *Store) DeleteResource(ctx context.Context, kind Kind, path string) error {
	err := s.control(ctx, func(b *batch) error {
		if kind.hasHistory() {
			if err := addRevision(s.db, b, kind, path, []byte("null"), s.opt.Now()); err != nil {
				return err
			}
		}
		return b.Delete(key.ForResource(byte(kind), path), nil)
	})
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", kind, path, err)
	}
	return nil
}

// Resource reads a resource into the document that `into` points to.
func (s *Store) Resource(kind Kind, path string, into any) (found bool, err error) {
	return readResource(s.db, kind, path, into)
}

// ResourcePaths returns the paths of one kind that start with prefix, sorted.
func (s *Store) ResourcePaths(kind Kind, prefix string) ([]string, error) {
	return resourcePaths(s.db, kind, prefix)
}

func readResource(r pebble.Reader, kind Kind, path string, into any) (found bool, err error) {
	k := key.ForResource(byte(kind), path)
	return get(r, k, func(v []byte) error {
		if err := json.Unmarshal(v, into); err != nil {
			return &CorruptError{Key: k, Cause: fmt.Errorf("%s %s: %w", kind, path, err)}
		}
		return nil
	})
}

func resourcePaths(r pebble.Reader, kind Kind, prefix string) (paths []string, err error) {
	lower, upper := key.ForResources(byte(kind), prefix)
	err = scan(r, lower, upper, func(k, _ []byte) error {
		_, path, err := key.ParseResource(k)
		paths = append(paths, path)
		return err
	})
	return paths, err
}
