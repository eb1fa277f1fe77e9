package topic

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/broker/meter"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// ForceSyncProperty is the message property that, with the value "true", makes a message be fsynced before its receipt is
// sent where the sync mode is none. Batches have it as a property of the whole, which no client sets: send such messages
// one by one.
const ForceSyncProperty = "spool-force-sync"

// maxBatch is the largest number of messages that one entry may claim to hold.
const maxBatch = 1 << 20

// Receipt answers one SEND.
type Receipt struct {
	ProducerID        uint64
	Sequence, Highest uint64
	Position          wire.Position
	Size              int // bytes of the entry
}

// ProducerOutlet is the connection behind a producer. Its methods must not block.
type ProducerOutlet interface {
	// Receipts queues receipts, which are in order, and wakes the writer once. The
	// slice is the caller's again on return.
	Receipts(rs []Receipt)
	// CloseProducer tells the client that it has to make the producer again, and
	// forgets it: later SENDs of it are ignored.
	CloseProducer(p *Producer)
	// ProducerReady tells a producer that waited that it has the topic now.
	ProducerReady(p *Producer)
	// PublishDone gives back what unanswered SENDs of so many bytes took.
	PublishDone(bytes int)
}

// ProducerOptions describe a producer.
type ProducerOptions struct {
	ID            uint64 // chosen by the client, unique in its connection
	Request       uint64 // of the PRODUCER command, for ProducerReady
	Name          string // empty: one is made up
	Generated     bool   // the name was made up, now or before a reconnect
	Epoch         uint64 // counts the client's reconnects
	Access        pb.ProducerAccessMode
	TopicEpoch    uint64 // from an earlier exclusive access
	HasTopicEpoch bool
	Encrypted     bool
	Schema        []byte // version of the schema that the producer has, as clients get it; nil without one
	Metadata      map[string]string
	Address       string
	Version       string
	Outlet        ProducerOutlet
}

// Producer is one attached producer.
type Producer struct {
	// What every publish touches comes first, side by side: see meter.Flow.
	t       *Topic
	outlet  ProducerOutlet
	ID      uint64
	dedup   *storage.ProducerState // nil: not deduplicated; set before the producer is attached
	ready   atomic.Bool            // may publish
	failed  atomic.Bool            // a publish failed: the client has to make the producer again
	mu      sync.Mutex
	pending int           // publishes without an answer
	idle    chan struct{} // closed when pending reaches 0; nil when nobody waits
	retired bool          // takes no more publishes; the client will be told when those under way are answered
	In      meter.Flow

	Request    uint64
	Name       string
	Generated  bool
	Epoch      uint64
	Access     pb.ProducerAccessMode
	TopicEpoch atomic.Uint64
	Schema     []byte // see ProducerOptions
	Metadata   map[string]string
	Address    string
	Version    string
	Connected  time.Time
	Chunks     meter.Flow
}

// Topic is where the producer publishes.
func (p *Producer) Topic() *Topic { return p.t }

// Ready says whether the producer may publish; one that waits for exclusive access may not yet.
func (p *Producer) Ready() bool { return p.ready.Load() }

// Publish takes one SEND. entry is the frame's payload, from the checksum magic on; it
// is kept and must not be changed. The answer comes through the outlet, in order. An
// error refuses the message, with Checksum or NotAllowed, and nothing is in flight then.
// Publishes of a producer that is being closed are ignored, as its client will send them
// again; one that the store refuses closes the producer.
func (p *Producer) Publish(s wire.Send, entry []byte) error {
	if p.failed.Load() || p.t.closed.Load() || !p.ready.Load() {
		p.outlet.PublishDone(len(entry))
		return nil
	}
	parts, err := wire.SplitEntry(entry)
	if err != nil {
		return fault.Wrap(fault.Checksum, err, "the message cannot be read")
	}
	if err := parts.Verify(); err != nil {
		return fault.Wrap(fault.Checksum, err, "the message was damaged on its way")
	}
	m, err := wire.ParseMetadata(parts.Metadata)
	if err != nil {
		return fault.Wrap(fault.Checksum, err, "the message's metadata cannot be read")
	}
	switch {
	case s.HasTxn || m.HasTxn:
		return fault.New(fault.NotAllowed, "transactions are not available on this broker")
	case m.NumMessages < 1 || m.NumMessages > maxBatch:
		return fault.New(fault.NotAllowed, "a batch of %d messages is not allowed; at most %d", m.NumMessages, maxBatch)
	}
	rules := p.t.policies.Load()
	if rules.MaxMessageSize > 0 && len(entry) > rules.MaxMessageSize {
		return fault.New(fault.NotAllowed, "the message has %d bytes; %s takes at most %d", len(entry), p.t.name, rules.MaxMessageSize)
	}
	if !p.begin() {
		p.outlet.PublishDone(len(entry))
		return nil
	}
	if s.IsChunk {
		p.Chunks.Add(p.t.r.opt.Now(), 1, int64(len(entry)))
		p.t.chunks.Add(1)
	}
	if p.t.feed != nil {
		if !p.t.feed.add(p, s, m.NumMessages, entry) {
			p.end(1, len(entry))
		}
		return nil
	}
	state := record.ChecksumVerified
	if !parts.HasChecksum {
		state = record.ChecksumAbsent
	}
	a := storage.Append{
		Data: entry, PublishTime: int64(m.PublishTime), Messages: m.NumMessages, Checksum: state,
		Tag: p, Sequence: s.SequenceID, Highest: s.HighestSequenceID, Producer: p.dedup,
	}
	if s.IsChunk {
		a.Chunk, a.Chunks = m.ChunkID, m.NumChunks
	}
	if rules.Sync == storage.SyncNone {
		a.ForceSync = hasProperty(parts.Metadata, ForceSyncProperty, "true")
	}
	err = p.t.store.Append(a)
	if err == nil {
		return nil
	}
	p.end(1, 0)
	if errors.Is(err, storage.ErrTooLarge) {
		return fault.Wrap(fault.NotAllowed, err, "the message is too large")
	}
	// Not an error for this message: the client makes the producer again, and learns
	// then whether the topic is terminated or the trouble has passed.
	if !errors.Is(err, storage.ErrTerminated) && !errors.Is(err, storage.ErrClosed) {
		p.t.r.opt.Logger.Warn("a publish was refused by the store", "topic", p.t.name.String(), "producer", p.Name, "error", err)
	}
	p.fail()
	p.outlet.PublishDone(len(entry))
	return nil
}

