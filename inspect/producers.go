package inspect

import (
	"context"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// Producer is one line of `inspect producers`: a producer as its stored entries
// show it.
type Producer struct {
	Topic         string    `json:"topic" col:"TOPIC"`
	Producer      string    `json:"producer" col:"PRODUCER,name"`
	Entries       int64     `json:"entries" col:"ENTRIES" fmt:"count"`
	Messages      int64     `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes         int64     `json:"bytes" col:"BYTES" fmt:"bytes"`
	FirstSequence uint64    `json:"firstSequenceId" col:"FIRST_SEQUENCE,wide" fmt:"plain"`
	LastSequence  uint64    `json:"lastSequenceId" col:"LAST_SEQUENCE" fmt:"plain"` // highest, batches included
	FirstEntry    string    `json:"firstEntry" col:"FIRST_ENTRY,wide"`
	LastEntry     string    `json:"lastEntry" col:"LAST_ENTRY"`
	FirstPublish  time.Time `json:"firstPublish" col:"FIRST,wide" fmt:"time"`
	LastPublish   time.Time `json:"lastPublish" col:"LAST" fmt:"time"`
	Dedup         *int64    `json:"dedupSequenceId" col:"DEDUP,wide" fmt:"plain"` // what deduplication knows; nil: nothing
}

// ProducerTotals are sums over producers.
type ProducerTotals struct {
	Producers int   `json:"producers" col:"PRODUCERS" fmt:"count"`
	Entries   int64 `json:"entries" col:"ENTRIES" fmt:"count"`
	Messages  int64 `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes     int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
	// Unnamed counts entries that cannot be taken apart, and those of producers
	// beyond the first ten thousand of a topic.
	Unnamed int64 `json:"unnamedEntries" col:"UNNAMED_ENTRIES" fmt:"count"`
}

// ProducerList is the answer of Producers.
type ProducerList struct {
	Producers []Producer
	Totals    ProducerTotals
}

// ProducersOptions are for Session.Producers.
type ProducersOptions struct {
	Selector
	Bounds
}

// Producers reads the entries of the chosen topics and says who published
// them.
func (s *Session) Producers(ctx context.Context, o ProducersOptions) (out ProducerList, err error) {
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return out, err
	}
	for _, t := range views {
		seen := map[string]*Producer{}
		err := s.walkSpans(ctx, t, o.Bounds, func(e storage.Entry) (bool, error) {
			if !o.inTime(e.Header.PublishTime) {
				return true, nil
			}
			out.Totals.Entries++
			out.Totals.Messages += int64(e.Header.Messages)
			out.Totals.Bytes += int64(len(e.Data))
			d := decodeEntry(e)
			p := seen[string(d.meta.ProducerName)]
			switch {
			case d.broken(), p == nil && len(seen) >= maxProducers:
				out.Totals.Unnamed++
				return true, nil
			case p == nil:
				p = &Producer{Topic: t.Name, Producer: string(d.meta.ProducerName), FirstSequence: d.meta.SequenceID, FirstEntry: e.Position.String()}
				seen[p.Producer] = p
			}
			p.add(e, &d.meta)
			return true, nil
		})
		if err != nil {
			return out, err
		}
		for _, name := range sortedKeys(seen) {
			p := seen[name]
			if st, ok := t.Producers[name]; ok && st.Sequence >= 0 {
				p.Dedup = &st.Sequence
			}
			out.Producers = append(out.Producers, *p)
		}
	}
	out.Totals.Producers = len(out.Producers)
	return out, nil
}

func (p *Producer) add(e storage.Entry, m *wire.Metadata) {
	p.Entries++
	p.Messages += int64(e.Header.Messages)
	p.Bytes += int64(len(e.Data))
	p.FirstSequence = min(p.FirstSequence, m.SequenceID)
	p.LastSequence = max(p.LastSequence, m.SequenceID, m.HighestSequenceID)
	p.LastEntry = e.Position.String()
	at := fromMillis(e.Header.PublishTime)
	if p.FirstPublish.IsZero() || at.Before(p.FirstPublish) {
		p.FirstPublish = at
	}
	if at.After(p.LastPublish) {
		p.LastPublish = at
	}
}

// Dedup is one line of `inspect dedup`: what deduplication knows of a producer.
type Dedup struct {
	Topic    string    `json:"topic" col:"TOPIC"`
	Producer string    `json:"producer" col:"PRODUCER,name"`
	Sequence *int64    `json:"lastSequenceId" col:"LAST_SEQUENCE" fmt:"plain"` // highest whose message is stored whole; nil: none
	Chunked  *int64    `json:"chunkedSequenceId" col:"IN_CHUNKS" fmt:"plain"`  // of a message that is stored in part
	Chunk    *int32    `json:"nextChunk" col:"NEXT_CHUNK" fmt:"plain"`         // of it
	LastUse  time.Time `json:"lastUse" col:"LAST_USE" fmt:"time"`              // zero: not known
	TopicID  uint64    `json:"topicId" col:"TOPIC_ID,wide" fmt:"plain"`
}

// Dedups lists the deduplication state of the chosen topics.
func (s *Session) Dedups(ctx context.Context, sel Selector) ([]Dedup, error) {
	return again(s, func() (out []Dedup, err error) {
		err = s.eachTopic(ctx, sel, func(t *storage.TopicView) error {
			for _, name := range sortedKeys(t.Producers) {
				out = append(out, dedupRow(t, name, t.Producers[name]))
			}
			return nil
		})
		return out, err
	})
}

func dedupRow(t *storage.TopicView, name string, p record.Producer) Dedup {
	row := Dedup{Topic: t.Name, Producer: name, LastUse: p.LastUse, TopicID: t.ID}
	if p.Sequence >= 0 {
		row.Sequence = &p.Sequence
	}
	if p.Chunked >= 0 {
		row.Chunked, row.Chunk = &p.Chunked, &p.Chunk
	}
	return row
}
