package inspect

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// The values of Entry.Checksum.
const (
	ChecksumOK      = "ok"
	ChecksumBad     = "bad"
	ChecksumNone    = "none"    // the producer sent none
	ChecksumUnknown = "unknown" // the entry cannot be taken apart
)

// Entry is one line of `inspect entries`.
type Entry struct {
	Position    string            `json:"position" col:"POSITION,name"`
	Topic       string            `json:"topic" col:"TOPIC,wide"`
	Size        int               `json:"size" col:"SIZE" fmt:"bytes"` // as stored, metadata included
	Producer    *string           `json:"producer" col:"PRODUCER"`
	SequenceID  *uint64           `json:"sequenceId" col:"SEQUENCE" fmt:"plain"`
	PublishTime time.Time         `json:"publishTime" col:"PUBLISHED" fmt:"time"`
	EventTime   time.Time         `json:"eventTime" col:"EVENT_TIME,wide" fmt:"time"`
	Messages    int32             `json:"messages" col:"MESSAGES" fmt:"count"`
	Batch       bool              `json:"batch" col:"BATCH"`
	Compression string            `json:"compression" col:"COMPRESSION"` // none, lz4, zlib, zstd, snappy
	Encrypted   bool              `json:"encrypted" col:"ENCRYPTED,wide"`
	Chunk       *string           `json:"chunk" col:"CHUNK,wide"` // 1/3 of a chunked message
	Txn         *string           `json:"txn" col:"TXN,wide"`     // most:least
	Marker      *int32            `json:"marker" col:"MARKER,wide" fmt:"plain"`
	Key         *string           `json:"key" col:"KEY"`
	OrderingKey []byte            `json:"orderingKey" col:"ORDERING_KEY,wide"`
	DeliverAt   time.Time         `json:"deliverAt" col:"DELIVER_AT,wide" fmt:"time"`
	Properties  map[string]string `json:"properties" col:"PROPERTIES,wide"`
	Checksum    string            `json:"checksum" col:"CHECKSUM"`
	Total       int64             `json:"totalMessages" col:"TOTAL,wide" fmt:"count"` // of the topic, ever, up to here
}

// EntriesOptions are for Session.Entries.
type EntriesOptions struct {
	Selector
	Bounds
}

// Entries is the answer of Session.Entries.
type Entries struct {
	Rows  iter.Seq2[Entry, error]
	Total int64 // how many rows there are; 0 when only the end tells
}

// Entries lists stored entries in order.
func (s *Session) Entries(ctx context.Context, o EntriesOptions) (*Entries, error) {
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return nil, err
	}
	out := &Entries{}
	for _, t := range views {
		if o.anyTime() {
			out.Total += o.span(t).count(t)
		}
	}
	out.Rows = func(yield func(Entry, error) bool) {
		for _, t := range views {
			more := true
			err := s.walkSpans(ctx, t, o.Bounds, func(e storage.Entry) (bool, error) {
				if o.inTime(e.Header.PublishTime) {
					more = yield(entryRow(t.Name, e), nil)
				}
				return more, nil
			})
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !more {
				return
			}
		}
	}
	return out, nil
}

// views reads the chosen topics; their entries come later.
func (s *Session) views(ctx context.Context, sel Selector) ([]*storage.TopicView, error) {
	return again(s, func() (out []*storage.TopicView, err error) {
		err = s.eachTopic(ctx, sel, func(t *storage.TopicView) error {
			out = append(out, t)
			return nil
		})
		return out, err
	})
}

func entryRow(topic string, e storage.Entry) Entry {
	row := Entry{
		Position: e.Position.String(), Topic: topic, Size: len(e.Data), PublishTime: fromMillis(e.Header.PublishTime),
		Messages: e.Header.Messages, Compression: "none", Checksum: ChecksumUnknown, Total: e.Header.TotalMessages,
	}
	d := decodeEntry(e)
	if d.err != nil {
		return row
	}
	m := &d.meta
	row.Checksum = d.checksum()
	row.Producer, row.SequenceID = new(string(m.ProducerName)), &m.SequenceID
	row.EventTime, row.DeliverAt = fromMillis(int64(m.EventTime)), fromMillis(m.DeliverAt)
	row.Batch, row.Compression, row.Encrypted = m.HasNumMessages, compressionName(m.Compression), m.Encrypted
	row.Chunk, row.Txn = chunkOf(m), txnOf(m)
	if m.HasMarker {
		row.Marker = &m.MarkerType
	}
	row.Key, row.OrderingKey = keyOf(m), append([]byte(nil), m.OrderingKey...)
	row.Properties = d.properties()
	return row
}

