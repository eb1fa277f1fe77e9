package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/offload"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DefaultMemory is how many bytes an inspection may take for caches and for
// the readable part of a damaged spool.
const DefaultMemory = 256 << 20

// Options are for Open. The zero value of a field means its default.
type Options struct {
	Dir string // the spool
	FS  vfs.FS // default: the operating system's
	// Live reads the spool of a running broker in place: not a consistent
	// snapshot.
	Live   bool
	Memory int64 // default DefaultMemory
	// Checkpoint asks the broker that owns the spool for a consistent copy; nil
	// when there is no way to ask.
	Checkpoint func(ctx context.Context, dir string, pid int) (Checkpoint, error)
	// Bucket is the object store that ledgers were offloaded to; nil: their
	// entries are problems of the answer. It belongs to the caller and must stay
	// open until the session is closed.
	Bucket offload.Bucket
	Now    func() time.Time // default time.Now
}

// Checkpoint is a consistent copy that a broker made.
type Checkpoint struct {
	Path    string
	Release func() error // gives the copy back when the session closes; may be nil
}

// OwnedError says that a running broker owns the spool and no consistent copy
// of it could be had.
type OwnedError struct {
	Dir   string
	PID   int   // 0 when the system does not tell
	Cause error // why there is no checkpoint
}

