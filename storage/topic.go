package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// Topic is an open topic. At most one exists per name.
type Topic struct {
	s    *Store
	id   uint64
	name wire.TopicName
	full string
	sink Sink

	appendMu sync.Mutex // guards what follows; held while queueing, so that positions and the queue have one order
	writer   *writer    // the ledger that takes entries; nil until the first append after a recovery
	assigned Totals     // of the topic up to the last queued entry
	closing  bool
	ended    bool // terminated
	sync     SyncMode

	lastAtTail atomic.Int64 // by the queue's clock; see followed

	mu      sync.RWMutex // guards what follows; never held across I/O
	head    record.Topic
	ledgers Ledgers
	tail    tail
	cursors map[string]*Cursor
	policy  TrimPolicy
	offload offloading
	compact compacting
	damaged []Range // see quarantine.go

	producers map[string]*ProducerState // for deduplication, by name
	closed    bool                      // nothing of it is written any more
}

// TopicOptions are for creating a topic.
type TopicOptions struct {
	Properties map[string]string
	Sink       Sink
}

// Sink receives the results of appends. Committed is called in order, from one goroutine for the whole store: it must not
// block, must not call Append or anything that waits for the store, and may keep the entries' Data but not the slice. err
// is set when the entries are not stored.
type Sink interface {
	Committed(entries []Appended, err error)
}

// claim reserves a name for opening, creating or deleting its topic; release must follow.
func (s *Store) claim(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if _, taken := s.open[name]; taken {
		return fmt.Errorf("%w: %s", ErrTopicOpen, name)
	}
	s.open[name] = nil
	return nil
}

func (s *Store) release(name string, t *Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t == nil {
		delete(s.open, name)
		return
	}
	s.open[name] = t
}

// CreateTopic makes a topic with its first ledger and opens it; durable on return. It returns ErrTopicExists, ErrBadName.
func (s *Store) CreateTopic(ctx context.Context, name wire.TopicName, o TopicOptions) (_ *Topic, err error) {
	full := name.String()
	if err := checkName(full); err != nil {
		return nil, fmt.Errorf("%w: %q", err, full)
	}
	if err := s.claim(full); err != nil {
		return nil, err
	}
	var t *Topic
	defer func() { s.release(full, t) }()
	if s.HasTopic(name) {
		return nil, fmt.Errorf("%w: %s", ErrTopicExists, full)
	}
	now := s.opt.Now()
	st := &TopicState{TopicHead: TopicHead{ID: s.ids.newTopic(), Topic: record.Topic{Name: full, Created: now, Properties: maps.Clone(o.Properties)}}}
	st.Ledgers = Ledgers{{ID: s.ids.newLedger(), Ledger: record.Ledger{Created: now}}}
	err = s.control(ctx, func(b *batch) error {
		b.usesIDs = true
		return firstError(
			b.Set(key.ForTopic(st.ID), st.Topic.Append(nil), nil),
			b.Set(key.ForLedger(st.ID, st.Ledgers[0].ID), st.Ledgers[0].Append(nil), nil))
	})
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", full, err)
	}
	s.names.set(full, st.ID)
	if t, err = s.newTopic(name, st, o.Sink); err != nil {
		return nil, err
	}
	return t, nil
}

// OpenTopic loads a topic. It returns ErrTopicNotFound, ErrTopicOpen, *CorruptError.
func (s *Store) OpenTopic(ctx context.Context, name wire.TopicName, sink Sink) (*Topic, error) {
	if err := s.loads.enter(ctx); err != nil {
		return nil, err
	}
	defer s.loads.leave()
	full := name.String()
	if err := s.claim(full); err != nil {
		return nil, err
	}
	var t *Topic
	defer func() { s.release(full, t) }()
	st, err := s.loadByName(full)
	if err != nil {
		return nil, err
	}
	if l := st.Ledgers.last(); l.State == record.LedgerOpen && l.Entries > 0 {
		s.stats.recoveredTopics.Add(1)
		s.log.Info("recovered topic", "topic", full, "ledger", l.ID, "entries", l.Entries, "last", st.Ledgers.LastConfirmed().String())
	}
	t, err = s.newTopic(name, st, sink)
	return t, err
}

