package storage

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
)

// ProducerState is what deduplication knows of one producer of an open topic. It becomes durable in the batches of the
// entries that it counts.
type ProducerState struct {
	topic  *Topic
	name   string
	queued record.Producer // up to the last queued entry; guarded by the topic's append lock
	stored record.Producer // up to the last stored entry; guarded by the topic's lock

	batch *batch          // the committer's: the batch being built when it last took an entry, with
	row   record.Producer // what that batch writes
}

// newProducer is the state of a producer that stored nothing yet.
func newProducer() record.Producer { return record.Producer{Sequence: -1, Chunked: -1} }

// numbered reports whether an entry takes part in deduplication. Sequence ids are signed in Pulsar; what is beyond cannot
// be ordered and is stored.
func (a *Append) numbered() bool { return a.Producer != nil && a.Sequence <= math.MaxInt64 }

// count returns what a producer's state becomes with an entry, and whether the entry's message is there already. Chunks of
// one message share its sequence id: it counts as stored with the last of them. A batch that is new in part is stored:
// nothing is lost, something may come twice.
func count(p record.Producer, a *Append) (_ record.Producer, duplicate bool) {
	first, last := int64(a.Sequence), int64(min(max(a.Sequence, a.Highest), math.MaxInt64))
	switch {
	case last <= p.Sequence, a.Chunks > 1 && first == p.Chunked && a.Chunk < p.Chunk:
		return p, true
	case a.Chunks > 1 && a.Chunk < a.Chunks-1:
		p.Chunked, p.Chunk = first, a.Chunk+1
	default:
		p.Sequence, p.Chunked, p.Chunk = last, -1, 0
	}
	return p, false
}

// ProducerState returns the deduplication state of a producer; one that is not known yet begins with the first entry.
func (t *Topic) ProducerState(name string) *ProducerState {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.producers[name]
	if p == nil {
		p = t.newProducerState(name, newProducer())
		t.producers[name] = p
	}
	return p
}

func (t *Topic) newProducerState(name string, rec record.Producer) *ProducerState {
	return &ProducerState{topic: t, name: name, queued: rec, stored: rec, row: rec}
}

// ProducerStates returns the known producers by name.
func (t *Topic) ProducerStates() []*ProducerState {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return byName(t.producers)
}

// DropProducers forgets producers, which must not be publishing; durable on return. Names that are not known are passed over.
func (t *Topic) DropProducers(ctx context.Context, names []string) error {
	return t.s.control(ctx, func(b *batch) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, name := range names {
			delete(t.producers, name)
			if err := b.Delete(key.ForProducer(t.id, name), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// Name returns the producer's name.
func (p *ProducerState) Name() string { return p.name }

// LastSequence returns the highest sequence id whose message is stored or on its way, -1 when there is none.
func (p *ProducerState) LastSequence() int64 {
	p.topic.appendMu.Lock()
	defer p.topic.appendMu.Unlock()
	return p.queued.Sequence
}

// LastUse returns when the producer last stored something; zero when it has not.
func (p *ProducerState) LastUse() time.Time {
	p.topic.mu.RLock()
	defer p.topic.mu.RUnlock()
	return p.stored.LastUse
}

// note adds an entry to what b writes of the producer; called by the committer.
func (p *ProducerState) note(b *batch, a *Append, now time.Time) {
	if p.batch != b {
		p.batch = b
		b.producers = append(b.producers, p)
	}
	p.row, _ = count(p.row, a)
	p.row.LastUse = now
}

// write adds the producer's record to b; called by the committer.
func (p *ProducerState) write(b *pebble.Batch) error {
	return b.Set(key.ForProducer(p.topic.id, p.name), p.row.Append(nil), nil)
}

// forgetQueued takes back what was counted of entries that were not stored. The append lock is held. The returned function
// does the same for the committer, in its goroutine, before it sees anything that is queued later.
func (t *Topic) forgetQueued() (inCommitter func()) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	stored := make(map[*ProducerState]record.Producer, len(t.producers))
	for _, p := range t.producers {
		p.queued = p.stored
		stored[p] = p.stored
	}
	return func() {
		for p, rec := range stored {
			p.row = rec
		}
	}
}

// loadProducers reads what deduplication knows of a topic's producers.
func (t *TopicState) loadProducers(r pebble.Reader) error {
	lower, upper := key.ForProducers(t.ID)
	return scan(r, lower, upper, func(k, v []byte) error {
		_, name, err := key.ParseProducer(k)
		if err != nil {
			return &CorruptError{Topic: t.Name, Key: bytes.Clone(k), Cause: err}
		}
		rec, err := record.ParseProducer(v)
		if err != nil {
			return &CorruptError{Topic: t.Name, Key: bytes.Clone(k), Cause: fmt.Errorf("producer %q: %w", name, err)}
		}
		if t.Producers == nil {
			t.Producers = map[string]record.Producer{}
		}
		t.Producers[name] = rec
		return nil
	})
}
