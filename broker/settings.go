package broker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"spoolctl/broker/topic"
	"spoolctl/storage"
)

// setting is one configuration key: its name, Pulsar's name for it when that differs,
// and how a text is put into a Config and got back.
type setting struct {
	name   string
	pulsar []string                                      // names in Pulsar's standalone.conf and broker.conf
	set    func(c *Config, v string, foreign bool) error // foreign: v counts in the unit of Pulsar's key
	get    func(c *Config) string
	live   bool // can be changed while the daemon runs
}

// settings lists every key that files, the environment and flags can set.
func settings() []setting {
	return []setting{
		textKey("spool", func(c *Config) *string { return &c.Spool }),
		textKey("bind", func(c *Config) *string { return &c.Bind }, "bindAddress"),
		numberKey("port", func(c *Config) *int { return &c.Port }, 0, 65535, "brokerServicePort"),
		numberKey("web-port", func(c *Config) *int { return &c.WebPort }, 0, 65535, "webServicePort"),
		numberKey("tls-port", func(c *Config) *int { return &c.TLSPort }, 0, 65535, "brokerServicePortTls"),
		numberKey("web-tls-port", func(c *Config) *int { return &c.WebTLSPort }, 0, 65535, "webServicePortTls"),
		textKey("advertised-address", func(c *Config) *string { return &c.AdvertisedHost }, "advertisedAddress"),
		textKey("cluster", func(c *Config) *string { return &c.Cluster }, "clusterName"),
		live(boolKey("auto-create-topics", func(c *Config) *bool { return &c.AutoCreateTopics }, "allowAutoTopicCreation")),
		live(choiceKey("auto-create-topic-type", map[string]bool{"partitioned": true, "non-partitioned": false},
			func(c *Config) *bool { return &c.AutoCreatePartitioned }, "allowAutoTopicCreationType")),
		live(numberKey("default-partitions", func(c *Config) *int { return &c.DefaultPartitions }, 1, 1<<20, "defaultNumPartitions")),
		live(boolKey("auto-create-subscriptions", func(c *Config) *bool { return &c.AutoCreateSubscriptions }, "allowAutoSubscriptionCreation")),
		boolKey("batch-index-ack", func(c *Config) *bool { return &c.BatchIndexAck }, "acknowledgmentAtBatchIndexLevelEnabled"),
		numberKey("max-message-size", func(c *Config) *int { return &c.MaxMessageSize }, 1024, 128<<20, "maxMessageSize"),
		numberKey("max-connections", func(c *Config) *int { return &c.MaxConnections }, 0, 1<<30, "brokerMaxConnections"),
		numberKey("max-connections-per-address", func(c *Config) *int { return &c.MaxConnectionsPerAddress }, 0, 1<<30, "brokerMaxConnectionsPerIp"),
		live(numberKey("max-topics-per-namespace", func(c *Config) *int { return &c.MaxTopicsPerNamespace }, 0, 1<<30, "maxTopicsPerNamespace")),
		live(numberKey("max-producers-per-topic", func(c *Config) *int { return &c.MaxProducersPerTopic }, 0, 1<<30, "maxProducersPerTopic")),
		live(numberKey("max-consumers-per-topic", func(c *Config) *int { return &c.MaxConsumersPerTopic }, 0, 1<<30, "maxConsumersPerTopic")),
		live(numberKey("max-consumers-per-subscription", func(c *Config) *int { return &c.MaxConsumersPerSubscription }, 0, 1<<30, "maxConsumersPerSubscription")),
		live(numberKey("max-subscriptions-per-topic", func(c *Config) *int { return &c.MaxSubscriptionsPerTopic }, 0, 1<<30, "maxSubscriptionsPerTopic")),
		numberKey("max-partitions", func(c *Config) *int { return &c.MaxPartitions }, 0, 1<<20, "maxNumPartitionsPerPartitionedTopic"),
		live(numberKey("max-unacked-per-consumer", func(c *Config) *int { return &c.UnackedPerConsumer }, 0, 1<<30, "maxUnackedMessagesPerConsumer")),
		live(numberKey("max-unacked-per-subscription", func(c *Config) *int { return &c.UnackedPerSubscription }, 0, 1<<30, "maxUnackedMessagesPerSubscription")),
		timeKey("keep-alive", func(c *Config) *time.Duration { return &c.KeepAlive }, time.Second, "keepAliveIntervalSeconds"),
		timeKey("failover-delay", func(c *Config) *time.Duration { return &c.FailoverDelay }, time.Millisecond, "activeConsumerFailoverDelayTimeMillis"),
		timeKey("stop-deadline", func(c *Config) *time.Duration { return &c.StopDeadline }, time.Millisecond, "brokerShutdownTimeoutMs"),
		syncKey(),
		timeKey("cursor-flush-interval", func(c *Config) *time.Duration { return &c.CursorFlushInterval }, time.Millisecond),
		bigKey("ledger-max-entries", func(c *Config) *int64 { return &c.Ledger.MaxEntries }, 1, 1, "managedLedgerMaxEntriesPerLedger"),
		bigKey("ledger-max-bytes", func(c *Config) *int64 { return &c.Ledger.MaxBytes }, 1, 1),
		timeKey("ledger-max-age", func(c *Config) *time.Duration { return &c.Ledger.MaxAge }, time.Minute, "managedLedgerMaxLedgerRolloverTimeMinutes"),
		someTimeKey("store-deadline", func(c *Config) *time.Duration { return &c.StoreDeadline }, time.Second),
		bigKey("min-free-space", func(c *Config) *int64 { return &c.MinFreeBytes }, 0, 1),
		bigKey("min-free-inodes", func(c *Config) *int64 { return &c.MinFreeInodes }, 0, 1),
		timeKey("health-latch", func(c *Config) *time.Duration { return &c.HealthLatch }, time.Second),
		numberKey("max-concurrent-loads", func(c *Config) *int { return &c.MaxLoads }, 0, 1<<20, "maxConcurrentTopicLoadRequest"),
		numberKey("max-concurrent-deletes", func(c *Config) *int { return &c.MaxDeletes }, 0, 1<<20),
		textKey("offload-bucket", func(c *Config) *string { return &c.OffloadBucket }),
		live(bigKey("offload-threshold", func(c *Config) *int64 { return &c.OffloadAfter }, -1, 1, "managedLedgerOffloadAutoTriggerSizeThresholdBytes")),
		live(timeKey("offload-deletion-lag", func(c *Config) *time.Duration { return &c.OffloadLag }, time.Millisecond, "managedLedgerOffloadDeletionLagMs")),
		live(bigKey("compaction-threshold", func(c *Config) *int64 { return &c.CompactAfter }, 0, 1, "brokerServiceCompactionThresholdInBytes")),
		live(timeKey("retention-time", func(c *Config) *time.Duration { return &c.RetentionTime }, time.Minute, "defaultRetentionTimeInMinutes")),
		live(bigKey("retention-size", func(c *Config) *int64 { return &c.RetentionSize }, -1, 1<<20, "defaultRetentionSizeInMB")),
		live(timeKey("message-ttl", func(c *Config) *time.Duration { return &c.MessageTTL }, time.Second, "ttlDurationDefaultInSeconds")),
		live(timeKey("subscription-expiry", func(c *Config) *time.Duration { return &c.SubscriptionExpiry }, time.Minute, "subscriptionExpirationTimeMinutes")),
		live(boolKey("deduplication", func(c *Config) *bool { return &c.Deduplicate }, "brokerDeduplicationEnabled")),
		timeKey("deduplication-memory", func(c *Config) *time.Duration { return &c.ProducerMemory }, time.Minute, "brokerDeduplicationProducerInactivityTimeoutMinutes"),
		live(bigKey("backlog-quota-size", func(c *Config) *int64 { return &c.QuotaSize }, -1, 1, "backlogQuotaDefaultLimitBytes")),
		live(timeKey("backlog-quota-time", func(c *Config) *time.Duration { return &c.QuotaTime }, time.Second, "backlogQuotaDefaultLimitSecond")),
		live(wordKey("backlog-quota-policy", func(c *Config) *string { return &c.QuotaPolicy },
			[]string{topic.QuotaHold, topic.QuotaException, topic.QuotaEviction}, "backlogQuotaDefaultRetentionPolicy")),
		live(boolKey("delete-inactive-topics", func(c *Config) *bool { return &c.DeleteInactive }, "brokerDeleteInactiveTopicsEnabled")),
		live(wordKey("inactive-topic-mode", func(c *Config) *string { return &c.InactiveMode },
			[]string{topic.InactiveNoSubscriptions, topic.InactiveCaughtUp}, "brokerDeleteInactiveTopicsMode")),
		live(timeKey("inactive-topic-time", func(c *Config) *time.Duration { return &c.InactiveAfter }, time.Second, "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds")),
		timeKey("expiry-check-interval", func(c *Config) *time.Duration { return &c.ExpiryCheck }, time.Minute, "messageExpiryCheckIntervalInMinutes"),
		timeKey("backlog-quota-check-interval", func(c *Config) *time.Duration { return &c.QuotaCheck }, time.Second, "backlogQuotaCheckIntervalInSeconds"),
		timeKey("inactive-check-interval", func(c *Config) *time.Duration { return &c.InactiveCheck }, time.Second, "brokerDeleteInactiveTopicsFrequencySeconds"),
		timeKey("compaction-check-interval", func(c *Config) *time.Duration { return &c.CompactionCheck }, time.Second, "brokerServiceCompactionMonitorIntervalInSeconds"),
		levelKey(),
	}
}

