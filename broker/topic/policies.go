package topic

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/storage/policy"
	"spoolctl/wire"
)

// The fields of policy documents that this package reads, by Pulsar's names of namespace policies. Topics have theirs
// under the same names; the table with all fields is package admin's.
const (
	fieldAutoTopics         = "autoTopicCreationOverride"
	fieldAutoSubscriptions  = "autoSubscriptionCreationOverride"
	fieldMaxTopics          = "max_topics_per_namespace"
	fieldMaxProducers       = "max_producers_per_topic"
	fieldMaxConsumers       = "max_consumers_per_topic"
	fieldMaxPerSubscription = "max_consumers_per_subscription"
	fieldMaxSubscriptions   = "max_subscriptions_per_topic"
	fieldMaxMessageSize     = "max_message_size"
	fieldUnackedConsumer    = "max_unacked_messages_per_consumer"
	fieldUnackedSub         = "max_unacked_messages_per_subscription"
	fieldRetention          = policy.Retention
	fieldTTL                = policy.TTL
	fieldSubExpiry          = "subscription_expiration_time_minutes"
	fieldDeduplication      = "deduplicationEnabled"
	fieldQuotas             = "backlog_quota_map"
	fieldInactive           = "inactive_topic_policies"
	fieldCompaction         = "compaction_threshold"
	fieldOffloadAfter       = "offload_threshold"
	fieldOffloadLag         = "offload_deletion_lag_ms"
	fieldOffload            = "offload_policies"
	fieldEncryption         = "encryption_required"
	fieldSync               = "sync" // ours
	fieldSubscriptionTypes  = "subscription_types_enabled"
	fieldSchemaStrategy     = "schema_compatibility_strategy"
	fieldSchemaAutoUpdate   = "schema_auto_update_compatibility_strategy"
	fieldSchemaAdd          = "is_allow_auto_update_schema"
	fieldSchemaEnforced     = "schema_validation_enforced"
)

// The values of the policy sync.
const (
	syncBatch = "batch" // entries are fsynced before their receipts are sent
	syncNone  = "none"  // a power loss may take the last moments, except of messages that ask for more
)

// The JSON of policies that are objects.
type (
	autoTopics struct {
		Allow      bool   `json:"allowAutoTopicCreation"`
		Type       string `json:"topicType"`
		Partitions int    `json:"defaultNumPartitions"`
	}
	autoSubscriptions struct {
		Allow bool `json:"allowAutoSubscriptionCreation"`
	}
	// What offload policies say weighs more than the two fields of namespaces, whoever says it.
	offloadRule struct {
		After *int64 `json:"managedLedgerOffloadThresholdInBytes"`
		Lag   *int64 `json:"managedLedgerOffloadDeletionLagInMillis"`
	}
	inactiveRule struct {
		Mode    string  `json:"inactiveTopicDeleteMode"`
		Seconds float64 `json:"maxInactiveDurationSeconds"`
		Delete  bool    `json:"deleteWhileInactive"`
	}
)

// layers are the documents that a topic's policies come from: the broker's, its namespace's, its own.
type layers struct{ policy.Documents }

// read is Documents.Read with the broker's errors.
func (l layers) read(field string, into any) (bool, error) {
	found, err := l.Read(field, into)
	return found, unreadable(err)
}

// unreadable is an error of the documents for a client.
func unreadable(err error) error {
	return fault.Wrap(fault.Persistence, err, "a policy cannot be used")
}

// layers gives the documents for a topic, which need not exist; its namespace must.
func (r *Registry) layers(name wire.TopicName) (layers, error) {
	n, err := r.Namespace(name.NamespaceName())
	if err != nil {
		return layers{}, err
	}
	own, err := r.TopicPolicies(name)
	if err != nil {
		return layers{}, err
	}
	return layers{policy.Documents{*r.defaults.Load(), n.Policies, own}}, nil
}

// Effective puts into into what holds for a topic: its own policy, else its namespace's, else the broker's. It reports
// whether there is any.
func (r *Registry) Effective(name wire.TopicName, field string, into any) (bool, error) {
	l, err := r.layers(name)
	if err != nil {
		return false, err
	}
	return l.read(field, into)
}

// Policies is what holds for one topic.
type Policies struct {
	TTL                time.Duration // of messages; 0 = they do not expire
	SubscriptionExpiry time.Duration // 0 = they do not expire
	Retention          storage.TrimPolicy
	Deduplicate        bool
	Sync               storage.SyncMode
	Encryption         bool // producers must encrypt

	MaxProducers, MaxConsumers, MaxPerSubscription, MaxSubscriptions int // 0 = no limit
	MaxMessageSize                                                   int // bytes of an entry; 0 = the connection's limit
	UnackedPerConsumer, UnackedPerSubscription                       int // 0 = no limit

	CompactAfter int64 // bytes published since the last compaction; 0 = it is not compacted by itself
	Offload      storage.OffloadPolicy

	quotas   []quota
	inactive inactiveRule
	types    []string // of subscriptions that are allowed; none = all
}

