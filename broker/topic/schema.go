package topic

import (
	"context"
	"errors"
	"hash/fnv"

	"spoolctl/broker/fault"
	"spoolctl/broker/schema"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// A schema belongs to a name without domain and partition, as in Pulsar: it may be there before
// its topic, all partitions share it, and so do a persistent and a non-persistent topic of one
// name. It goes when the topic or the partitioned topic is deleted, not with a single partition.

// NoVersion is what FindSchema gives when no version is the schema that was asked for, and AddSchema for plain bytes on a
// topic with a schema.
const NoVersion = -1

// schemaLocks let changes of one schema run one after another, without a lock for each name.
type schemaLocks [64]chan struct{}

func newSchemaLocks() *schemaLocks {
	var l schemaLocks
	for i := range l {
		l[i] = make(chan struct{}, 1)
	}
	return &l
}

func (l *schemaLocks) lock(ctx context.Context, subject string) (func(), error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(subject)) // a hash takes everything
	c := l[h.Sum32()%uint32(len(l))]
	select {
	case c <- struct{}{}:
		return func() { <-c }, nil
	case <-ctx.Done():
		return nil, fault.Wrap(fault.NotReady, ctx.Err(), "waiting for another change of the schema")
	}
}

// schemaFault turns an error of the rules into a refusal.
func schemaFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, schema.ErrInvalid) && !errors.Is(err, schema.ErrIncompatible):
		return fault.Wrap(fault.InvalidSchema, err, "the schema cannot be used")
	}
	return fault.Wrap(fault.IncompatibleSchema, err, "the schema was refused")
}

func definition(s *record.Schema) schema.Definition {
	return schema.Definition{Type: schema.Type(s.Type), Data: s.Data, Properties: s.Properties}
}

// schemaSet is the schema of one name as it is stored.
type schemaSet struct {
	all  []storage.SchemaVersion // every version, deletions included
	live []storage.SchemaVersion // those after the last deletion
}

func (r *Registry) schemas(name wire.TopicName) (schemaSet, error) {
	all, err := r.store.Schemas(storage.SchemaSubject(name))
	if err != nil {
		return schemaSet{}, storeFault(err, "reading the schema of %s", name)
	}
	set := schemaSet{all: all, live: all}
	for i, v := range all {
		if v.Deleted {
			set.live = all[i+1:]
		}
	}
	return set, nil
}

// find gives the version that is the same schema as d.
func (s schemaSet) find(d schema.Definition) (uint64, bool) {
	for i := range s.live {
		if schema.Same(definition(&s.live[i].Schema), d) {
			return s.live[i].Version, true
		}
	}
	return 0, false
}

// typed lists the versions that say anything about messages: plain bytes do not.
func (s schemaSet) typed() (out []schema.Definition) {
	for i := range s.live {
		if d := definition(&s.live[i].Schema); d.Type != schema.None {
			out = append(out, d)
		}
	}
	return out
}

func (s schemaSet) check(by schema.Strategy, d schema.Definition) error {
	versions := s.typed()
	if d.Type == schema.None {
		versions = nil // whoever takes bytes takes all
	}
	return schemaFault(schema.Check(by, versions, d))
}

// SchemaStrategy is the compatibility strategy for a topic; FULL when nobody says anything.
func (r *Registry) SchemaStrategy(name wire.TopicName) (schema.Strategy, error) {
	var s schema.Strategy
	l, err := r.layers(name)
	if err != nil {
		return s, err
	}
	if _, err := l.read(fieldSchemaStrategy, &s); err != nil {
		return s, err
	}
	if s.Known() {
		return s, nil
	}
	var old string
	if _, err := l.read(fieldSchemaAutoUpdate, &old); err != nil {
		return s, err
	}
	if s = schema.FromAutoUpdate(old); s.Known() {
		return s, nil
	}
	return schema.Full, nil
}

// SchemaVersions lists the versions after the last deletion, in order; none when the name has no schema.
func (r *Registry) SchemaVersions(name wire.TopicName) ([]storage.SchemaVersion, error) {
	set, err := r.schemas(name)
	return set.live, err
}

