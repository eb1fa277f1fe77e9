package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"spoolctl/wire"
)

func topicPath(t wire.TopicName, more ...string) string {
	return path(append([]string{t.Domain.String(), t.Tenant, t.Namespace, t.Local}, more...)...)
}

// CreateTopic makes a topic without partitions.
func CreateTopic(t wire.TopicName, properties map[string]string) Request {
	r := Request{Method: http.MethodPut, Path: topicPath(t)}
	if len(properties) > 0 {
		r.Body = mustJSON(properties)
	}
	return r
}

// CreatePartitioned makes a topic of n partitions.
func CreatePartitioned(t wire.TopicName, n int) Request {
	return Request{Method: http.MethodPut, Path: topicPath(t, "partitions"), Body: mustJSON(n)}
}

// UpdatePartitions raises the number of partitions to n.
func UpdatePartitions(t wire.TopicName, n int) Request {
	return Request{Method: http.MethodPost, Path: topicPath(t, "partitions"), Body: mustJSON(n)}
}

// DeleteTopic removes a topic; force also when clients are connected.
func DeleteTopic(t wire.TopicName, partitioned, force bool) Request {
	p := topicPath(t)
	if partitioned {
		p = topicPath(t, "partitions")
	}
	return Request{Method: http.MethodDelete, Path: p, Query: flags(map[string]bool{"force": force})}
}

// UnloadTopic closes a topic on its broker; clients reconnect by themselves.
func UnloadTopic(t wire.TopicName) Request {
	return Request{Method: http.MethodPut, Path: topicPath(t, "unload")}
}

// TerminateTopic forbids further publishes. The answer is the last MessageID.
func TerminateTopic(t wire.TopicName) Request {
	return Request{Method: http.MethodPost, Path: topicPath(t, "terminate")}
}

// TopicStats reads statistics; see Stats for the typed part.
func TopicStats(t wire.TopicName, partitioned bool) Request {
	what := "stats"
	if partitioned {
		what = "partitioned-stats"
	}
	return Request{Method: http.MethodGet, Path: topicPath(t, what), Query: url.Values{
		"getPreciseBacklog": {"true"}, "subscriptionBacklogSize": {"true"}, "getEarliestTimeInBacklog": {"true"},
	}}
}

// TopicInternalStats reads ledgers and cursors.
func TopicInternalStats(t wire.TopicName, partitioned bool) Request {
	what := "internalStats"
	if partitioned {
		what = "partitioned-internalStats"
	}
	return Request{Method: http.MethodGet, Path: topicPath(t, what)}
}

// PartitionedMetadata describes a partitioned topic. Partitions is 0 for a
// topic without partitions, and also for one that does not exist.
type PartitionedMetadata struct {
	Partitions int               `json:"partitions"`
	Properties map[string]string `json:"properties"`
}

// Partitions asks whether a topic is partitioned.
func (c *Client) Partitions(ctx context.Context, t wire.TopicName) (PartitionedMetadata, error) {
	return get[PartitionedMetadata](ctx, c, Request{Method: http.MethodGet, Path: topicPath(t, "partitions")})
}

// PartitionedTopics lists the partitioned topics of a namespace, without
// -partition-N. domain is wire.Persistent or wire.NonPersistent.
func (c *Client) PartitionedTopics(ctx context.Context, domain wire.Domain, ns wire.NamespaceName) ([]string, error) {
	return get[[]string](ctx, c, Request{
		Method: http.MethodGet, Path: path(domain.String(), ns.Tenant, ns.Namespace, "partitioned"),
	})
}

// MessageID is how the admin API writes a message id.
type MessageID struct {
	LedgerID       int64 `json:"ledgerId"`
	EntryID        int64 `json:"entryId"`
	PartitionIndex int32 `json:"partitionIndex"`
}

// FromWire turns an id of this module into the API's form.
func FromWire(id wire.MessageID) MessageID {
	return MessageID{LedgerID: id.Ledger, EntryID: id.Entry, PartitionIndex: id.Partition}
}

// String is ledger:entry.
func (m MessageID) String() string {
	return strconv.FormatInt(m.LedgerID, 10) + ":" + strconv.FormatInt(m.EntryID, 10)
}

// Terminate sends TerminateTopic and reads the id of the last message.
func (c *Client) Terminate(ctx context.Context, t wire.TopicName) (MessageID, error) {
	return get[MessageID](ctx, c, TerminateTopic(t))
}

// Stats is the part of topic statistics that spoolctl shows in tables. Pointers
// are nil when the broker did not say.
type Stats struct {
	MsgRateIn        *float64                     `json:"msgRateIn"`
	MsgThroughputIn  *float64                     `json:"msgThroughputIn"`
	MsgRateOut       *float64                     `json:"msgRateOut"`
	MsgThroughputOut *float64                     `json:"msgThroughputOut"`
	MsgInCounter     *int64                       `json:"msgInCounter"`
	BytesInCounter   *int64                       `json:"bytesInCounter"`
	StorageSize      *int64                       `json:"storageSize"`
	BacklogSize      *int64                       `json:"backlogSize"`
	Subscriptions    map[string]SubscriptionStats `json:"subscriptions"`
	Partitions       map[string]json.RawMessage   `json:"partitions"`
}

// SubscriptionStats is one subscription in Stats.
type SubscriptionStats struct {
	Type                 string            `json:"type"`
	MsgBacklog           *int64            `json:"msgBacklog"`
	BacklogSize          *int64            `json:"backlogSize"`
	UnackedMessages      *int64            `json:"unackedMessages"`
	MsgDelayed           *int64            `json:"msgDelayed"`
	MsgRateOut           *float64          `json:"msgRateOut"`
	MsgThroughputOut     *float64          `json:"msgThroughputOut"`
	MsgRateRedeliver     *float64          `json:"msgRateRedeliver"`
	Blocked              *bool             `json:"blockedSubscriptionOnUnackedMsgs"`
	Holes                *int64            `json:"nonContiguousDeletedMessagesRanges"`
	EarliestPublish      *int64            `json:"earliestMsgPublishTimeInBacklog"` // ms since 1970
	Durable              *bool             `json:"isDurable"`
	Consumers            []json.RawMessage `json:"consumers"`
	ActiveConsumerName   string            `json:"activeConsumerName"`
	LastAckedTimestamp   *int64            `json:"lastAckedTimestamp"` // ms since 1970, 0 is never
	SubscriptionProperty map[string]string `json:"subscriptionProperties"`
}

// Stats reads the statistics of a topic; raw is the whole answer.
func (c *Client) Stats(ctx context.Context, t wire.TopicName, partitioned bool) (s Stats, raw json.RawMessage, err error) {
	raw, err = c.JSON(ctx, TopicStats(t, partitioned))
	if err != nil || len(raw) == 0 {
		return s, raw, err
	}
	if err = json.Unmarshal(raw, &s); err != nil {
		err = answerError(err)
	}
	return s, raw, err
}
