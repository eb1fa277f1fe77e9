package scrape

import (
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Snapshot is one scrape, sorted. It is not changed after it was made and may
// be shared.
type Snapshot struct {
	// At is when the request was sent, Took how long the answer took.
	At   time.Time
	Took time.Duration
	// Partial: the text ended early or could not be read to its end.
	Partial bool
	// Topics by full name; partitions are topics.
	Topics map[string]*Topic
	// Namespaces holds rows without a topic label: a broker with topic metrics
	// off writes the same names per namespace.
	Namespaces map[string]*Topic
	// Broker holds the broker's own totals (pulsar_broker_*), else rows with
	// only a cluster label.
	Broker Topic
	// Started is process_start_time_seconds.
	Started Value
	// Families are all families that are about no single topic or namespace.
	Families map[string]*dto.MetricFamily

	clusterOnly Topic
}

// Topic is what the metrics say about a topic, a namespace or a whole broker.
type Topic struct {
	Name, Namespace string

	Topics, SubscriptionCount, Producers, Consumers Value

	// Rates are computed by the broker over its own interval, per second.
	RateIn, RateOut, ThroughputIn, ThroughputOut Value
	WriteRate, ReadRate                          Value // entries per second
	AverageSize                                  Value // bytes

	Backlog     Value // messages (entries on brokers without precise backlog)
	BacklogSize Value // bytes
	StorageSize Value // bytes
	LogicalSize Value // bytes, without copies
	QuotaLimit  Value // bytes

	// Stored now; only spoold has these.
	Entries, Messages Value

	// Totals since the broker started.
	InMessages, InBytes, OutMessages, OutBytes Value

	Subscriptions map[string]*Subscription
}

// Subscription is what the metrics say about one subscription.
type Subscription struct {
	Name string

	Backlog, BacklogNoDelayed, Delayed, Replay Value // messages
	Unacked                                    Value // messages
	Blocked                                    Value // 0 or 1
	Consumers                                  Value

	RateOut, ThroughputOut, RateRedeliver, RateAck, RateExpired Value

	LastAcked, LastConsumed Value // ms since 1970; 0 is never

	OutMessages, OutBytes Value // totals since the broker started

	// Only spoold has these.
	BacklogEntries, BacklogBytes Value // bytes of payload

	Holes         Value // acknowledged ranges above the mark-delete position
	OldestUnacked Value // age in seconds
}

// Total adds up topics, or namespaces where there are no topics; what the
// broker itself totals wins over the sum.
func (s *Snapshot) Total() Topic {
	sum := Topic{Name: "total"}
	parts := s.Topics
	if len(parts) == 0 {
		parts = s.Namespaces
	}
	for _, t := range parts {
		sum.Topics = sum.Topics.Add(t.Topics)
		for _, name := range summed() {
			f := sum.field(name)
			*f = f.Add(*t.field(name))
		}
	}
	if len(parts) == 0 {
		sum = s.clusterOnly
		sum.Name = "total"
	} else if len(s.Topics) > 0 {
		sum.Topics = Known(float64(len(s.Topics)))
	}
	for _, name := range append(summed(), "topics_count") {
		if own := *s.Broker.field(name); own.known {
			*sum.field(name) = own
		}
	}
	return sum
}

// summed lists the fields of which a sum over topics makes sense.
func summed() []string {
	return []string{
		"subscriptions_count", "producers_count", "consumers_count",
		"rate_in", "rate_out", "throughput_in", "throughput_out",
		"storage_write_rate", "storage_read_rate",
		"msg_backlog", "storage_backlog_size", "storage_size", "storage_logical_size",
		"in_messages_total", "in_bytes_total", "out_messages_total", "out_bytes_total",
	}
}

// field maps Pulsar's metric name, without pulsar_, to its place; nil for one
// that is not kept.
func (t *Topic) field(name string) *Value {
	switch name {
	case "topics_count":
		return &t.Topics
	case "subscriptions_count":
		return &t.SubscriptionCount
	case "producers_count":
		return &t.Producers
	case "consumers_count":
		return &t.Consumers
	case "rate_in":
		return &t.RateIn
	case "rate_out":
		return &t.RateOut
	case "throughput_in":
		return &t.ThroughputIn
	case "throughput_out":
		return &t.ThroughputOut
	case "storage_write_rate":
		return &t.WriteRate
	case "storage_read_rate":
		return &t.ReadRate
	case "average_msg_size":
		return &t.AverageSize
	case "msg_backlog":
		return &t.Backlog
	case "storage_backlog_size":
		return &t.BacklogSize
	case "storage_size":
		return &t.StorageSize
	case "storage_logical_size":
		return &t.LogicalSize
	case "storage_backlog_quota_limit":
		return &t.QuotaLimit
	case "in_messages_total":
		return &t.InMessages
	case "in_bytes_total":
		return &t.InBytes
	case "out_messages_total":
		return &t.OutMessages
	case "out_bytes_total":
		return &t.OutBytes
	}
	return nil
}

// own maps the whole name of a metric that only spoold has to its place; nil for another.
func (t *Topic) own(name string) *Value {
	switch name {
	case "spoold_topic_entries":
		return &t.Entries
	case "spoold_topic_messages":
		return &t.Messages
	}
	return nil
}

// field maps a whole metric name to its place; nil for one that is not kept.
func (s *Subscription) field(name string) *Value {
	switch name {
	case "pulsar_subscription_back_log":
		return &s.Backlog
	case "pulsar_subscription_back_log_no_delayed":
		return &s.BacklogNoDelayed
	case "pulsar_subscription_delayed":
		return &s.Delayed
	case "pulsar_subscription_in_replay":
		return &s.Replay
	case "pulsar_subscription_unacked_messages":
		return &s.Unacked
	case "pulsar_subscription_blocked_on_unacked_messages":
		return &s.Blocked
	case "pulsar_subscription_consumers_count":
		return &s.Consumers
	case "pulsar_subscription_msg_rate_out":
		return &s.RateOut
	case "pulsar_subscription_msg_throughput_out":
		return &s.ThroughputOut
	case "pulsar_subscription_msg_rate_redeliver":
		return &s.RateRedeliver
	case "pulsar_subscription_msg_ack_rate":
		return &s.RateAck
	case "pulsar_subscription_msg_rate_expired":
		return &s.RateExpired
	case "pulsar_subscription_last_acked_timestamp":
		return &s.LastAcked
	case "pulsar_subscription_last_consumed_timestamp":
		return &s.LastConsumed
	case "pulsar_out_messages_total":
		return &s.OutMessages
	case "pulsar_out_bytes_total":
		return &s.OutBytes
	case "spoold_subscription_backlog_entries":
		return &s.BacklogEntries
	case "spoold_subscription_backlog_bytes":
		return &s.BacklogBytes
	case "spoold_subscription_holes":
		return &s.Holes
	case "spoold_subscription_oldest_unacked_seconds":
		return &s.OldestUnacked
	}
	return nil
}

// Gauge reads a family without topic labels: the sum over its series whose
// labels include all the given pairs (name, value, name, value, …). Unknown
// when there is none.
func (s *Snapshot) Gauge(family string, labels ...string) Value {
	f, ok := s.Families[family]
	if !ok {
		return Value{}
	}
	var sum Value
	for _, m := range f.GetMetric() {
		if hasLabels(m, labels) {
			sum = sum.Add(number(m))
		}
	}
	return sum
}

func hasLabels(m *dto.Metric, pairs []string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if label(m, pairs[i]) != pairs[i+1] {
			return false
		}
	}
	return true
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// number is the value of a gauge, counter or untyped series.
func number(m *dto.Metric) Value {
	switch {
	case m.Gauge != nil:
		return Known(m.Gauge.GetValue())
	case m.Counter != nil:
		return Known(m.Counter.GetValue())
	case m.Untyped != nil:
		return Known(m.Untyped.GetValue())
	}
	return Value{}
}