// Schema gives the latest version, or SchemaNotFound.
func (r *Registry) Schema(name wire.TopicName) (storage.SchemaVersion, error) {
	set, err := r.schemas(name)
	if err != nil {
		return storage.SchemaVersion{}, err
	}
	if n := len(set.live); n > 0 {
		return set.live[n-1], nil
	}
	return storage.SchemaVersion{}, fault.New(fault.SchemaNotFound, "Schema not found")
}

// SchemaAt gives one version, or SchemaNotFound, also for one from before a deletion: clients expect
// a deleted schema to be gone for the messages that refer to it too.
func (r *Registry) SchemaAt(name wire.TopicName, version uint64) (storage.SchemaVersion, error) {
	set, err := r.schemas(name)
	if err != nil {
		return storage.SchemaVersion{}, err
	}
	for _, v := range set.live {
		if v.Version == version {
			return v, nil
		}
	}
	return storage.SchemaVersion{}, fault.New(fault.SchemaNotFound, "Schema not found")
}

// FindSchema gives the version that is the same schema as s, NoVersion when there is none.
func (r *Registry) FindSchema(name wire.TopicName, s record.Schema) (int64, error) {
	set, err := r.schemas(name)
	if err != nil {
		return NoVersion, err
	}
	if v, ok := set.find(definition(&s)); ok {
		return int64(v), nil
	}
	return NoVersion, nil
}

// CheckSchema says whether PutSchema would take s; IncompatibleSchema or InvalidSchema when not.
func (r *Registry) CheckSchema(name wire.TopicName, s record.Schema) error {
	if err := schemaFault(schema.Validate(definition(&s))); err != nil {
		return err
	}
	by, err := r.SchemaStrategy(name)
	if err != nil {
		return err
	}
	set, err := r.schemas(name)
	if err != nil {
		return err
	}
	return set.check(by, definition(&s))
}

// PutSchema registers a schema and gives its version, that of the same schema when there is one.
// It refuses with IncompatibleSchema, InvalidSchema, NamespaceNotFound.
func (r *Registry) PutSchema(ctx context.Context, name wire.TopicName, s record.Schema) (uint64, error) {
	return r.putSchema(ctx, name, s, true)
}

func (r *Registry) putSchema(ctx context.Context, name wire.TopicName, s record.Schema, mayAdd bool) (uint64, error) {
	d := definition(&s)
	if err := schemaFault(schema.Validate(d)); err != nil {
		return 0, err
	}
	by, err := r.SchemaStrategy(name)
	if err != nil {
		return 0, err
	}
	subject := storage.SchemaSubject(name)
	unlock, err := r.schemaLocks.lock(ctx, subject)
	if err != nil {
		return 0, err
	}
	defer unlock()
	set, err := r.schemas(name)
	if err != nil {
		return 0, err
	}
	if v, ok := set.find(d); ok {
		return v, nil
	}
	if !mayAdd {
		return 0, fault.New(fault.IncompatibleSchema, "the schema is not registered, and namespace %s does not let clients add schemas", name.NamespaceName())
	}
	if err := set.check(by, d); err != nil {
		return 0, err
	}
	s.Timestamp, s.Deleted = r.opt.Now(), false
	v, err := r.store.PutSchema(ctx, subject, s)
	if err != nil {
		return 0, storeFault(err, "storing the schema of %s", name)
	}
	r.opt.Logger.Info("schema registered", "topic", name.Base().String(), "type", d.Type.String(), "version", v)
	return v, nil
}