func (s *Store) loadByName(full string) (*TopicState, error) {
	id, ok := s.names.id(full)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, full)
	}
	snap := s.db.NewSnapshot() // an epoch may end meanwhile
	m, err := readMeta(snap)
	if err != nil {
		return nil, errors.Join(err, snap.Close())
	}
	st, err := loadTopic(snap, id, m.RecordedEpoch, false)
	return st, firstError(err, snap.Close())
}

func (s *Store) newTopic(name wire.TopicName, st *TopicState, sink Sink) (*Topic, error) {
	for _, l := range slices.Concat(st.Ledgers, st.Compacted) {
		l.slim()
	}
	t := &Topic{
		s: s, id: st.ID, name: name, full: st.Name, sink: sink,
		assigned: st.Ledgers.End(), ended: st.Terminated, sync: s.opt.Sync,
		head: st.Topic, ledgers: st.Ledgers, cursors: map[string]*Cursor{}, producers: map[string]*ProducerState{},
		tail: tail{used: &s.tails.used}, offload: offloading{policy: OffloadPolicy{Threshold: -1}, status: OffloadStatus{LastLedger: -1}},
	}
	// An empty open ledger is taken on; one with entries is what a crash left: it is closed when the next one opens.
	if l := st.Ledgers.last(); l.State == record.LedgerOpen && l.Entries == 0 {
		t.writer = &writer{topic: t, id: l.ID, rec: l.Ledger, stored: l}
	}
	for name, rec := range st.Producers {
		t.producers[name] = t.newProducerState(name, rec)
	}
	if err := st.passLost(t.cumulativeAt); err != nil {
		return nil, err
	}
	for _, c := range st.Cursors {
		t.cursors[c.Name] = newCursor(t, *c, true)
	}
	t.compact = loadCompacted(st)
	return t, nil
}

// DeleteTopic deletes a topic with everything it has; durable on return. It returns ErrTopicNotFound, or ErrTopicOpen when
// the topic was not closed before.
func (s *Store) DeleteTopic(ctx context.Context, name wire.TopicName) error {
	if err := s.deletes.enter(ctx); err != nil {
		return err
	}
	defer s.deletes.leave()
	full := name.String()
	if err := s.claim(full); err != nil {
		return err
	}
	defer s.release(full, nil)
	st, err := s.loadByName(full)
	if err != nil {
		return err
	}
	err = s.control(ctx, func(b *batch) error {
		for _, l := range slices.Concat(st.Ledgers, st.Compacted) {
			if err := s.dropLedger(b, st.ID, l); err != nil {
				return err
			}
		}
		holesLower, holesUpper := key.ForHolesOfTopic(st.ID)
		cursorsLower, cursorsUpper := key.ForCursors(st.ID)
		producersLower, producersUpper := key.ForProducers(st.ID)
		return firstError(
			b.DeleteRange(holesLower, holesUpper, nil),
			b.DeleteRange(cursorsLower, cursorsUpper, nil),
			b.DeleteRange(producersLower, producersUpper, nil),
			b.Delete(key.ForTopic(st.ID), nil))
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", full, err)
	}
	s.names.remove(full)
	s.offloader.gone(st.Ledgers)
	return nil
}

// Close waits for the appends in flight, makes cursors durable and closes the ledger. The topic may then be opened again.
// Later calls return ErrClosed.
func (t *Topic) Close(ctx context.Context) error {
	t.appendMu.Lock()
	if t.closing {
		t.appendMu.Unlock()
		return ErrClosed
	}
	t.closing = true
	id, rec := t.closedLedger()
	w := t.writer
	if rec.Entries == 0 && t.writer != nil && !t.writer.failed.Load() {
		rec.Closed = time.Time{} // an empty ledger is taken on by the next opening
	}
	t.appendMu.Unlock()

	waits := []error{}
	for _, c := range t.Cursors() {
		waits = append(waits, c.close(ctx))
	}
	err := t.s.control(ctx, func(b *batch) error {
		t.mu.Lock()
		t.closed = true
		t.mu.Unlock()
		// A ledger of which entries were refused holds fewer than were counted: the next opening counts them.
		if rec.Closed.IsZero() || (w != nil && w.stopped) {
			return nil
		}
		return b.Set(key.ForLedger(t.id, id), rec.Append(nil), nil)
	})
	t.mu.Lock()
	t.tail.drop()
	t.mu.Unlock()
	t.s.release(t.full, nil)
	return firstError(append(waits, err)...)
}

// Name returns the topic's name.
func (t *Topic) Name() wire.TopicName { return t.name }

// ID returns the topic's id in the spool.
func (t *Topic) ID() uint64 { return t.id }

// Properties returns a copy of the topic's properties.
func (t *Topic) Properties() map[string]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.head.Properties)
}

