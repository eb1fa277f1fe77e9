package export

// family is the declaration of one metric family.
type family struct {
	name string
	kind string // "gauge" or "counter"
	help string // one line, with the unit
}

// The kinds. Pulsar's own families are gauges where Pulsar's are, so that its dashboards read them alike.
const (
	gauge   = "gauge"
	counter = "counter"
)

// topicFamily is a family with one sample for each topic.
type topicFamily struct {
	family
	value func(*topicRow) (v float64, known bool)
	// zero: a 0 with only the cluster's label stands before the topics, as in Pulsar, so that a dashboard of a broker
	// without topics shows 0 and sums are not disturbed.
	zero bool
}

func (f topicFamily) withZero() topicFamily {
	f.zero = true
	return f
}

func always[T any](get func(*T) float64) func(*T) (float64, bool) {
	return func(r *T) (float64, bool) { return get(r), true }
}

// stored is for values that only a persistent topic has.
func stored(get func(*topicRow) float64) func(*topicRow) (float64, bool) {
	return func(r *topicRow) (float64, bool) {
		if !r.persistent {
			return 0, false
		}
		return get(r), true
	}
}

// perTopic declares a gauge that every topic has.
func perTopic(name, help string, get func(*topicRow) float64) topicFamily {
	return topicFamily{family: family{name, gauge, help}, value: always(get)}
}

// perStored declares a gauge that only persistent topics have.
func perStored(name, help string, get func(*topicRow) float64) topicFamily {
	return topicFamily{family: family{name, gauge, help}, value: stored(get)}
}

func topicFamilies() []topicFamily {
	all := []topicFamily{
		perTopic("pulsar_subscriptions_count", "Subscriptions of the topic.", func(r *topicRow) float64 { return float64(len(r.subs)) }).withZero(),
		perTopic("pulsar_producers_count", "Producers connected to the topic.", func(r *topicRow) float64 { return float64(r.producers) }).withZero(),
		perTopic("pulsar_consumers_count", "Consumers connected to the topic.", func(r *topicRow) float64 { return float64(r.consumers) }).withZero(),
		perTopic("pulsar_rate_in", "Messages published, per second.", func(r *topicRow) float64 { return r.rateIn }).withZero(),
		perTopic("pulsar_rate_out", "Messages sent to consumers, per second.", func(r *topicRow) float64 { return r.rateOut }).withZero(),
		perTopic("pulsar_throughput_in", "Bytes published, per second.", func(r *topicRow) float64 { return r.bytesIn }).withZero(),
		perTopic("pulsar_throughput_out", "Bytes sent to consumers, per second.", func(r *topicRow) float64 { return r.bytesOut }).withZero(),
		{family: family{"pulsar_in_messages_total", counter, "Messages published since the topic was loaded."}, value: always(func(r *topicRow) float64 { return float64(r.inMessages) })},
		{family: family{"pulsar_in_bytes_total", counter, "Bytes published since the topic was loaded."}, value: always(func(r *topicRow) float64 { return float64(r.inBytes) })},
		perStored("pulsar_storage_size", "Bytes of payload stored.", func(r *topicRow) float64 { return float64(r.storedBytes) }).withZero(),
		perStored("pulsar_storage_logical_size", "Bytes of payload stored, without replicas; there are none.", func(r *topicRow) float64 { return float64(r.storedBytes) }),
		perStored("pulsar_storage_backlog_size", "Bytes that the slowest subscription has not acknowledged.", func(r *topicRow) float64 { return float64(r.backlogBytes) }),
		{family: family{"pulsar_storage_backlog_quota_limit", gauge, "Bytes of backlog that the topic may have; absent without a quota."}, value: func(r *topicRow) (float64, bool) {
			return float64(r.quotaSize), r.quotaSize > 0
		}},
		perStored("pulsar_msg_backlog", "Messages not acknowledged, all subscriptions of the topic together.", func(r *topicRow) float64 { return float64(r.backlogMessages) }).withZero(),
		perStored("spoold_topic_entries", "Entries stored.", func(r *topicRow) float64 { return float64(r.storedEntries) }),
		perStored("spoold_topic_messages", "Messages stored.", func(r *topicRow) float64 { return float64(r.storedMessages) }),
		perStored("spoold_topic_ledgers", "Ledgers of the topic.", func(r *topicRow) float64 { return float64(r.ledgers) }),
		perStored("pulsar_storage_write_rate", "Entries written, per second.", func(r *topicRow) float64 { return r.rateWrites }).withZero(),
		perStored("pulsar_storage_offloaded_size", "Bytes of payload that are in the object store, whether they are in the spool too or not.", func(r *topicRow) float64 { return float64(r.offloadedBytes) }),
		{family: family{"pulsar_average_msg_size", gauge, "Bytes of a message, on average of the last seconds; absent while nothing is published."}, value: func(r *topicRow) (float64, bool) {
			return r.bytesIn / r.rateIn, r.rateIn > 0
		}},
	}
	return append(append(all, sizeFamilies()...), latencyFamilies()...)
}

