package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"spoolctl/storage/offload"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadOptions configure reading a stopped spool. The zero value of a field means its default.
type ReadOptions struct {
	Dir             string
	FS              vfs.FS // default: the operating system's
	BlockCacheBytes int64  // default 32 MiB

	// Bucket is where ledgers were offloaded to; nil: their entries are answered with *OffloadedError. It belongs to the
	// caller and must stay open until Close returned.
	Bucket offload.Bucket
}

// Spool is a spool open for reading. Nothing under its directory is ever changed: not a byte, not a time, not an entry.
type Spool struct {
	dir  string
	fs   vfs.FS
	id   Identity
	meta Meta
	r    pebble.Reader

	objects *objects // nil without an object store

	done func() error
	db   *pebble.DB // nil when r is something else
	log  *replayLog
}

// OpenRead opens the spool in o.Dir for reading, whether or not it was stopped cleanly: what only the log holds is replayed
// in memory. It wraps ErrNoSpool when there is none, returns *FormatError for another format, and Pebble's error when the
// database is too damaged to open.
func OpenRead(o ReadOptions) (*Spool, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.BlockCacheBytes == 0 {
		o.BlockCacheBytes = 32 << 20
	}
	ro := readOnlyFS{o.FS}
	id, err := ReadIdentity(ro, o.Dir)
	if err != nil {
		return nil, err
	}
	dir := ro.PathJoin(o.Dir, StoreDir)
	if _, err := ro.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("spool %s has no database: %w", o.Dir, err)
	}
	if err := checkPebbleFormat(ro, dir); err != nil {
		return nil, err
	}
	s := &Spool{dir: o.Dir, fs: ro, id: id, log: &replayLog{}, objects: newObjects(o.Bucket, id.UUID)}
	opt := Options{BlockCacheBytes: o.BlockCacheBytes}.withDefaults()
	po := pebbleOptions(opt, ro, s.log)
	po.ReadOnly = true
	po.EventListener = &pebble.EventListener{DataCorruption: s.log.corruption}
	if s.db, err = openGuarded(dir, po); err != nil {
		return nil, fmt.Errorf("open spool %s: %w", o.Dir, err)
	}
	s.r, s.done = s.db, s.db.Close
	if s.meta, err = readMeta(s.db); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// NewSpool returns a spool whose keys are read from r, which need not be the spool's own database: a snapshot, or what
// could be saved of a damaged one. b has the objects of offloaded ledgers; it may be nil. Close calls done.
func NewSpool(dir string, id Identity, r pebble.Reader, b offload.Bucket, done func() error) (*Spool, error) {
	m, err := readMeta(r)
	if err != nil {
		return nil, err
	}
	return &Spool{dir: dir, fs: readOnlyFS{vfs.Default}, id: id, meta: m, r: r, done: done, log: &replayLog{}, objects: newObjects(b, id.UUID)}, nil
}

// openGuarded opens a database and turns a panic on damaged files into an error.
func openGuarded(dir string, po *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("database cannot be opened: %v", r)
		}
	}()
	return pebble.Open(dir, po)
}

// replayLog is Pebble's logger while reading: it keeps what matters and prints nothing.
type replayLog struct {
	mu          sync.Mutex
	keys        int64
	batches     int64
	corruptions []pebble.DataCorruptionInfo
}

// Infof implements pebble.Logger. Pebble tells only here how much of a log it replayed.
func (l *replayLog) Infof(format string, args ...any) {
	if !strings.Contains(format, "replayed %d keys in %d batches") || len(args) < 2 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var n []int64
	for _, a := range args {
		switch v := a.(type) {
		case int:
			n = append(n, int64(v))
		case int64:
			n = append(n, v)
		}
	}
	if len(n) >= 2 {
		l.keys += n[len(n)-2]
		l.batches += n[len(n)-1]
	}
}

// Errorf implements pebble.Logger.
func (*replayLog) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger: reading ends with an error, the process goes on.
func (*replayLog) Fatalf(format string, args ...any) { panic(fatalError{fmt.Sprintf(format, args...)}) }

func (l *replayLog) corruption(info pebble.DataCorruptionInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.corruptions = append(l.corruptions, info)
}

// Close releases the spool.
func (s *Spool) Close() error {
	s.objects.close()
	return s.done()
}

// Dir returns the spool's directory.
func (s *Spool) Dir() string { return s.dir }

// FS returns the file system the spool is on; it refuses every change.
func (s *Spool) FS() vfs.FS { return s.fs }

// Identity returns who the spool is.
func (s *Spool) Identity() Identity { return s.id }

// Meta returns the store-wide facts.
func (s *Spool) Meta() Meta { return s.meta }

// Replayed returns how many keys and batches were replayed from the log in memory.
func (s *Spool) Replayed() (keys, batches int64) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.keys, s.log.batches
}

// Corruptions returns what damage reading has met so far.
func (s *Spool) Corruptions() []pebble.DataCorruptionInfo {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return append([]pebble.DataCorruptionInfo(nil), s.log.corruptions...)
}

// Reader gives access to the raw keys.
func (s *Spool) Reader() pebble.Reader { return s.r }

// DB returns the spool's own database, nil when the spool was made by NewSpool.
func (s *Spool) DB() *pebble.DB { return s.db }

// Resource reads a resource into the document that `into` points to.
func (s *Spool) Resource(kind Kind, path string, into any) (found bool, err error) {
	return readResource(s.r, kind, path, into)
}

// ResourcePaths returns the paths of one kind that start with prefix, sorted.
func (s *Spool) ResourcePaths(kind Kind, prefix string) ([]string, error) {
	return resourcePaths(s.r, kind, prefix)
}

// EachTopic calls each for every topic head, by rising id.
func (s *Spool) EachTopic(each func(TopicHead) error) error { return eachTopic(s.r, each) }

// Topic reads a topic's state by its id. It returns ErrTopicNotFound, *CorruptError.
func (s *Spool) Topic(id uint64) (*TopicView, error) { return s.topic(id, false) }

// Brief is Topic without the extents of closed ledgers, of which a large topic has many; they are read when entries of the
// ledger are. A reading method of the view may therefore return *CorruptError for what Topic would have returned it.
func (s *Spool) Brief(id uint64) (*TopicView, error) { return s.topic(id, true) }

func (s *Spool) topic(id uint64, brief bool) (*TopicView, error) {
	st, err := loadTopic(s.r, id, s.meta.RecordedEpoch, brief)
	if err != nil {
		return nil, err
	}
	t := &TopicView{TopicState: *st, s: s}
	return t, t.passLost(t.Cumulative)
}

// TopicByName reads a topic's state by its full name. It returns ErrTopicNotFound, *CorruptError.
func (s *Spool) TopicByName(name wire.TopicName) (*TopicView, error) {
	full := name.String()
	var id uint64
	err := s.EachTopic(func(h TopicHead) error {
		if h.Name == full {
			id = h.ID
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	if id == 0 {
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, full)
	}
	return s.Topic(id)
}