// SetProperties replaces the topic's properties; durable on return.
func (t *Topic) SetProperties(ctx context.Context, p map[string]string) error {
	return t.changeHead(ctx, func(h *record.Topic) { h.Properties = maps.Clone(p) })
}

func (t *Topic) changeHead(ctx context.Context, change func(*record.Topic)) error {
	return t.s.control(ctx, func(b *batch) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		change(&t.head)
		return b.Set(key.ForTopic(t.id), t.head.Append(nil), nil)
	})
}

// LastConfirmed returns the position of the last stored entry, {first ledger, -1} when none is stored.
func (t *Topic) LastConfirmed() wire.Position {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ledgers.LastConfirmed()
}

// First returns the position of the first stored entry, or of the next to be stored when there is none.
func (t *Topic) First() wire.Position {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ledgers.First()
}

// Next returns the position after p at which an entry is stored or will be.
func (t *Topic) Next(p wire.Position) wire.Position {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ledgers.Next(p)
}

// Terminate ends the topic: no more entries are taken. It returns the last entry's position; durable on return.
func (t *Topic) Terminate(ctx context.Context) (wire.Position, error) {
	t.appendMu.Lock()
	if t.closing {
		t.appendMu.Unlock()
		return wire.Position{}, ErrClosed
	}
	t.ended = true
	t.appendMu.Unlock()
	var last wire.Position
	// By the time the change is built, everything queued before it is assigned; wait for it to be confirmed first.
	err := t.s.control(ctx, func(*batch) error { return nil })
	if err == nil {
		err = t.changeHead(ctx, func(h *record.Topic) {
			last = t.ledgers.LastConfirmed()
			h.Terminated, h.Last = true, last
		})
	}
	return last, err
}

// Terminated reports whether the topic has ended, and its last position.
func (t *Topic) Terminated() (wire.Position, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.head.Last, t.head.Terminated
}

// reader reads this topic's entries from the database.
func (t *Topic) reader() entryReader {
	return entryReader{r: t.s.db, objects: t.s.objects, topic: t.full}
}

// Read appends to dst the confirmed entries from `from` on (inclusive; the next existing one when nothing is stored there):
// at most maxEntries, and no more once maxBytes of payload are passed, but at least one when there is any. Damaged entries
// are passed over: see Quarantined.
func (t *Topic) Read(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	n := len(dst)
	for {
		t.mu.RLock()
		from = t.passDamaged(from)
		t.mu.RUnlock()
		var err error
		dst, err = t.readStored(ctx, from, maxEntries, maxBytes, dst)
		var bad *CorruptError
		if err == nil || !errors.As(err, &bad) || !bad.damaged() {
			return dst, err
		}
		if t.has(bad.Position) { // else it was trimmed meanwhile
			from = t.quarantine(ctx, bad)
		}
		if len(dst) > n {
			return dst, nil
		}
	}
}

// readStored is Read that ends with *CorruptError at damage.
func (t *Topic) readStored(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []Entry) ([]Entry, error) {
	for {
		t.mu.RLock()
		from = t.ledgers.Normal(from)
		if held := t.tail.from(from); held != nil {
			t.atTail()
			dst = appendUpTo(dst, held, maxEntries, maxBytes)
			t.mu.RUnlock()
			return dst, nil
		}
		to := t.ledgers.last().end()
		if first, ok := t.tail.first(); ok {
			to = first
		}
		spans := t.ledgers.spans(from, to, int64(maxEntries))
		t.mu.RUnlock()

		n := len(dst)
		dst, err := t.reader().read(ctx, spans, maxBytes, dst)
		if err == nil || len(dst) > n || t.stands(from, spans) {
			return dst, err
		}
		// What was to be read has been trimmed or moved to an object meanwhile: go on with what is there now.
	}
}

