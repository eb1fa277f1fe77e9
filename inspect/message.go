package inspect

import (
	"context"
	"errors"
	"fmt"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// Part is a stretch of a stored entry.
type Part struct {
	Name   string `json:"name" col:"PART"`
	Offset int    `json:"offset" col:"OFFSET"`
	Length int    `json:"length" col:"LENGTH"`
}

// FullMessage is the answer of Session.Message: an entry in full, and the
// messages in it that were asked for.
type FullMessage struct {
	Entry
	Stored string              `json:"checksumWhenStored" col:"STORED_CHECKSUM"` // what the broker knew of it
	Meta   *MetadataFields     `json:"metadata" col:"METADATA"`
	List   []Message           `json:"batchMessages" col:"LIST"`
	Parts  []Part              `json:"parts" col:"PARTS"`
	Data   []byte              `json:"data" col:"DATA,wide" fmt:"preview"` // as stored
	At     wire.Position       `json:"-"`
	Header storage.EntryHeader `json:"header" col:"HEADER,wide"`
}

// MetadataFields are the rarer fields of an entry's metadata.
type MetadataFields struct {
	HighestSequenceID uint64   `json:"highestSequenceId" col:"HIGHEST_SEQUENCE" fmt:"plain"`
	UncompressedSize  uint32   `json:"uncompressedSize" col:"UNCOMPRESSED" fmt:"bytes"`
	SchemaVersion     []byte   `json:"schemaVersion" col:"SCHEMA_VERSION"`
	ReplicatedFrom    string   `json:"replicatedFrom" col:"REPLICATED_FROM"`
	EncryptionKeys    []string `json:"encryptionKeys" col:"ENCRYPTION_KEYS"`
	EncryptionAlgo    string   `json:"encryptionAlgo" col:"ENCRYPTION_ALGO"`
	UUID              string   `json:"uuid" col:"UUID"`
	TotalChunkSize    int32    `json:"totalChunkSize" col:"CHUNKED_SIZE" fmt:"bytes"`
}

// Message reads one entry in full. Ledger ids are unique in a spool, so the
// position alone finds it. A batch index chooses one message of a batch.
func (s *Session) Message(ctx context.Context, id wire.MessageID) (*FullMessage, error) {
	return again(s, func() (*FullMessage, error) {
		t, err := s.topicOfLedger(ctx, id.Ledger)
		if err != nil {
			return nil, err
		}
		e, err := s.readAt(ctx, t, id.Position)
		if errors.Is(err, storage.ErrEntryNotFound) && !t.Ledgers.Has(id.Position) {
			return nil, &NotFoundError{What: "entry", Name: id.Position.String(), Known: lastOf(t, id.Ledger)}
		}
		if _, inObject := behindObject(t, id.Position, err); err != nil && inObject {
			return nil, err
		}
		if err != nil {
			return nil, s.degrade(ctx, err)
		}
		return s.fullMessage(t, e, id)
	})
}

func lastOf(t *storage.TopicView, ledger int64) []string {
	for _, l := range t.Ledgers {
		if l.ID == ledger && l.Entries > 0 {
			return []string{wire.Position{Ledger: ledger}.String() + " to " + wire.Position{Ledger: ledger, Entry: l.Entries - 1}.String()}
		}
	}
	return nil
}

// topicOfLedger finds the topic that owns a ledger.
func (s *Session) topicOfLedger(ctx context.Context, ledger int64) (_ *storage.TopicView, err error) {
	lower, upper := key.Ledger.Bounds()
	it, err := s.spool.Reader().NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, s.degrade(ctx, err)
	}
	var owner uint64
	for ok := it.First(); ok && owner == 0; ok = it.Next() {
		if topic, id, err := key.ParseLedger(it.Key()); err == nil && id == ledger {
			owner = topic
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return nil, s.degrade(ctx, err)
	}
	if owner == 0 {
		return nil, &NotFoundError{What: "ledger", Name: fmt.Sprint(ledger)}
	}
	t, err := s.topic(ctx, storage.TopicHead{ID: owner})
	if err == nil && t == nil {
		err = &NotFoundError{What: "a readable topic", Name: fmt.Sprintf("with id %d", owner)}
	}
	return t, err
}

func (s *Session) fullMessage(t *storage.TopicView, e storage.Entry, id wire.MessageID) (*FullMessage, error) {
	out := &FullMessage{Entry: entryRow(t.Name, e), Stored: checksumState(e.Header.Checksum), Data: e.Data, At: e.Position, Header: e.Header}
	d := decodeEntry(e)
	out.Parts = partsOf(e.Data, d.parts, d.err == nil)
	if d.err == nil {
		out.Meta = metadataFields(&d)
	}
	for m, bad := range messagesOf(t.Name, e, &d, nil) {
		if bad != nil {
			s.problem(*bad)
		}
		if got, err := wire.ParseMessageID(m.ID); err == nil && (id.Batch < 0 || got.Batch == id.Batch) {
			out.List = append(out.List, m)
		}
	}
	if len(out.List) == 0 {
		return nil, &NotFoundError{What: "message", Name: id.String(), Known: []string{fmt.Sprintf("batch indexes 0 to %d", e.Header.Messages-1)}}
	}
	return out, nil
}

func metadataFields(d *decoded) *MetadataFields {
	full, err := wire.ParseMetadataFull(d.parts.Metadata)
	if err != nil {
		return nil
	}
	m := &MetadataFields{
		HighestSequenceID: full.GetHighestSequenceId(), UncompressedSize: full.GetUncompressedSize(),
		SchemaVersion: full.GetSchemaVersion(), ReplicatedFrom: full.GetReplicatedFrom(),
		EncryptionAlgo: full.GetEncryptionAlgo(), UUID: full.GetUuid(), TotalChunkSize: full.GetTotalChunkMsgSize(),
	}
	for _, k := range full.GetEncryptionKeys() {
		m.EncryptionKeys = append(m.EncryptionKeys, k.GetKey())
	}
	return m
}

// partsOf names the stretches of a stored entry in order.
func partsOf(data []byte, p wire.EntryParts, whole bool) []Part {
	if !whole {
		return []Part{{Name: "entry", Length: len(data)}}
	}
	var out []Part
	at := 0
	add := func(name string, n int) {
		if n > 0 {
			out = append(out, Part{Name: name, Offset: at, Length: n})
			at += n
		}
	}
	if p.Broker != nil {
		add("broker metadata magic", 2)
		add("broker metadata size", 4)
		add("broker metadata", len(p.Broker))
	}
	if p.HasChecksum {
		add("checksum magic", 2)
		add("checksum (CRC-32C)", 4)
	}
	add("metadata size", 4)
	add("metadata", len(p.Metadata))
	add("payload", len(p.Payload))
	return out
}
