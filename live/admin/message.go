package admin

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// Message is a message read through the admin API.
type Message struct {
	ID          wire.MessageID
	PublishTime time.Time // zero when unknown
	EventTime   time.Time // zero when unset
	Producer    string
	Key         string
	Properties  map[string]string
	Payload     []byte
}

// Headers of a message answer; the long form carries one property each and
// comes from older brokers.
const (
	headerID         = "X-Pulsar-Message-ID"
	headerPublish    = "X-Pulsar-Publish-Time"
	headerEvent      = "X-Pulsar-Event-Time"
	headerBatch      = "X-Pulsar-Num-Batch-Message"
	headerProducer   = "X-Pulsar-Producer-Name"
	headerKey        = "X-Pulsar-Partition-Key"
	headerProperties = "X-Pulsar-Property"
	headerOldPrefix  = "X-Pulsar-Property-"
)

// parseMessage reads one answer; a batch gives several messages.
func parseMessage(resp *Response) ([]Message, error) {
	h := resp.Header
	id, err := wire.ParseMessageID(h.Get(headerID))
	if err != nil {
		return nil, err
	}
	m := Message{
		ID: id, Producer: h.Get(headerProducer), Key: h.Get(headerKey),
		PublishTime: parseTime(h.Get(headerPublish)), EventTime: parseTime(h.Get(headerEvent)),
		Properties: properties(h), Payload: resp.Body,
	}
	if n, err := strconv.Atoi(h.Get(headerBatch)); err == nil {
		return splitBatch(m, n)
	}
	return []Message{m}, nil
}

func properties(h http.Header) map[string]string {
	props := map[string]string{}
	if text := h.Get(headerProperties); text != "" && json.Unmarshal([]byte(text), &props) == nil {
		return props
	}
	for name, vals := range h {
		if key, ok := strings.CutPrefix(name, headerOldPrefix); ok && len(vals) > 0 {
			props[key] = vals[0]
		}
	}
	return props
}

// parseTime accepts the two spellings that brokers use: RFC 3339 with an
// offset, and milliseconds.
func parseTime(s string) time.Time {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && ms > 0 {
		return time.UnixMilli(ms).UTC()
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999Z0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

var errBatch = errors.New("the batch is cut short")

// splitBatch reads n times: 4 bytes length, SingleMessageMetadata, payload.
func splitBatch(whole Message, n int) ([]Message, error) {
	var list []Message
	rest := whole.Payload
	for i := range n {
		if len(rest) < 4 {
			return nil, errBatch
		}
		size := binary.BigEndian.Uint32(rest)
		rest = rest[4:]
		if uint64(size) > uint64(len(rest)) {
			return nil, errBatch
		}
		var meta pb.SingleMessageMetadata
		if err := proto.Unmarshal(rest[:size], &meta); err != nil {
			return nil, fmt.Errorf("batch message %d: %w", i, err)
		}
		rest = rest[size:]
		if meta.GetPayloadSize() < 0 || int(meta.GetPayloadSize()) > len(rest) {
			return nil, errBatch
		}
		m := whole
		m.ID.Batch = int32(i)
		m.Payload, rest = rest[:meta.GetPayloadSize()], rest[meta.GetPayloadSize():]
		m.Key = meta.GetPartitionKey()
		m.Properties = map[string]string{}
		for _, p := range meta.GetProperties() {
			m.Properties[p.GetKey()] = p.GetValue()
		}
		if meta.GetEventTime() > 0 {
			m.EventTime = time.UnixMilli(int64(meta.GetEventTime())).UTC()
		}
		list = append(list, m)
	}
	return list, nil
}
