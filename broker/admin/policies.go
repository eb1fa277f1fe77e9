package admin

import (
	"encoding/json"
	"math"
	"slices"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/wire/pb"
)

// policy is one policy of namespaces and topics. What is stored under its field acts where package topic reads it.
type policy struct {
	namespace string // last part of the path of a namespace's; empty: namespaces do not have it
	topic     string // the same of a topic's
	field     string // Pulsar's name in a namespace's policies; topics use the same
	check     check  // refuses values, and gives the form to be stored
	unset     string // what a namespace that does not set it answers; empty: 204
	fallback  string // what holds for a topic when nobody says anything, the broker included
	cluster   bool   // Pulsar stores it by cluster; there is one
	own       bool   // not Pulsar's: its path is below /spool/v1
	inert     bool   // stored and given back; nothing acts on it in this version
}

// check reads a value; path is the policy's, for the refusal.
type check func(path string, raw json.RawMessage) (json.RawMessage, error)

// policies is the one table of them. Not in it: backlog quotas (quotaRoutes), permissions (namespaces.go)
// and properties (properties.go).
func policies() []policy {
	const many, ever = 0, -1
	return []policy{
		{namespace: "autoTopicCreation", field: "autoTopicCreationOverride", check: checkAutoTopics},
		{namespace: "autoSubscriptionCreation", topic: "autoSubscriptionCreation", field: "autoSubscriptionCreationOverride", check: object},
		{namespace: "retention", topic: "retention", field: "retention_policies", check: checkRetention},
		{namespace: "messageTTL", topic: "messageTTL", field: "message_ttl_in_seconds", check: whole(0, "")},
		{namespace: "subscriptionExpirationTime", field: "subscription_expiration_time_minutes", check: whole(0, "Invalid value for subscription expiration time")},
		{namespace: "deduplication", topic: "deduplicationEnabled", field: "deduplicationEnabled", check: yesOrNo},
		{namespace: "inactiveTopicPolicies", topic: "inactiveTopicPolicies", field: "inactive_topic_policies", check: checkInactive},
		{namespace: "maxTopicsPerNamespace", field: "max_topics_per_namespace", check: whole(many, "maxTopicsPerNamespace must be 0 or more")},
		{namespace: "maxProducersPerTopic", topic: "maxProducers", field: "max_producers_per_topic", check: whole(many, "")},
		{namespace: "maxConsumersPerTopic", topic: "maxConsumers", field: "max_consumers_per_topic", check: whole(many, "")},
		{namespace: "maxConsumersPerSubscription", topic: "maxConsumersPerSubscription", field: "max_consumers_per_subscription", check: whole(many, "")},
		{namespace: "maxSubscriptionsPerTopic", topic: "maxSubscriptionsPerTopic", field: "max_subscriptions_per_topic", check: whole(many, "")},
		// These two act from when a subscription without consumers gets its next one.
		{namespace: "maxUnackedMessagesPerConsumer", topic: "maxUnackedMessagesOnConsumer", field: "max_unacked_messages_per_consumer", check: whole(many, "")},
		{namespace: "maxUnackedMessagesPerSubscription", topic: "maxUnackedMessagesOnSubscription", field: "max_unacked_messages_per_subscription", check: whole(many, "")},
		{topic: "maxMessageSize", field: "max_message_size", check: whole(many, "")},
		{namespace: "subscriptionTypesEnabled", topic: "subscriptionTypesEnabled", field: "subscription_types_enabled", check: checkTypes, unset: "[]"},
		{namespace: "encryptionRequired", field: "encryption_required", check: yesOrNo, unset: "false"},
		{namespace: "sync", topic: "sync", field: "sync", check: oneOf("batch", "none"), own: true},

		{namespace: "schemaCompatibilityStrategy", topic: "schemaCompatibilityStrategy", field: "schema_compatibility_strategy", check: checkStrategy, unset: `"UNDEFINED"`, fallback: `"FULL"`},
		{namespace: "schemaAutoUpdateCompatibilityStrategy", field: "schema_auto_update_compatibility_strategy", unset: `"Full"`,
			check: oneOf("AutoUpdateDisabled", "Backward", "Forward", "Full", "AlwaysCompatible", "BackwardTransitive", "ForwardTransitive", "FullTransitive")},
		{namespace: "schemaValidationEnforced", topic: "schemaValidationEnforced", field: "schema_validation_enforced", check: yesOrNo, unset: "false"},
		{namespace: "isAllowAutoUpdateSchema", field: "is_allow_auto_update_schema", check: yesOrNo, unset: "true"},

		{namespace: "publishRate", topic: "publishRate", field: "publishMaxMessageRate", check: object, cluster: true, inert: true},
		{namespace: "dispatchRate", topic: "dispatchRate", field: "topicDispatchRate", check: object, cluster: true, inert: true},
		{namespace: "subscriptionDispatchRate", topic: "subscriptionDispatchRate", field: "subscriptionDispatchRate", check: object, cluster: true, inert: true},
		{namespace: "replicatorDispatchRate", topic: "replicatorDispatchRate", field: "replicatorDispatchRate", check: object, cluster: true, inert: true},
		{namespace: "subscribeRate", topic: "subscribeRate", field: "clusterSubscribeRate", check: object, cluster: true, inert: true},
		{namespace: "delayedDelivery", topic: "delayedDelivery", field: "delayed_delivery_policies", check: object, inert: true},
		{namespace: "persistence", topic: "persistence", field: "persistence", check: checkPersistence, inert: true},
		{namespace: "persistence/bookieAffinity", field: "bookieAffinityGroup", check: object, inert: true},
		{namespace: "deduplicationSnapshotInterval", topic: "deduplicationSnapshotInterval", field: "deduplicationSnapshotIntervalSeconds", check: whole(0, ""), inert: true},
		{namespace: "compactionThreshold", topic: "compactionThreshold", field: "compaction_threshold", check: whole(0, "")},
		{namespace: "offloadThreshold", field: "offload_threshold", check: whole(ever, "")},
		{namespace: "offloadThresholdInSeconds", field: "offload_threshold_in_seconds", check: whole(ever, "Invalid value for offloadThresholdInSecond"), inert: true},
		{namespace: "offloadDeletionLagMs", field: "offload_deletion_lag_ms", check: whole(0, "")},
		{namespace: "offloadPolicies", topic: "offloadPolicies", field: "offload_policies", check: checkOffload},
		{namespace: "replication", topic: "replication", field: "replication_clusters", check: texts, inert: true},
		{namespace: "subscriptionAuthMode", field: "subscription_auth_mode", check: oneOf("None", "Prefix"), unset: `"None"`, inert: true},
		{namespace: "antiAffinity", field: "antiAffinityGroup", check: word, inert: true},
		{namespace: "resourcegroup", field: "resource_group_name", check: word, inert: true},
	}
}

