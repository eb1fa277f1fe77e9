package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/goccy/go-yaml"
)

// Resources are the documents of a spool that are not messages: what DumpResources writes and LoadResources reads. Keys
// are the names that people use: tenant, tenant/namespace, full topic names; of schemas tenant/namespace/topic.
type Resources struct {
	Tenants           map[string]json.RawMessage `json:"tenants,omitempty"`
	Namespaces        map[string]json.RawMessage `json:"namespaces,omitempty"`
	PartitionedTopics map[string]json.RawMessage `json:"partitionedTopics,omitempty"`
	TopicPolicies     map[string]json.RawMessage `json:"topicPolicies,omitempty"`
	Settings          map[string]json.RawMessage `json:"settings,omitempty"`
	Schemas           map[string][]SchemaDoc     `json:"schemas,omitempty"`
}

// SchemaDoc is one version of a schema.
type SchemaDoc struct {
	Version    uint64            `json:"version"`
	Type       int32             `json:"type"` // as the wire protocol numbers them
	Name       string            `json:"name,omitempty"`
	Data       []byte            `json:"data,omitempty"` // base64
	Properties map[string]string `json:"properties,omitempty"`
	Timestamp  time.Time         `json:"timestamp"`
	User       string            `json:"user,omitempty"`
	Deleted    bool              `json:"deleted,omitempty"`
}

// resourceKind is one part of Resources.
type resourceKind struct {
	kind storage.Kind
	docs *map[string]json.RawMessage
}

// kinds lists the parts in the order in which they can be made.
func (r *Resources) kinds() []resourceKind {
	return []resourceKind{
		{storage.KindTenant, &r.Tenants}, {storage.KindNamespace, &r.Namespaces}, {storage.KindPartitioned, &r.PartitionedTopics},
		{storage.KindTopicPolicies, &r.TopicPolicies}, {storage.KindSettings, &r.Settings},
	}
}

// DumpResources reads tenants, namespaces, policies, partitioned topics, settings and schemas of a stopped spool, as YAML.
func DumpResources(o Options) ([]byte, error) {
	o = o.withDefaults()
	if _, err := storage.ReadIdentity(vfs.Default, o.Dir); err != nil {
		return nil, err
	}
	var out []byte
	err := o.reading(func(s *storage.Spool) error {
		r, err := readResources(s)
		if err != nil {
			return err
		}
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		out, err = yaml.JSONToYAML(b)
		return err
	})
	return out, err
}

func readResources(s *storage.Spool) (*Resources, error) {
	r := &Resources{Schemas: map[string][]SchemaDoc{}}
	for _, k := range r.kinds() {
		*k.docs = map[string]json.RawMessage{}
		paths, err := s.ResourcePaths(k.kind, "")
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			var doc json.RawMessage
			if _, err := s.Resource(k.kind, path, &doc); err != nil {
				return nil, err
			}
			(*k.docs)[path] = doc
		}
	}
	subjects, err := s.ResourcePaths(storage.KindSchemas, "")
	if err != nil {
		return nil, err
	}
	for _, subject := range subjects {
		all, err := s.Schemas(subject)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			r.Schemas[subject] = append(r.Schemas[subject], SchemaDoc{v.Version, v.Type, v.Name, v.Data, v.Properties, v.Timestamp, v.User, v.Deleted})
		}
	}
	return r, nil
}

// ErrBadResources is wrapped by what is wrong with the YAML given to LoadResources.
var ErrBadResources = errors.New("not a dump of resources")

// ParseResources reads what DumpResources wrote. Unknown parts are an error.
func ParseResources(doc []byte) (*Resources, error) {
	b, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadResources, err)
	}
	var parts map[string]json.RawMessage
	r := &Resources{}
	if err := errors.Join(json.Unmarshal(b, &parts), json.Unmarshal(b, r)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadResources, err)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrBadResources)
	}
	for name := range parts {
		if !slices.Contains([]string{"tenants", "namespaces", "partitionedTopics", "topicPolicies", "settings", "schemas"}, name) {
			return nil, fmt.Errorf("%w: there is no part %q", ErrBadResources, name)
		}
	}
	return r, nil
}

// LoadResources creates and changes resources so that the spool has what r says. What r does not name stays. Versions of
// schemas are added behind those that are there, which must be the same as r's.
func LoadResources(ctx context.Context, o Options, r *Resources) (*Result, error) {
	o = o.withDefaults()
	var puts []func(context.Context, *storage.Store) error
	return o.run(ctx, work{
		verb: "resources-load",
		plan: func(_ context.Context, p *Plan) error {
			return o.reading(func(s *storage.Spool) (err error) {
				puts, err = planLoad(s, r, p)
				return err
			})
		},
		apply: o.onStore(func(ctx context.Context, s *storage.Store) error {
			for _, put := range puts {
				if err := put(ctx, s); err != nil {
					return err
				}
			}
			return nil
		}),
	})
}

func planLoad(s *storage.Spool, r *Resources, p *Plan) (puts []func(context.Context, *storage.Store) error, err error) {
	have, err := readResources(s)
	if err != nil {
		return nil, err
	}
	haveKinds := have.kinds()
	for i, k := range r.kinds() {
		for _, path := range slices.Sorted(maps.Keys(*k.docs)) {
			doc := (*k.docs)[path]
			old, there := (*haveKinds[i].docs)[path]
			switch {
			case there && sameJSON(old, doc):
				continue
			case there:
				p.add("change", k.kind.String(), path, "from %s to %s", old, doc)
			default:
				p.add("create", k.kind.String(), path, "%s", doc)
			}
			puts = append(puts, func(ctx context.Context, s *storage.Store) error { return s.PutResource(ctx, k.kind, path, doc) })
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(r.Schemas)) {
		more, err := planSchemas(subject, have.Schemas[subject], r.Schemas[subject], p)
		if err != nil {
			return nil, err
		}
		puts = append(puts, more...)
	}
	return puts, nil
}

func planSchemas(subject string, have, want []SchemaDoc, p *Plan) (puts []func(context.Context, *storage.Store) error, err error) {
	for i, v := range want {
		if i < len(have) {
			if !sameSchema(have[i], v) {
				return nil, fmt.Errorf("%w: version %d of the schema of %s is another one than the spool has", ErrBadResources, v.Version, subject)
			}
			continue
		}
		p.add("add", "schema", subject, "version %d: type %d, %d bytes", v.Version, v.Type, len(v.Data))
		puts = append(puts, func(ctx context.Context, s *storage.Store) error {
			_, err := s.PutSchema(ctx, subject, record.Schema{Type: v.Type, Name: v.Name, Data: v.Data, Properties: v.Properties,
				Timestamp: v.Timestamp, User: v.User, Deleted: v.Deleted})
			return err
		})
	}
	return puts, nil
}

func sameSchema(a, b SchemaDoc) bool {
	return a.Type == b.Type && string(a.Data) == string(b.Data) && a.Deleted == b.Deleted && maps.Equal(a.Properties, b.Properties)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