// begin books a publish; false when the producer takes no more.
func (p *Producer) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return false
	}
	p.pending++
	return true
}

// end books answers, and gives back the bytes of publishes that get none.
func (p *Producer) end(n, unanswered int) {
	p.mu.Lock()
	p.pending -= n
	if p.pending == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
	p.mu.Unlock()
	if unanswered > 0 {
		p.outlet.PublishDone(unanswered)
	}
}

// settled waits until every publish is answered.
func (p *Producer) settled(ctx context.Context) error {
	p.mu.Lock()
	if p.pending == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fail makes the client create the producer again; what it has not got receipts for it
// sends again then.
func (p *Producer) fail() {
	if p.failed.CompareAndSwap(false, true) {
		p.outlet.CloseProducer(p)
		p.t.removeProducer(p)
	}
}

// retire makes the client create the producer again, once everything that was taken of it is answered, so that it sends
// nothing twice; or, with an error, when ctx ends before.
func (p *Producer) retire(ctx context.Context) error {
	p.mu.Lock()
	p.retired = true
	p.mu.Unlock()
	err := p.settled(ctx)
	p.fail()
	return fault.Wrap(fault.NotReady, err, "waiting for the publishes of producer %s", p.Name)
}

// Close detaches the producer after its publishes are answered. Only the first call counts.
func (p *Producer) Close(ctx context.Context) error {
	err := p.settled(ctx)
	p.Drop()
	return err
}

// Drop detaches the producer at once: its connection is gone.
func (p *Producer) Drop() {
	p.failed.Store(true)
	p.t.removeProducer(p)
}

// Committed takes the result of a batch for this topic's entries in it: it answers the
// producers and tells the dispatchers. The store calls it, from one goroutine, in order.
func (t *Topic) Committed(entries []storage.Appended, err error) {
	if err != nil {
		t.r.opt.Logger.Error("publishes failed", "topic", t.name.String(), "entries", len(entries), "error", err)
	}
	now := t.r.opt.Now()
	var messages, bytes int64
	stored := 0
	for i := 0; i < len(entries); {
		p, _ := entries[i].Tag.(*Producer)
		j := i
		var m, b, all int64
		t.receipts = t.receipts[:0]
		for ; j < len(entries) && entries[j].Tag == entries[i].Tag; j++ {
			e := &entries[j]
			all += int64(len(e.Data))
			if !e.Duplicate {
				m += int64(max(1, e.Messages))
				b += int64(len(e.Data))
				stored++
			}
			if p != nil {
				t.receipts = append(t.receipts, Receipt{
					ProducerID: p.ID, Sequence: e.Sequence, Highest: e.Highest, Position: e.Position, Size: len(e.Data),
				})
			}
		}
		if p != nil {
			t.answer(p, now, m, b, all, err)
		}
		messages += m
		bytes += b
		i = j
	}
	if err != nil || stored == 0 {
		return
	}
	t.In.Add(now, messages, bytes)
	t.bookWrites(now, entries)
	t.lastIn.Store(now.UnixMilli())
	if t.hungry.Load() == 0 {
		return
	}
	for _, s := range *t.list.Load() {
		s.disp().Data()
	}
}

// answer sends the receipts gathered for p, or makes it start over. size is what its entries took, duplicates included,
// messages and bytes count what was published.
func (t *Topic) answer(p *Producer, now time.Time, messages, bytes, size int64, err error) {
	n := len(t.receipts)
	switch {
	case err != nil:
		p.fail()
		p.end(n, int(size))
		return
	case p.failed.Load():
		p.end(n, int(size))
		return
	}
	p.In.Add(now, messages, bytes)
	p.outlet.Receipts(t.receipts)
	p.end(n, 0)
}

// bookWrites counts the entries of a batch that became durable, once for all of them.
func (t *Topic) bookWrites(now time.Time, entries []storage.Appended) {
	var b meter.WriteBatch
	for i := range entries {
		if !entries[i].Duplicate {
			b.Observe(len(entries[i].Data), entries[i].Took)
		}
	}
	t.Writes.Add(now, &b)
}