func badBody(err error) error {
	return fault.New(fault.Invalid, "the body is not what this call takes: %v", err)
}

// as reads a value of a type and keeps it as it was written.
func as[T any](raw json.RawMessage) (v T, err error) {
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, badBody(err)
	}
	return v, nil
}

func kept[T any](_ string, raw json.RawMessage) (json.RawMessage, error) {
	_, err := as[T](raw)
	return raw, err
}

func object(path string, raw json.RawMessage) (json.RawMessage, error) {
	return kept[map[string]json.RawMessage](path, raw)
}
func texts(path string, raw json.RawMessage) (json.RawMessage, error) {
	return kept[[]string](path, raw)
}
func word(path string, raw json.RawMessage) (json.RawMessage, error) { return kept[string](path, raw) }

// bare takes the quotes from a number or a truth value that came as a text.
func bare(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(text)
	}
	return raw
}

// whole takes whole numbers from least on.
func whole(least int64, refusal string) check {
	return func(path string, raw json.RawMessage) (json.RawMessage, error) {
		raw = bare(raw)
		n, err := as[int64](raw)
		if err != nil {
			return nil, err
		}
		if n < least || n > math.MaxInt32<<20 {
			if refusal == "" {
				return nil, fault.New(fault.Precondition, "%s must be %d or more", path, least)
			}
			return nil, fault.New(fault.Precondition, "%s", refusal)
		}
		return raw, nil
	}
}

func yesOrNo(path string, raw json.RawMessage) (json.RawMessage, error) {
	return kept[bool](path, bare(raw))
}

func oneOf(words ...string) check {
	return func(path string, raw json.RawMessage) (json.RawMessage, error) {
		w, err := as[string](raw)
		if err == nil && !slices.Contains(words, w) {
			err = fault.New(fault.Invalid, "%s must be one of %q, not %q", path, words, w)
		}
		return raw, err
	}
}