// DeleteSchema deletes the schema by a version that says so and gives its number; with force
// nothing at all is kept, and numbers begin anew. SchemaNotFound when there is none.
func (r *Registry) DeleteSchema(ctx context.Context, name wire.TopicName, user string, force bool) (uint64, error) {
	subject := storage.SchemaSubject(name)
	unlock, err := r.schemaLocks.lock(ctx, subject)
	if err != nil {
		return 0, err
	}
	defer unlock()
	set, err := r.schemas(name)
	if err != nil {
		return 0, err
	}
	if len(set.live) == 0 && (!force || len(set.all) == 0) {
		return 0, fault.New(fault.SchemaNotFound, "Schema not found")
	}
	if force {
		return set.all[len(set.all)-1].Version, storeFault(r.store.DeleteSchemas(ctx, subject), "deleting the schema of %s", name)
	}
	v, err := r.store.PutSchema(ctx, subject, record.Schema{Deleted: true, User: user, Timestamp: r.opt.Now()})
	return v, storeFault(err, "deleting the schema of %s", name)
}

// dropSchema removes the schema of a topic that was deleted.
func (r *Registry) dropSchema(ctx context.Context, subject string) error {
	unlock, err := r.schemaLocks.lock(ctx, subject)
	if err != nil {
		return err
	}
	defer unlock()
	return storeFault(r.store.DeleteSchemas(ctx, subject), "deleting the schema of %s", subject)
}

// dropSchemas removes the schemas of a namespace, those of topics that never came to be included.
func (r *Registry) dropSchemas(ctx context.Context, ns wire.NamespaceName) error {
	subjects, err := r.store.ResourcePaths(storage.KindSchemas, ns.String()+"/")
	if err != nil {
		return storeFault(err, "listing the schemas of namespace %s", ns)
	}
	for _, s := range subjects {
		if err := r.dropSchema(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// AddSchema registers a producer's schema when the namespace lets clients do so, and gives its
// version. Plain bytes are registered only where there is no other schema; else their producer counts as
// one without a schema. It refuses with IncompatibleSchema and InvalidSchema.
func (r *Registry) AddSchema(ctx context.Context, name wire.TopicName, s record.Schema) (int64, error) {
	if schema.Type(s.Type) == schema.None {
		set, err := r.schemas(name)
		if err != nil {
			return NoVersion, err
		}
		if len(set.typed()) > 0 {
			return NoVersion, r.CheckUntyped(name)
		}
	}
	mayAdd := true
	if _, err := r.Effective(name, fieldSchemaAdd, &mayAdd); err != nil {
		return NoVersion, err
	}
	v, err := r.putSchema(ctx, name, s, mayAdd)
	return int64(v), err
}

// CheckUntyped says whether a producer without a schema may publish: not to a topic with one,
// where schemas are enforced.
func (r *Registry) CheckUntyped(name wire.TopicName) error {
	enforced := false
	if _, err := r.Effective(name, fieldSchemaEnforced, &enforced); err != nil || !enforced {
		return err
	}
	set, err := r.schemas(name)
	if err == nil && len(set.typed()) > 0 {
		err = fault.New(fault.IncompatibleSchema, "%s has a schema, and producers without one are refused here; give the producer a schema", name)
	}
	return err
}

// ConsumerSchema checks a consumer's schema against the topic's. The first schema of a topic
// that nobody has used is registered; where messages may be without one, a consumer with a schema
// is refused with IncompatibleSchema.
func (t *Topic) ConsumerSchema(ctx context.Context, s record.Schema) error {
	set, err := t.r.schemas(t.name)
	if err != nil {
		return err
	}
	d := definition(&s)
	typed, used := len(set.typed()) > 0, t.usedUntyped()
	switch {
	case d.Type == schema.None && (typed || used):
		return nil
	case !typed && used:
		return fault.New(fault.IncompatibleSchema, "Topic does not have a schema to check; consume it without one")
	case !typed:
		_, err := t.r.AddSchema(ctx, t.name, s)
		return err
	}
	if err := schemaFault(schema.Validate(d)); err != nil {
		return err
	}
	if _, ok := set.find(d); ok {
		return nil
	}
	by, err := t.r.SchemaStrategy(t.name)
	if err != nil {
		return err
	}
	return set.check(by.ForConsumer(), d)
}

// usedUntyped says whether the topic has producers or messages.
func (t *Topic) usedUntyped() bool {
	t.mu.Lock()
	producers := len(t.producers)
	t.mu.Unlock()
	return producers > 0 || (t.store != nil && t.store.Stats().Entries > 0)
}
