package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"

	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store is a spool open for writing. All methods may be called concurrently.
type Store struct {
	opt       Options
	log       *slog.Logger
	id        Identity
	db        *pebble.DB
	fence     *fence
	queue     *queue
	committer *committer
	flusher   *flusher
	offloader *offloader
	objects   *objects // nil without an object store

	background context.Context // ends when the store is closed
	end        context.CancelFunc

	ids     ids
	stats   counters
	tails   tails
	entries entryBuffers // of readers
	health  health
	loads   gate
	deletes gate

	mu     sync.Mutex
	open   map[string]*Topic // by full name
	names  nameIndex
	closed bool
}

// Open opens the spool in o.Dir for writing, making a new one when the directory is missing or empty. It returns
// *LockedError when another process has it open, *FormatError when its format is not this program's, *CorruptError or
// Pebble's error when it is damaged. After an unclean stop it records what the log held; topics are recovered when they
// are first used.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	id, err := ReadIdentity(o.FS, o.Dir)
	if errors.Is(err, ErrNoSpool) {
		id, err = create(o)
	}
	if err != nil {
		return nil, err
	}
	dir := o.FS.PathJoin(o.Dir, StoreDir)
	if _, err := o.FS.Stat(dir); err != nil {
		// Making an empty one would answer "nothing" to every question about what was there.
		return nil, fmt.Errorf("spool %s has no database: %w; run spoolctl storage doctor", o.Dir, err)
	}
	if err := checkPebbleFormat(o.FS, dir); err != nil {
		return nil, err
	}
	if pid, held := LockOwner(o.FS, dir); held {
		return nil, &LockedError{Dir: o.Dir, PID: pid}
	}
	if err := firstError(probe(o.FS, o.Dir), probe(o.FS, dir)); err != nil {
		return nil, err
	}
	f := newFence(o)
	po := pebbleOptions(o, f, pebbleLogger{o.Logger, o.EngineLogger, f})
	s := &Store{opt: o, log: o.Logger, id: id, fence: f, queue: newQueue(o), tails: tails{budget: o.TailCacheBytes},
		health: health{latch: o.HealthLatch, now: o.Now}, loads: newGate(o.MaxLoads), deletes: newGate(o.MaxDeletes), open: map[string]*Topic{}}
	s.objects = newObjects(o.Bucket, id.UUID)
	s.background, s.end = context.WithCancel(context.WithoutCancel(ctx))
	po.EventListener = &pebble.EventListener{
		DataCorruption:  func(info pebble.DataCorruptionInfo) { s.damaged(info.Details) },
		BackgroundError: f.background,
		FlushEnd:        func(info pebble.FlushInfo) { f.worked(info.Err) },
		CompactionEnd:   func(info pebble.CompactionInfo) { f.worked(info.Err) },
	}
	if s.db, err = f.open(dir, po); err != nil {
		if pid, held := LockOwner(o.FS, dir); held {
			return nil, &LockedError{Dir: o.Dir, PID: pid}
		}
		return nil, fmt.Errorf("open spool %s: %w", o.Dir, err)
	}
	m, err := s.recover(ctx)
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.guardSpace()
	s.offloader = startOffloader(s)
	s.flusher = startFlusher(s, s.committer.epoch-1, m.Garbage)
	s.committer.start()
	return s, nil
}

func checkPebbleFormat(fsys vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the Pebble format of %s: %w", dir, err)
	}
	if desc.Exists && desc.FormatMajorVersion != pebbleFormat {
		return &FormatError{Dir: dir, What: "Pebble format", Got: int(desc.FormatMajorVersion), Known: int(pebbleFormat)}
	}
	return nil
}

// recover reads the store-wide facts, records the extents that a crash left unrecorded and removes the clean-stop marker.
func (s *Store) recover(ctx context.Context) (m Meta, err error) {
	if m, err = readMeta(s.db); err != nil {
		return m, err
	}
	s.ids.load(m)
	b := s.db.NewBatch()
	last, ledgers, err := recordTail(ctx, s.db, m, b)
	if err != nil {
		return m, fmt.Errorf("recover the newest epoch: %w", err)
	}
	err = firstError(b.Delete(key.ForMeta(metaClean), nil), setMeta(b, metaEpoch, last), s.ids.record(b))
	if err == nil {
		err = s.db.Apply(b, pebble.Sync)
	}
	if err != nil {
		return m, fmt.Errorf("record the recovery: %w", err)
	}
	if m.CleanStop == 0 && m.NextTopic > 0 {
		s.log.Warn("the spool was not stopped cleanly; recovered", "epochs", last-m.RecordedEpoch, "ledgers", ledgers)
		s.stats.recoveredLedgers.Add(int64(ledgers))
	}
	s.committer = newCommitter(s, last+1)
	return m, s.names.load(s.db)
}