// checkStrategy takes the strategies; "UNDEFINED" is the same as none.
func checkStrategy(path string, raw json.RawMessage) (json.RawMessage, error) {
	raw, err := oneOf("UNDEFINED", "ALWAYS_INCOMPATIBLE", "ALWAYS_COMPATIBLE", "BACKWARD", "FORWARD", "FULL",
		"BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE")(path, raw)
	if string(raw) == `"UNDEFINED"` {
		return nil, err
	}
	return raw, err
}

func checkTypes(path string, raw json.RawMessage) (json.RawMessage, error) {
	types, err := as[[]string](raw)
	for _, t := range types {
		if _, known := pb.CommandSubscribe_SubType_value[t]; !known {
			return nil, fault.New(fault.Invalid, "%s has no type %q; use Exclusive, Shared, Failover, Key_Shared", path, t)
		}
	}
	return raw, err
}

func checkAutoTopics(_ string, raw json.RawMessage) (json.RawMessage, error) {
	o, err := as[struct {
		Allow      bool   `json:"allowAutoTopicCreation"`
		Type       string `json:"topicType"`
		Partitions *int   `json:"defaultNumPartitions"`
	}](raw)
	if err != nil {
		return nil, err
	}
	refuse := func(detail string) (json.RawMessage, error) {
		return nil, &statusError{406, "Invalid configuration for autoTopicCreationOverride. the detail is " + detail}
	}
	switch {
	case !o.Allow:
	case o.Type == "partitioned" && o.Partitions == nil:
		return refuse("[defaultNumPartitions] cannot be null when the type is partitioned.")
	case o.Type == "partitioned" && *o.Partitions < 1:
		return refuse("[defaultNumPartitions] cannot be less than 1 for partition type.")
	case o.Type == "non-partitioned" && o.Partitions != nil:
		return refuse("[defaultNumPartitions] is not allowed to be set when the type is non-partition.")
	case o.Type != "partitioned" && o.Type != "non-partitioned":
		return refuse("[topicType] must be partitioned or non-partitioned")
	}
	return raw, nil
}

func checkRetention(_ string, raw json.RawMessage) (json.RawMessage, error) {
	r, err := as[struct {
		Minutes *int64 `json:"retentionTimeInMinutes"`
		MB      *int64 `json:"retentionSizeInMB"`
	}](raw)
	if err == nil && (r.Minutes == nil || r.MB == nil || *r.Minutes < -1 || *r.MB < -1 || *r.MB > math.MaxInt64>>20 || (*r.Minutes == 0) != (*r.MB == 0)) {
		err = fault.New(fault.Precondition, "Invalid retention policy: give both time and size, -1 for no limit, or 0 for both")
	}
	return raw, err
}

func checkInactive(_ string, raw json.RawMessage) (json.RawMessage, error) {
	r, err := as[struct {
		Mode    *string `json:"inactiveTopicDeleteMode"`
		Seconds int64   `json:"maxInactiveDurationSeconds"`
		Delete  bool    `json:"deleteWhileInactive"`
	}](raw)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Mode != nil && *r.Mode != topic.InactiveNoSubscriptions && *r.Mode != topic.InactiveCaughtUp:
		return nil, fault.New(fault.Invalid, "inactiveTopicDeleteMode must be %s or %s, not %q", topic.InactiveNoSubscriptions, topic.InactiveCaughtUp, *r.Mode)
	case r.Delete && r.Seconds < 1:
		return nil, fault.New(fault.Precondition, "maxInactiveDurationSeconds must be 1 or more")
	}
	return raw, nil
}

// checkOffload takes all of Pulsar's fields; which object store it is, is this daemon's configuration.
func checkOffload(_ string, raw json.RawMessage) (json.RawMessage, error) {
	return kept[struct {
		After *int64 `json:"managedLedgerOffloadThresholdInBytes"`
		Lag   *int64 `json:"managedLedgerOffloadDeletionLagInMillis"`
	}]("", raw)
}

func checkPersistence(_ string, raw json.RawMessage) (json.RawMessage, error) {
	p, err := as[struct {
		Ensemble int     `json:"bookkeeperEnsemble"`
		Write    int     `json:"bookkeeperWriteQuorum"`
		Ack      int     `json:"bookkeeperAckQuorum"`
		Rate     float64 `json:"managedLedgerMaxMarkDeleteRate"`
	}](raw)
	if err == nil && (p.Ensemble < p.Write || p.Write < p.Ack || p.Ack < 0 || p.Rate < 0) {
		err = fault.New(fault.Invalid, "Bookkeeper Ensemble (%d) >= WriteQuorum (%d) >= AckQuorum (%d) must hold", p.Ensemble, p.Write, p.Ack)
	}
	return raw, err
}