// Error implements error.
func (e *OwnedError) Error() string {
	s := fmt.Sprintf("spool %s is in use by process %d", e.Dir, e.PID)
	if e.PID == 0 {
		s = fmt.Sprintf("spool %s is in use by another process", e.Dir)
	}
	if e.Cause != nil {
		s += ", which gave no checkpoint: " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *OwnedError) Unwrap() error { return e.Cause }

// Open opens the spool in o.Dir for reading; nothing in it changes, whatever
// its state. It wraps storage.ErrNoSpool when there is none, and returns
// *storage.FormatError, *OwnedError. A damaged spool opens: see
// Session.Problems.
func Open(ctx context.Context, o Options) (*Session, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Session{o: o, dir: o.Dir}
	s.source = Source{Dir: o.Dir, Mode: ModeStopped}
	if _, err := o.FS.Stat(o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", storage.ErrNoSpool, o.Dir)
	}
	err := s.whose(ctx)
	if err == nil {
		err = s.open(ctx)
	}
	if err == nil {
		return s, nil
	}
	if cerr := s.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	return nil, err
}

// whose finds out whether a running process owns the spool, and what to read
// then.
func (s *Session) whose(ctx context.Context) error {
	pid, held := storage.LockOwner(s.o.FS, s.storeDir())
	if !held {
		return nil
	}
	s.source.Owner = &pid
	if s.o.Live {
		s.source.Mode = ModeLive
		return nil
	}
	if s.o.Checkpoint == nil {
		return &OwnedError{Dir: s.dir, PID: pid}
	}
	c, err := s.o.Checkpoint(ctx, s.dir, pid)
	if err != nil {
		if s.ownerEnds(ctx) {
			s.source.Owner = nil
			return nil
		}
		return &OwnedError{Dir: s.dir, PID: pid, Cause: err}
	}
	if c.Release != nil {
		s.closers = append(s.closers, c.Release)
	}
	s.source.Mode, s.source.Checkpoint, s.dir = ModeCheckpoint, &c.Path, c.Path
	return nil
}

// ownerEnds waits a moment for an owner that gives no answer, which may be
// about to end, and reports whether it did.
func (s *Session) ownerEnds(ctx context.Context) bool {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 8 {
		if _, held := storage.LockOwner(s.o.FS, s.storeDir()); !held {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// liveAttempts is how often a spool that is being written is opened: files
// may vanish between being listed and being opened.
const liveAttempts = 5

func (s *Session) open(ctx context.Context) error {
	live := s.source.Mode == ModeLive
	var l listing
	var listed sync.WaitGroup
	defer listed.Wait()
	if !live {
		listed.Go(func() { l = s.list() }) // many files; meanwhile Pebble reads its own
	}
	for attempt := 1; ; attempt++ {
		sp, err := storage.OpenRead(storage.ReadOptions{Dir: s.dir, FS: s.o.FS, BlockCacheBytes: s.o.Memory / 4, Bucket: s.bucket()})
		switch {
		case err == nil:
			s.use(sp)
			if live {
				return nil
			}
			listed.Wait()
			return s.checkLogs(ctx, l)
		case errors.As(err, new(*storage.FormatError)), errors.Is(err, fs.ErrPermission):
			return err
		case errors.Is(err, storage.ErrNoSpool):
			if _, serr := s.o.FS.Stat(s.storeDir()); serr != nil {
				return err
			}
		}
		if live && attempt < liveAttempts {
			continue
		}
		return s.rescue(ctx, err)
	}
}

// use makes sp the spool that answers.
func (s *Session) use(sp *storage.Spool) {
	s.spool = sp
	s.closers = append(s.closers, sp.Close)
	s.source.Identity(sp.Identity())
	keys, batches := sp.Replayed()
	s.source.ReplayedKeys, s.source.ReplayedBatches = keys, batches
	s.source.CleanStop = fromMillis(sp.Meta().CleanStop)
	s.source.Unclean = sp.Meta().CleanStop == 0 && s.source.Mode == ModeStopped
}

// listing is what damage's readers find in the folder of the database.
type listing struct {
	files    damage.Files
	manifest *damage.Manifest
	err      error
}

func (s *Session) list() (l listing) {
	l.files, l.err = damage.ListFiles(s.o.FS, s.storeDir())
	l.manifest = damage.ReadManifest(s.o.FS, s.storeDir(), storage.StoreDir)
	return l
}

// checkLogs reads the logs once more by itself: Pebble takes a damaged end of
// the newest log for the place where the power went.
func (s *Session) checkLogs(ctx context.Context, l listing) error {
	if l.err != nil {
		return l.err
	}
	log := damage.CheckLogs(s.damageOptions(), l.manifest, l.files)
	s.manifest, s.files = l.manifest, l.files
	if log.Hidden || !l.manifest.Whole {
		return s.rescue(ctx, errors.New("readable records stand behind a damaged place"))
	}
	s.problems = append(s.problems, log.Problems...)
	if log.Tail != nil {
		s.problem(*log.Tail)
		return nil
	}
	s.source.CutShort = log.Short
	if !s.source.CleanStop.IsZero() && !log.Ended && len(log.Problems) == 0 && !s.isCheckpoint() {
		s.problem(damage.Problem{File: s.o.FS.PathJoin(storage.StoreDir, "*.log"),
			What: "the newest log has no end mark although the spool was stopped cleanly: what was written last may be missing"})
	}
	return nil
}

// isCheckpoint reports whether what is read is a copy that a running broker
// made: its log ends wherever the broker was writing. Such a copy was never
// opened for writing and so has no lock file.
func (s *Session) isCheckpoint() bool {
	_, err := s.o.FS.Stat(s.o.FS.PathJoin(s.storeDir(), "LOCK"))
	return s.source.Mode == ModeCheckpoint || errors.Is(err, fs.ErrNotExist)
}

// rescue goes on with what can be read of a database that Pebble cannot read
// itself.
func (s *Session) rescue(ctx context.Context, cause error) error {
	id, err := storage.ReadIdentity(s.o.FS, s.dir)
	if errors.As(err, new(*storage.FormatError)) {
		return err
	}
	s.problems, s.lost = nil, lostEntries{}
	if err != nil {
		s.problems = append(s.problems, damage.Problem{File: "SPOOL", What: "the spool's identity cannot be read: " + firstLine(err)})
	}
	broken := damage.Problem{File: storage.StoreDir, What: "the database is damaged, what can be read of it was read file by file: " + firstLine(cause)}
	r, err := damage.Rescue(ctx, s.damageOptions())
	if err != nil {
		return err
	}
	sp, err := storage.NewSpool(s.dir, id, r.DB, s.bucket(), r.Close)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	if s.files.Tables == nil {
		if s.files, err = damage.ListFiles(s.o.FS, s.storeDir()); err != nil {
			return errors.Join(err, sp.Close())
		}
	}
	s.manifest = r.Manifest
	s.use(sp)
	s.rescued = true
	s.source.Damaged, s.source.ReplayedBatches = true, r.Batches
	if s.isCheckpoint() && len(s.problems)+len(r.Problems) == 0 {
		// Pebble takes a log that was copied while it was written for damaged.
		s.source.Damaged = false
		return nil
	}
	s.problems = append(append(s.problems, broken), r.Problems...)
	return nil
}

func (s *Session) damageOptions() damage.Options {
	return damage.Options{FS: s.o.FS, Dir: s.storeDir(), Show: storage.StoreDir, Memory: s.o.Memory, Snapshot: s.isCheckpoint()}
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