// Identity returns who the spool is.
func (s *Store) Identity() Identity { return s.id }

// Dir returns the spool's directory.
func (s *Store) Dir() string { return s.opt.Dir }

// Pebble returns the database's own metrics.
func (s *Store) Pebble() *pebble.Metrics { return s.db.Metrics() }

// Checkpoint writes a consistent copy of the spool to dir, which must not exist, by hard links where it can. Everything
// acknowledged before the call is in it. Commits wait meanwhile, some ten milliseconds, so that the copy of the log is whole.
func (s *Store) Checkpoint(ctx context.Context, dir string) error {
	fsys := s.opt.FS
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	err := s.control(ctx, func(*batch) error {
		return s.db.Checkpoint(fsys.PathJoin(dir, StoreDir), pebble.WithFlushedWAL())
	})
	if err == nil {
		err = vfs.Copy(fsys, fsys.PathJoin(s.opt.Dir, identityFile), fsys.PathJoin(dir, identityFile))
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// control queues a change and waits until it is durable, or until ctx ends (the change then still happens).
func (s *Store) control(ctx context.Context, apply func(*batch) error) error {
	done := make(chan error, 1)
	if err := s.queue.push(op{kind: opControl, apply: apply, done: func(err error) { done <- err }}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes every open topic, marks the stop clean and closes the database. Operations that come later return
// ErrClosed. When ctx ends before that, the rest is left to the next opening's recovery, and ctx's error is returned.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	topics := s.openTopics()

	s.offloader.stop()
	s.flusher.stop()
	var errs []error
	for _, t := range topics {
		if err := t.Close(ctx); err != nil && !errors.Is(err, ErrClosed) {
			errs = append(errs, fmt.Errorf("close %s: %w", t.name, err))
		}
	}
	if len(errs) == 0 && s.writable() {
		errs = append(errs, s.control(ctx, func(b *batch) error {
			if err := s.committer.recordExtents(b.Batch); err != nil {
				return err
			}
			return setMeta(b.Batch, metaClean, uint64(s.opt.Now().UnixMilli()))
		}))
	}
	s.queue.close()
	// A commit that waits for a flush which cannot succeed must not keep the process from ending.
	hurry := context.AfterFunc(ctx, func() { s.fence.shut(fmt.Errorf("closing took too long: %w", ctx.Err())) })
	s.committer.wg.Wait()
	errs = append(errs, s.flushLast(ctx))
	hurry()
	s.end()
	s.objects.close()
	return errors.Join(append(errs, s.db.Close())...)
}

// writable reports that nothing has failed that keeps the store from writing.
func (s *Store) writable() bool { return s.health.failure.Load() == nil && s.fence.err() == nil }

// flushLast brings what only the log has into tables: the next opening, and every inspection, then replays nothing. When
// there is no time for it, the log still has it.
func (s *Store) flushLast(ctx context.Context) error {
	if !s.writable() {
		return nil
	}
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flush the last entries: %w", err)
	}
	select {
	case <-flushed:
	case <-ctx.Done():
	case <-s.fence.isShut:
	}
	return nil
}

// openTopics returns the topics that are open.
func (s *Store) openTopics() []*Topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	topics := make([]*Topic, 0, len(s.open))
	for _, t := range s.open {
		if t != nil { // else it is being opened or deleted
			topics = append(topics, t)
		}
	}
	return topics
}

// TopicNames returns the topics of a namespace, sorted; the zero namespace means all.
func (s *Store) TopicNames(ns wire.NamespaceName) []wire.TopicName { return s.names.list(ns) }

// HasTopic reports whether the topic exists.
func (s *Store) HasTopic(name wire.TopicName) bool {
	_, ok := s.names.id(name.String())
	return ok
}