// decoded is an entry taken apart as far as its metadata. Slices alias it.
type decoded struct {
	parts wire.EntryParts
	meta  wire.Metadata
	err   error
}

func decodeEntry(e storage.Entry) (d decoded) {
	if d.parts, d.err = wire.SplitEntry(e.Data); d.err == nil {
		d.meta, d.err = wire.ParseMetadata(d.parts.Metadata)
	}
	return d
}

// broken reports whether the entry is not what a producer sends.
func (d *decoded) broken() bool { return d.err != nil }

// chunk reports whether the entry is a part of a message.
func (d *decoded) chunk() bool { return d.err == nil && d.meta.NumChunks > 1 }

func (d *decoded) checksum() string {
	switch {
	case !d.parts.HasChecksum:
		return ChecksumNone
	case d.parts.Verify() != nil:
		return ChecksumBad
	}
	return ChecksumOK
}

func compressionName(c int32) string {
	switch pb.CompressionType(c) {
	case pb.CompressionType_NONE:
		return "none"
	case pb.CompressionType_LZ4:
		return "lz4"
	case pb.CompressionType_ZLIB:
		return "zlib"
	case pb.CompressionType_ZSTD:
		return "zstd"
	case pb.CompressionType_SNAPPY:
		return "snappy"
	}
	return fmt.Sprintf("unknown (%d)", c)
}

func chunkOf(m *wire.Metadata) *string {
	if m.NumChunks <= 1 {
		return nil
	}
	return new(fmt.Sprintf("%d/%d", m.ChunkID+1, m.NumChunks))
}

func txnOf(m *wire.Metadata) *string {
	if !m.HasTxn {
		return nil
	}
	return new(fmt.Sprintf("%d:%d", m.TxnMost, m.TxnLeast))
}

// keyOf is the partition key as text; one that the producer sent as bytes is
// shown decoded when it is text.
func keyOf(m *wire.Metadata) *string {
	if m.PartitionKey == nil {
		return nil
	}
	return new(keyText(string(m.PartitionKey), m.PartitionKeyB64))
}

func keyText(k string, b64 bool) string {
	if !b64 {
		return k
	}
	if raw, err := base64.StdEncoding.DecodeString(k); err == nil && printable(raw) {
		return string(raw)
	}
	return k
}

// rawKey is the key as the producer had it.
func rawKey(k []byte, b64 bool) []byte {
	if raw, err := base64.StdEncoding.DecodeString(string(k)); b64 && err == nil {
		return raw
	}
	return k
}

// schemaVersion reads the version that a producer names; nil is none.
func schemaVersion(b []byte) *uint64 {
	if len(b) != 8 {
		return nil
	}
	return new(binary.BigEndian.Uint64(b))
}

// properties are those of an entry. Most have none: then the tag of the field
// is nowhere in the metadata, and it need not be decoded in full.
func (d *decoded) properties() map[string]string {
	const tag = 4<<3 | 2
	if bytes.IndexByte(d.parts.Metadata, tag) < 0 {
		return nil
	}
	full, err := wire.ParseMetadataFull(d.parts.Metadata)
	if err != nil {
		return nil
	}
	return properties(full.Properties)
}

func properties(list []*pb.KeyValue) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for _, kv := range list {
		out[kv.GetKey()] = kv.GetValue()
	}
	return out
}

// producers reads all entries of a topic for the names of their producers.
func (s *Session) producers(ctx context.Context, t *storage.TopicView) ([]string, error) {
	seen := map[string]bool{}
	err := s.walkSpans(ctx, t, Bounds{}, func(e storage.Entry) (bool, error) {
		if d := decodeEntry(e); d.err == nil && len(seen) < maxProducers {
			seen[string(d.meta.ProducerName)] = true
		}
		return true, nil
	})
	return sortedKeys(seen), err
}

// maxProducers bounds the memory that names of producers may take.
const maxProducers = 10_000

// checksumState names what the broker knew when it stored an entry.
func checksumState(c record.ChecksumState) string {
	switch c {
	case record.ChecksumVerified:
		return "verified"
	case record.ChecksumAbsent:
		return "absent"
	}
	return "not verified"
}