// live marks a setting that can be changed while the daemon runs: one of the broker's policies.
func live(s setting) setting {
	s.live = true
	return s
}

// wordKey is one of a few words.
func wordKey(name string, at func(*Config) *string, words []string, pulsar ...string) setting {
	s := textKey(name, at, pulsar...)
	set := s.set
	s.set = func(c *Config, v string, foreign bool) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("want one of %s", strings.Join(words, ", "))
		}
		return set(c, v, foreign)
	}
	return s
}

func textKey(name string, at func(*Config) *string, pulsar ...string) setting {
	return setting{
		name: name, pulsar: pulsar,
		set: func(c *Config, v string, _ bool) error { *at(c) = v; return nil },
		get: func(c *Config) string { return *at(c) },
	}
}

func numberKey(name string, at func(*Config) *int, least, most int, pulsar ...string) setting {
	return setting{
		name: name, pulsar: pulsar,
		set: func(c *Config, v string, _ bool) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < least || n > most {
				return fmt.Errorf("want a number from %d to %d", least, most)
			}
			*at(c) = n
			return nil
		},
		get: func(c *Config) string { return strconv.Itoa(*at(c)) },
	}
}

// bigKey is a number of int64; Pulsar's key counts units of unit.
func bigKey(name string, at func(*Config) *int64, least, unit int64, pulsar ...string) setting {
	return setting{
		name: name, pulsar: pulsar,
		set: func(c *Config, v string, foreign bool) error {
			scale := int64(1)
			if foreign {
				scale = unit
			}
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < least || n > (1<<62)/scale {
				return fmt.Errorf("want a number of at least %d", least)
			}
			if n > 0 {
				n *= scale
			}
			*at(c) = n
			return nil
		},
		get: func(c *Config) string { return strconv.FormatInt(*at(c), 10) },
	}
}

