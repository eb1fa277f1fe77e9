package topic

import (
	"encoding/json"
	"log/slog"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/policy"
)

// Options configure a registry. Limits of 0 mean no limit; intervals of 0 mean never.
type Options struct {
	Store   *storage.Store
	Logger  *slog.Logger     // default: nothing is logged
	Now     func() time.Time // default: time.Now
	Cluster string           // the cluster's name, for tenants and policies

	Defaults // what they are at first; see SetDefaults

	MaxPartitions int           // of one partitioned topic
	FailoverDelay time.Duration // how long a pre-empted active consumer may still acknowledge
	BatchIndexAck bool          // keep acknowledgements of single messages of a batch

	Sweep         time.Duration // how often what is not durable and unused is removed
	ExpiryCheck   time.Duration // how often messages and subscriptions are looked at for their age
	QuotaCheck    time.Duration // how often backlogs are compared with their quotas
	InactiveCheck time.Duration // how often topics are looked at for being in use
	// CompactionCheck is how often it is looked how much came since the last compaction.
	CompactionCheck time.Duration

	ProducerMemory time.Duration // for how long deduplication remembers a producer that stores nothing; 0 = for ever
}

// Defaults are the broker's policies: what holds where neither the topic nor its namespace says otherwise.
type Defaults struct {
	AutoCreateTopics        bool
	AutoCreatePartitioned   bool // automatically created topics are partitioned
	DefaultPartitions       int  // then into so many; 0 counts as 1
	AutoCreateSubscriptions bool

	MaxTopicsPerNamespace       int
	MaxProducersPerTopic        int
	MaxConsumersPerTopic        int
	MaxConsumersPerSubscription int
	MaxSubscriptionsPerTopic    int
	UnackedPerConsumer          int
	UnackedPerSubscription      int

	RetentionTime time.Duration // of acknowledged entries; -1 = for ever
	RetentionSize int64         // bytes; -1 = without limit

	MessageTTL         time.Duration // 0 = messages do not expire
	SubscriptionExpiry time.Duration // 0 = subscriptions do not expire
	Deduplicate        bool
	Sync               storage.SyncMode

	QuotaSize   int64         // bytes of backlog; 0 or less = no quota
	QuotaTime   time.Duration // age of the oldest message of a backlog; 0 = no quota
	QuotaPolicy string        // what happens beyond: one of the Quota constants; empty = QuotaHold

	DeleteInactive bool          // topics that nobody uses are deleted
	InactiveMode   string        // which: one of the Inactive constants; empty = InactiveNoSubscriptions
	InactiveAfter  time.Duration // after so long

	CompactAfter int64 // bytes published since its last compaction make a topic be compacted; 0 = it is not by itself

	OffloadAfter int64         // bytes of a topic that stay in the spool, what is older goes to the object store; negative = nothing goes by itself
	OffloadLag   time.Duration // how long what is offloaded stays in the spool too; negative = for ever
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Cluster == "" {
		o.Cluster = "standalone"
	}
	return o
}

// document gives the defaults the form in which namespaces and topics have their policies. Times and sizes that are no
// whole number of their policy's unit become fractions.
func (d Defaults) document() map[string]json.RawMessage {
	topicType, quota := "non-partitioned", d.QuotaPolicy
	if d.AutoCreatePartitioned {
		topicType = "partitioned"
	}
	if quota == "" {
		quota = QuotaHold
	}
	sync := syncBatch
	if d.Sync == storage.SyncNone {
		sync = syncNone
	}
	mode := d.InactiveMode
	if mode == "" {
		mode = InactiveNoSubscriptions
	}
	quotas := map[string]backlogQuota{}
	if d.QuotaSize > 0 {
		quotas[quotaStorage] = backlogQuota{LimitSize: d.QuotaSize, Policy: quota}
	}
	if d.QuotaTime > 0 {
		quotas[quotaAge] = backlogQuota{LimitTime: d.QuotaTime.Seconds(), Policy: quota}
	}
	out := map[string]json.RawMessage{}
	for field, v := range map[string]any{
		fieldAutoTopics:         autoTopics{Allow: d.AutoCreateTopics, Type: topicType, Partitions: max(1, d.DefaultPartitions)},
		fieldAutoSubscriptions:  autoSubscriptions{Allow: d.AutoCreateSubscriptions},
		fieldMaxTopics:          d.MaxTopicsPerNamespace,
		fieldMaxProducers:       d.MaxProducersPerTopic,
		fieldMaxConsumers:       d.MaxConsumersPerTopic,
		fieldMaxPerSubscription: d.MaxConsumersPerSubscription,
		fieldMaxSubscriptions:   d.MaxSubscriptionsPerTopic,
		fieldUnackedConsumer:    d.UnackedPerConsumer,
		fieldUnackedSub:         d.UnackedPerSubscription,
		fieldRetention:          policy.RetentionRule{Minutes: units(d.RetentionTime, time.Minute), MB: megabytes(d.RetentionSize)},
		fieldTTL:                d.MessageTTL.Seconds(),
		fieldSubExpiry:          d.SubscriptionExpiry.Minutes(),
		fieldDeduplication:      d.Deduplicate,
		fieldSync:               sync,
		fieldQuotas:             quotas,
		fieldCompaction:         d.CompactAfter,
		fieldOffloadAfter:       d.OffloadAfter,
		fieldOffloadLag:         milliseconds(d.OffloadLag),
		fieldInactive:           inactiveRule{Mode: mode, Seconds: d.InactiveAfter.Seconds(), Delete: d.DeleteInactive},
	} {
		raw, err := json.Marshal(v)
		if err != nil {
			continue // cannot be: these are numbers, texts and maps of them
		}
		out[field] = raw
	}
	return out
}

// units counts a duration in a unit; a negative one means for ever.
func units(d, unit time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return float64(d) / float64(unit)
}

// milliseconds counts a duration; a negative one means for ever.
func milliseconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

func megabytes(n int64) float64 {
	if n < 0 {
		return -1
	}
	return float64(n) / (1 << 20)
}