// resolve makes a topic's policies from its documents.
func (l layers) resolve() (*Policies, error) {
	p := &Policies{}
	var (
		expiry  float64
		sync    string
		quotas  map[string]backlogQuota
		lag     int64
		offload offloadRule
	)
	for _, f := range []struct {
		field string
		into  any
	}{
		{fieldSubExpiry, &expiry}, {fieldDeduplication, &p.Deduplicate}, {fieldSync, &sync},
		{fieldEncryption, &p.Encryption}, {fieldMaxProducers, &p.MaxProducers}, {fieldMaxConsumers, &p.MaxConsumers},
		{fieldMaxPerSubscription, &p.MaxPerSubscription}, {fieldMaxSubscriptions, &p.MaxSubscriptions}, {fieldMaxMessageSize, &p.MaxMessageSize},
		{fieldUnackedConsumer, &p.UnackedPerConsumer}, {fieldUnackedSub, &p.UnackedPerSubscription},
		{fieldCompaction, &p.CompactAfter}, {fieldOffloadAfter, &p.Offload.Threshold}, {fieldOffloadLag, &lag}, {fieldOffload, &offload},
		{fieldQuotas, &quotas}, {fieldInactive, &p.inactive}, {fieldSubscriptionTypes, &p.types},
	} {
		if _, err := l.read(f.field, f.into); err != nil {
			return nil, err
		}
	}
	stay, err := l.Stay()
	if err != nil {
		return nil, unreadable(err)
	}
	p.TTL, p.Retention, p.SubscriptionExpiry = stay.TTL, stay.Trim, policy.Span(expiry, time.Minute)
	if sync == syncNone {
		p.Sync = storage.SyncNone
	}
	if offload.After != nil {
		p.Offload.Threshold = *offload.After
	}
	if offload.Lag != nil {
		lag = *offload.Lag
	}
	p.Offload.DeletionLag = policy.Span(float64(lag), time.Millisecond)
	p.quotas = quotasOf(quotas)
	return p, nil
}

// Policies are those in effect.
func (t *Topic) Policies() *Policies { return t.policies.Load() }

// refresh makes the topic follow its policies as they are stored now.
func (t *Topic) refresh(ctx context.Context) error {
	select {
	case t.resolving <- struct{}{}:
		defer func() { <-t.resolving }()
	case <-ctx.Done():
		return fault.Wrap(fault.NotReady, ctx.Err(), "waiting for another change of the policies of %s", t.name)
	}
	l, err := t.r.layers(t.name)
	if err != nil {
		return err
	}
	p, err := l.resolve()
	if err != nil {
		return fmt.Errorf("topic %s: %w", t.name, err)
	}
	p = t.r.sharedPolicies(t.name.NamespaceName(), p)
	if t.store == nil {
		t.policies.Store(p)
		return nil
	}
	t.store.SetTrimPolicy(p.Retention)
	t.store.SetSync(p.Sync)
	t.store.SetOffloadPolicy(p.Offload)
	return t.follow(ctx, p)
}

// sharedPolicies gives the policies that another topic of the namespace has, where they are the same: most topics have none
// of their own, and what all share is in the processor's cache.
func (r *Registry) sharedPolicies(ns wire.NamespaceName, p *Policies) *Policies {
	if last, ok := r.shared.Load(ns); ok && reflect.DeepEqual(last, p) {
		return last.(*Policies)
	}
	r.shared.Store(ns, p)
	return p
}

// refresh makes the loaded topics that are chosen follow their policies. What one topic refuses does not keep the others.
func (r *Registry) refresh(ctx context.Context, chosen func(wire.TopicName) bool) {
	r.changes.Add(1) // a topic being loaded looks again
	for _, t := range r.Loaded() {
		if !chosen(t.name) {
			continue
		}
		if err := t.refresh(ctx); err != nil {
			r.opt.Logger.Warn("a topic does not follow a change of its policies yet; unload it to try again", "topic", t.name.String(), "error", err)
		}
	}
}

// SetDefaults changes the broker's policies; loaded topics follow.
func (r *Registry) SetDefaults(ctx context.Context, d Defaults) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	doc := d.document()
	r.defaults.Store(&doc)
	r.refresh(ctx, func(wire.TopicName) bool { return true })
	return nil
}

// TopicPolicies gives what a topic says itself, by field; nil when it says nothing.
func (r *Registry) TopicPolicies(name wire.TopicName) (map[string]json.RawMessage, error) {
	var doc map[string]json.RawMessage
	_, err := r.store.Resource(storage.KindTopicPolicies, policy.Path(name), &doc)
	return doc, storeFault(err, "reading the policies of %s", name)
}

// UpdateTopicPolicies changes a topic's own policies; change may refuse. TopicNotFound when there is no such topic.
func (r *Registry) UpdateTopicPolicies(ctx context.Context, name wire.TopicName, change func(map[string]json.RawMessage) error) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, partitioned, err := r.partitions(name); err != nil {
		return err
	} else if !partitioned && !r.Exists(name) {
		return notFound(name)
	}
	doc, err := r.TopicPolicies(name)
	if err != nil {
		return err
	}
	doc = maps.Clone(doc)
	if doc == nil {
		doc = map[string]json.RawMessage{}
	}
	if err := change(doc); err != nil {
		return err
	}
	if err := r.store.PutResource(ctx, storage.KindTopicPolicies, policy.Path(name), doc); err != nil {
		return storeFault(err, "storing the policies of %s", name)
	}
	r.refresh(ctx, func(n wire.TopicName) bool { return n.Base() == name.Base() })
	return nil
}

// dropTopicPolicies forgets the policies of a topic that was deleted.
func (r *Registry) dropTopicPolicies(ctx context.Context, name wire.TopicName) error {
	if doc, err := r.TopicPolicies(name); err != nil || doc == nil {
		return err
	}
	return storeFault(r.store.DeleteResource(ctx, storage.KindTopicPolicies, policy.Path(name)), "deleting the policies of %s", name)
}
