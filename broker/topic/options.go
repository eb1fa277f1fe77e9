package topic

import (
	"log/slog"
	"time"

	"spoolctl/storage"
)

// Options configure a registry. Limits of 0 mean no limit.
type Options struct {
	Store   *storage.Store
	Logger  *slog.Logger     // default: nothing is logged
	Now     func() time.Time // default: time.Now
	Cluster string           // the cluster's name, for tenants and policies

	AutoCreateTopics        bool
	AutoCreatePartitioned   bool // automatically created topics are partitioned
	DefaultPartitions       int  // then into so many
	AutoCreateSubscriptions bool

	MaxTopicsPerNamespace       int
	MaxProducersPerTopic        int
	MaxConsumersPerTopic        int
	MaxConsumersPerSubscription int
	MaxSubscriptionsPerTopic    int
	MaxPartitions               int // of one partitioned topic
	UnackedPerConsumer          int
	UnackedPerSubscription      int

	FailoverDelay time.Duration // how long a pre-empted active consumer may still acknowledge
	BatchIndexAck bool          // keep acknowledgements of single messages of a batch
	Sweep         time.Duration // how often unused things are removed and ledgers trimmed; 0 = never

	RetentionTime time.Duration // default retention of acknowledged entries; -1 = for ever
	RetentionSize int64         // bytes; -1 = without limit
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
	if o.DefaultPartitions == 0 {
		o.DefaultPartitions = 1
	}
	return o
}
