package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// maxMessage bounds what a compressed entry may grow to when it is shown, in bytes.
const maxMessage = 256 << 20

// messageReply turns a stored entry into Pulsar's answer: the payload, decompressed, as the body (a batch as a whole) and
// everything else in headers.
func messageReply(e storage.Entry, name wire.TopicName) (*reply, error) {
	parts, err := wire.SplitEntry(e.Data)
	if err != nil {
		return nil, fault.Wrap(fault.Persistence, err, "entry %s cannot be read", e.Position)
	}
	meta, err := wire.ParseMetadataFull(parts.Metadata)
	if err != nil {
		return nil, fault.Wrap(fault.Persistence, err, "entry %s cannot be read", e.Position)
	}
	fast, err := wire.ParseMetadata(parts.Metadata)
	if err != nil {
		return nil, fault.Wrap(fault.Persistence, err, "entry %s cannot be read", e.Position)
	}
	body := parts.Payload
	h := http.Header{"Content-Type": {"application/octet-stream"}}
	if fast.Encrypted {
		h.Set("X-Pulsar-Is-Encrypted", "true")
	} else if body, err = wire.Decompress(&fast, body, maxMessage); err != nil {
		return nil, fault.Wrap(fault.Persistence, err, "entry %s cannot be decompressed", e.Position)
	}
	id := e.Position.String()
	if p := name.Partition(); p >= 0 {
		id = fmt.Sprintf("%s:%d", id, p)
	}
	h.Set("X-Pulsar-Message-ID", id)
	describe(h, meta, len(body))
	return &reply{status: http.StatusOK, header: h, body: body}, nil
}

// describe puts a message's metadata into headers, under the names that Pulsar's clients read.
func describe(h http.Header, m *pb.MessageMetadata, size int) {
	ms := func(v uint64) string { return topic.TimeText(time.UnixMilli(int64(v))) }
	h.Set("X-Pulsar-publish-time", ms(m.GetPublishTime()))
	if m.EventTime != nil && m.GetEventTime() != 0 {
		h.Set("X-Pulsar-event-time", ms(m.GetEventTime()))
	}
	if m.DeliverAtTime != nil {
		h.Set("X-Pulsar-deliver-at-time", ms(uint64(m.GetDeliverAtTime())))
	}
	if m.NumMessagesInBatch != nil {
		h.Set("X-Pulsar-num-batch-message", strconv.Itoa(int(m.GetNumMessagesInBatch())))
		h.Set("X-Pulsar-batch-size", strconv.Itoa(size))
	}
	if m.GetNullValue() {
		h.Set("X-Pulsar-null-value", "true")
	}
	if m.PartitionKey != nil {
		h.Set("X-Pulsar-partition-key", m.GetPartitionKey())
	}
	h.Set("X-Pulsar-producer-name", m.GetProducerName())
	h.Set("X-Pulsar-sequence-id", strconv.FormatUint(m.GetSequenceId(), 10))
	if m.NumChunksFromMsg != nil {
		h.Set("X-Pulsar-PROPERTY-TOTAL-CHUNKS", strconv.Itoa(int(m.GetNumChunksFromMsg())))
		h.Set("X-Pulsar-PROPERTY-CHUNK-ID", strconv.Itoa(int(m.GetChunkId())))
	}
	if len(m.GetProperties()) > 0 {
		all := map[string]string{}
		for _, p := range m.GetProperties() {
			all[p.GetKey()] = p.GetValue()
		}
		// One header of JSON keeps the keys' case and any character; clients prefer it.
		if b, err := json.Marshal(all); err == nil {
			h.Set("X-Pulsar-Property", string(b))
		}
	}
}
