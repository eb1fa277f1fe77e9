package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/wire"
)

// MessageHead is a message without its payload.
type MessageHead struct {
	ID          string            `json:"messageId" col:"MESSAGE_ID,name"`
	Topic       string            `json:"topic" col:"TOPIC,wide"`
	PublishTime time.Time         `json:"publishTime" col:"PUBLISHED" fmt:"time"`
	EventTime   time.Time         `json:"eventTime" col:"EVENT_TIME,wide" fmt:"time"`
	Producer    *string           `json:"producer" col:"PRODUCER"`
	SequenceID  *uint64           `json:"sequenceId" col:"SEQUENCE,wide" fmt:"plain"`
	Key         *string           `json:"key" col:"KEY"`
	OrderingKey []byte            `json:"orderingKey" col:"ORDERING_KEY,wide"`
	DeliverAt   time.Time         `json:"deliverAt" col:"DELIVER_AT,wide" fmt:"time"`
	Properties  map[string]string `json:"properties" col:"PROPERTIES"`
	Chunk       *string           `json:"chunk" col:"CHUNK,wide"`
	Txn         *string           `json:"txn" col:"TXN,wide"`
	NullValue   bool              `json:"nullValue" col:"NULL,wide"`
	Size        int               `json:"size" col:"SIZE" fmt:"bytes"`
	Schema      *uint64           `json:"schemaVersion" col:"SCHEMA,wide" fmt:"plain"` // nil: the producer named none
	Note        *string           `json:"note" col:"NOTE,wide"`                        // why the payload is not the plain message

	chunkID int32
	rawKey  []byte // the partition key as the producer had it
}

// Message is one line of `inspect messages`.
type Message struct {
	MessageHead
	Payload []byte `json:"payload" col:"PAYLOAD" fmt:"preview"`
}

// MessagesOptions are for Session.Messages.
type MessagesOptions struct {
	Selector
	Bounds
	Filter
	// Pending lists exactly what this subscription would receive next, in
	// order: acknowledged entries and messages of batches are left out. It
	// needs one topic.
	Pending string
}

// Messages is the answer of Session.Messages.
type Messages struct {
	Rows iter.Seq2[Message, error] // Payload is valid until the next row

	total, folded int64
}

// Total is how many rows there are, as far as is known: it shrinks while Rows
// joins chunks. 0 when only the end tells.
func (m *Messages) Total() int64 { return max(0, m.total-m.folded) }

// maxPayload bounds what one entry may decompress to: the largest that a
// producer can be allowed to send, many times over.
const maxPayload = 256 << 20

// Messages lists the messages of stored entries in order, batches taken apart.
func (s *Session) Messages(ctx context.Context, o MessagesOptions) (*Messages, error) {
	if o.Pending != "" {
		return s.pendingMessages(ctx, o)
	}
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return nil, err
	}
	return s.messages(ctx, views, o), nil
}

// messages is Messages of topics that are read already.
func (s *Session) messages(ctx context.Context, views []*storage.TopicView, o MessagesOptions) *Messages {
	out := &Messages{}
	if o.Filter.empty() && o.Bounds == (Bounds{}) {
		for _, t := range views {
			out.total += t.Stats().Messages
		}
	}
	out.Rows = func(yield func(Message, error) bool) {
		for _, t := range views {
			if !s.unpack(ctx, t, o, out, yield, func(u *unpacker) error { return u.walk(ctx) }) {
				return
			}
		}
	}
	return out
}