// timeKey is a duration like "30s"; a bare number counts units, as in Pulsar's files.
// -1 stands for no end.
func timeKey(name string, at func(*Config) *time.Duration, unit time.Duration, pulsar ...string) setting {
	return setting{
		name: name, pulsar: pulsar,
		set: func(c *Config, v string, _ bool) error {
			if n, err := strconv.ParseInt(v, 10, 32); err == nil && n >= -1 {
				*at(c) = time.Duration(n) * unit
				if n < 0 {
					*at(c) = -1
				}
				return nil
			}
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 {
				return fmt.Errorf("want a duration like 30s, or a number of %s", unit)
			}
			*at(c) = d
			return nil
		},
		get: func(c *Config) string {
			if *at(c) < 0 {
				return "-1"
			}
			return at(c).String()
		},
	}
}

// someTimeKey is a timeKey that must be more than 0.
func someTimeKey(name string, at func(*Config) *time.Duration, unit time.Duration, pulsar ...string) setting {
	s := timeKey(name, at, unit, pulsar...)
	set := s.set
	s.set = func(c *Config, v string, foreign bool) error {
		if err := set(c, v, foreign); err != nil {
			return err
		}
		if *at(c) <= 0 {
			return fmt.Errorf("want a duration of more than 0")
		}
		return nil
	}
	return s
}

func boolKey(name string, at func(*Config) *bool, pulsar ...string) setting {
	return choiceKey(name, map[string]bool{"true": true, "false": false}, at, pulsar...)
}

func choiceKey(name string, choices map[string]bool, at func(*Config) *bool, pulsar ...string) setting {
	return setting{
		name: name, pulsar: pulsar,
		set: func(c *Config, v string, _ bool) error {
			b, ok := choices[strings.ToLower(v)]
			if !ok {
				return fmt.Errorf("want one of %s", strings.Join(sortedKeys(choices), ", "))
			}
			*at(c) = b
			return nil
		},
		get: func(c *Config) string {
			for _, k := range sortedKeys(choices) {
				if choices[k] == *at(c) {
					return k
				}
			}
			return ""
		},
	}
}

func syncKey() setting {
	return setting{
		name: "sync",
		set: func(c *Config, v string, _ bool) error {
			switch v {
			case "batch":
				c.Sync = storage.SyncBatch
			case "none":
				c.Sync = storage.SyncNone
			default:
				return fmt.Errorf("want batch (a receipt means fsynced) or none (a power loss may take the last moments)")
			}
			return nil
		},
		get: func(c *Config) string {
			if c.Sync == storage.SyncNone {
				return "none"
			}
			return "batch"
		},
	}
}

func levelKey() setting {
	return setting{
		name: "log-level",
		set: func(c *Config, v string, _ bool) error {
			if err := c.LogLevel.UnmarshalText([]byte(v)); err != nil {
				return fmt.Errorf("want debug, info, warn or error")
			}
			return nil
		},
		get: func(c *Config) string { return strings.ToLower(c.LogLevel.String()) },
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