// walkStored calls each for the stored entries in [from, to) in order, but for runs of which it is known that all was
// published before since (ms; 0 = all are wanted). Data is valid during the call only; damage ends it with *CorruptError.
func (t *Topic) walkStored(ctx context.Context, since int64, from, to wire.Position, each func(Entry) error) error {
	for {
		t.mu.RLock()
		from = t.ledgers.Normal(from)
		spans := t.ledgers.spansSince(since, from, to, 1<<62)
		t.mu.RUnlock()
		if len(spans) > 0 {
			from = wire.Position{Ledger: spans[0].ledger, Entry: spans[0].first}
		}
		err := t.reader().walk(ctx, spans, func(e Entry) error {
			from = wire.Position{Ledger: e.Position.Ledger, Entry: e.Position.Entry + 1}
			return each(e)
		})
		if !errors.As(err, new(*CorruptError)) || t.stands(from, spans) {
			return err
		}
	}
}

// stands reports whether the entry at p, or the one that follows it, is still where spans say.
func (t *Topic) stands(p wire.Position, spans []span) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p = t.ledgers.Normal(p)
	i := slices.IndexFunc(spans, func(sp span) bool { return sp.ledger == p.Ledger && sp.first <= p.Entry && p.Entry < sp.last })
	sp, err := t.ledgers.locate(t.full, p)
	return err == nil && i >= 0 && (sp.object == nil) == (spans[i].object == nil)
}

func (t *Topic) has(p wire.Position) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ledgers.Has(p)
}

func appendUpTo(dst, from []Entry, maxEntries, maxBytes int) []Entry {
	for _, e := range from {
		if maxEntries <= 0 || maxBytes <= 0 {
			break
		}
		dst = append(dst, e)
		maxEntries--
		maxBytes -= len(e.Data)
	}
	return dst
}

// ReadAt reads one entry. It returns ErrEntryNotFound when none is stored at p, *CorruptError when it is damaged.
func (t *Topic) ReadAt(ctx context.Context, p wire.Position) (Entry, error) {
	if !t.has(p) {
		return Entry{}, fmt.Errorf("%s %s: %w", t.full, p, ErrEntryNotFound)
	}
	got, err := t.readStored(ctx, p, 1, 1, nil)
	if err != nil {
		return Entry{}, err
	}
	if len(got) == 0 || got[0].Position != p {
		return Entry{}, fmt.Errorf("%s %s: %w", t.full, p, ErrEntryNotFound)
	}
	return got[0], nil
}

// headerAt returns the header of the entry at p and the length of its data.
func (t *Topic) headerAt(p wire.Position) (EntryHeader, int, error) {
	t.mu.RLock()
	if held := t.tail.from(p); len(held) > 0 && held[0].Position == p {
		e := held[0]
		t.mu.RUnlock()
		return e.Header, len(e.Data), nil
	}
	sp, err := t.ledgers.locate(t.full, p)
	t.mu.RUnlock()
	if err != nil {
		return EntryHeader{}, 0, err
	}
	return t.reader().header(t.s.background, sp)
}

// SeekTime returns the position of the first entry with a publish time of at least ms (milliseconds since the epoch), or
// the position after the last entry. Runs of older entries are skipped unread.
func (t *Topic) SeekTime(ctx context.Context, ms int64) (wire.Position, error) {
	t.mu.RLock()
	first, end := t.ledgers.First(), t.ledgers.last().end()
	t.mu.RUnlock()
	return seekTime(ms, end, func(each func(Entry) error) error { return t.walkStored(ctx, ms, first, end, each) })
}

// SetSync sets when the topic's entries count as stored from now on; the store's mode is what it begins with. Cursors and
// all else follow the store's mode.
func (t *Topic) SetSync(m SyncMode) {
	t.appendMu.Lock()
	defer t.appendMu.Unlock()
	t.sync = m
}