// walkSpans is walk over all that may be in the bounds.
func (s *Session) walkSpans(ctx context.Context, t *storage.TopicView, b Bounds, each func(storage.Entry) (bool, error)) error {
	more := true
	for _, sp := range b.spans(t) {
		err := s.walk(ctx, t, sp.from, sp.to, func(e storage.Entry) (_ bool, err error) {
			more, err = each(e)
			return more, err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (s *Session) pendingMessages(ctx context.Context, o MessagesOptions) (*Messages, error) {
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return nil, err
	}
	if len(views) != 1 {
		return nil, errors.New("what is pending is a question about one topic: name it in full")
	}
	t := views[0]
	c, err := cursorOf(t, o.Pending)
	if err != nil {
		return nil, err
	}
	out := &Messages{}
	if o.Filter.empty() && o.Bounds == (Bounds{}) {
		out.total = t.Backlog(c).Messages
	}
	out.Rows = func(yield func(Message, error) bool) {
		s.unpack(ctx, t, o, out, yield, func(u *unpacker) error { return u.walkPending(ctx, c) })
	}
	return out, nil
}

// messagesOf takes an entry apart. One that cannot be is one message with the
// stored payload and a note, and a problem where it is damaged.
func messagesOf(topic string, e storage.Entry, d *decoded, remaining []uint64) iter.Seq2[Message, *damage.Problem] {
	return func(yield func(Message, *damage.Problem) bool) {
		base := Message{MessageHead: MessageHead{ID: messageID(e.Position), Topic: topic, PublishTime: fromMillis(e.Header.PublishTime), Size: len(e.Data)}, Payload: e.Data}
		whole := func(why string, damaged bool) {
			base.Note = &why
			var bad *damage.Problem
			if damaged {
				bad = &damage.Problem{What: fmt.Sprintf("%s: entry %s cannot be taken apart: %s", topic, e.Position, why), Ledgers: []int64{e.Position.Ledger}}
			}
			yield(base, bad)
		}
		if d.err != nil {
			whole(firstLine(d.err), true)
			return
		}
		m := &d.meta
		base.entry(d)
		base.Payload, base.Size = d.parts.Payload, len(d.parts.Payload)
		switch {
		case m.Encrypted:
			whole("the payload is encrypted", false)
			return
		case m.NumChunks > 1:
			whole("one chunk of a message; `inspect messages` joins them", false)
			return
		}
		if err := d.parts.Verify(); err != nil {
			whole(firstLine(err), true)
			return
		}
		payload, err := wire.Decompress(m, d.parts.Payload, maxPayload)
		if err != nil {
			whole(firstLine(err), true)
			return
		}
		for single, err := range wire.Unbatch(m, payload) {
			if err != nil {
				whole(firstLine(err), true)
				return
			}
			if !wanted(remaining, single.Index) {
				continue
			}
			msg := base
			msg.single(e.Position, single)
			if !yield(msg, nil) {
				return
			}
		}
	}
}

func wanted(remaining []uint64, index int32) bool {
	if remaining == nil || index < 0 {
		return true
	}
	w := int(index) / 64
	return w < len(remaining) && remaining[w]>>(index%64)&1 == 1
}

// entry fills in what the entry's metadata says.
func (m *Message) entry(d *decoded) {
	meta := &d.meta
	m.Producer, m.SequenceID = new(string(meta.ProducerName)), &meta.SequenceID
	m.EventTime, m.DeliverAt = fromMillis(int64(meta.EventTime)), fromMillis(meta.DeliverAt)
	m.Key, m.OrderingKey = keyOf(meta), append([]byte(nil), meta.OrderingKey...)
	m.Chunk, m.Txn, m.NullValue = chunkOf(meta), txnOf(meta), meta.NullValue
	m.Schema, m.rawKey = schemaVersion(meta.SchemaVersion), rawKey(meta.PartitionKey, meta.PartitionKeyB64)
	m.Properties = d.properties()
}

// single fills in what one message of a batch says.
func (m *Message) single(p wire.Position, s wire.Single) {
	m.Payload, m.Size = s.Payload, len(s.Payload)
	meta := s.Meta
	if meta == nil {
		return
	}
	m.ID = wire.MessageID{Position: p, Partition: -1, Batch: s.Index}.String()
	m.Properties = properties(meta.Properties)
	m.Key, m.OrderingKey, m.NullValue, m.rawKey = nil, meta.OrderingKey, meta.GetNullValue(), nil
	if meta.PartitionKey != nil {
		m.rawKey = rawKey([]byte(meta.GetPartitionKey()), meta.GetPartitionKeyB64Encoded())
		m.Key = new(keyText(meta.GetPartitionKey(), meta.GetPartitionKeyB64Encoded()))
	}
	if meta.EventTime != nil {
		m.EventTime = fromMillis(int64(meta.GetEventTime()))
	}
	if meta.SequenceId != nil {
		m.SequenceID = new(meta.GetSequenceId())
	}
}