// subFamily is a family with one sample for each subscription.
type subFamily struct {
	family
	value func(*subRow) (v float64, known bool)
}

// backed is for values that only a subscription with a cursor has.
func backed(get func(*subRow) float64) func(*subRow) (float64, bool) {
	return func(r *subRow) (float64, bool) {
		if !r.persistent {
			return 0, false
		}
		return get(r), true
	}
}

func subFamilies() []subFamily {
	return []subFamily{
		{family{"pulsar_subscription_back_log", gauge, "Messages the subscription has not acknowledged."}, backed(func(r *subRow) float64 { return float64(r.backlog.Messages) })},
		{family{"pulsar_subscription_back_log_no_delayed", gauge, "The same without messages whose delivery time has not come."}, backed(func(r *subRow) float64 { return float64(max(0, r.backlog.Messages-r.delayed)) })},
		{family{"spoold_subscription_backlog_entries", gauge, "Entries the subscription has not wholly acknowledged."}, backed(func(r *subRow) float64 { return float64(r.backlog.Entries) })},
		{family{"spoold_subscription_backlog_bytes", gauge, "Bytes of payload of these entries."}, backed(func(r *subRow) float64 { return float64(r.backlog.Bytes) })},
		{family{"spoold_subscription_holes", gauge, "Acknowledged ranges above the mark-delete position."}, backed(func(r *subRow) float64 { return float64(r.holes) })},
		{family{"pulsar_subscription_delayed", gauge, "Entries whose delivery time has not come."}, backed(func(r *subRow) float64 { return float64(r.delayed) })},
		{family{"pulsar_subscription_in_replay", gauge, "Entries waiting to be sent again."}, backed(func(r *subRow) float64 { return float64(r.replay) })},
		{family{"pulsar_subscription_unacked_messages", gauge, "Messages sent and not yet acknowledged."}, always(func(r *subRow) float64 { return float64(r.unacked) })},
		{family{"pulsar_subscription_blocked_on_unacked_messages", gauge, "1 while the limit of unacknowledged messages stops sending."}, always(func(r *subRow) float64 { return r.blocked })},
		{family{"pulsar_subscription_consumers_count", gauge, "Consumers connected."}, always(func(r *subRow) float64 { return float64(r.consumers) })},
		{family{"pulsar_subscription_msg_rate_out", gauge, "Messages sent, per second."}, always(func(r *subRow) float64 { return r.rateOut })},
		{family{"pulsar_subscription_msg_throughput_out", gauge, "Bytes sent, per second."}, always(func(r *subRow) float64 { return r.bytesOut })},
		{family{"pulsar_subscription_msg_rate_redeliver", gauge, "Messages sent again, per second."}, always(func(r *subRow) float64 { return r.rateRedeliver })},
		{family{"pulsar_subscription_msg_ack_rate", gauge, "Messages acknowledged, per second."}, always(func(r *subRow) float64 { return r.rateAck })},
		{family{"pulsar_subscription_msg_drop_rate", gauge, "Messages dropped for want of permits, per second; non-persistent topics."}, func(r *subRow) (float64, bool) { return r.rateDrop, !r.persistent }},
		{family{"pulsar_subscription_total_msg_expired", counter, "Messages that expired since the topic was loaded."}, backed(func(r *subRow) float64 { return float64(r.expired) })},
		{family{"pulsar_subscription_last_acked_timestamp", gauge, "Last acknowledgement, ms since 1970."}, func(r *subRow) (float64, bool) { return float64(r.lastAck), r.lastAck > 0 }},
		{family{"pulsar_subscription_last_consumed_timestamp", gauge, "Last message sent, ms since 1970."}, func(r *subRow) (float64, bool) { return float64(r.lastSent), r.lastSent > 0 }},
		{family{"pulsar_subscription_last_consumed_flow_timestamp", gauge, "Last permits received, ms since 1970."}, func(r *subRow) (float64, bool) { return float64(r.lastFlow), r.lastFlow > 0 }},
	}
}

// outFamilies are Pulsar's counters that stand for topics and for subscriptions under one name.
func outFamilies() (messages, bytes family) {
	return family{"pulsar_out_messages_total", counter, "Messages sent to consumers since the topic was loaded."},
		family{"pulsar_out_bytes_total", counter, "Bytes sent to consumers since the topic was loaded."}
}
