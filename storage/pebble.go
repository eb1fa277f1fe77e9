package storage

import (
	"errors"
	"fmt"
	"log/slog"

	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// pebbleOptions returns the options every opening of the database shares. Figures: see docs on epochs in commit.go and
// the design's measurements; the format version is pinned so that a newer library never upgrades a spool by itself.
func pebbleOptions(o Options, fsys vfs.FS, logger pebble.Logger) *pebble.Options {
	po := &pebble.Options{
		FS:                          fsys,
		Logger:                      logger,
		FormatMajorVersion:          pebbleFormat,
		MemTableSize:                o.MemTableBytes,
		MemTableStopWritesThreshold: 1000,    // the committer waits for flushes itself; see committer.endEpoch
		L0CompactionThreshold:       8,       // of the small families only: see the next
		L0CompactionFileThreshold:   1 << 20, // tables of entries do not overlap; they may all stay in level 0
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               512 << 20,
		CacheSize:                   o.BlockCacheBytes,
		// A MANIFEST is read whole at every opening. Beyond this it is begun anew once it says more of what was than of what is.
		MaxManifestFileSize: 32 << 10,
	}
	po.Experimental.SpanPolicyFunc = spanPolicy
	for i := range po.Levels {
		po.Levels[i].BlockSize = 32 << 10
	}
	po.Levels[0].BlockSize = 64 << 10 // entries, which are read in runs
	po.TargetFileSizes[0] = 64 << 20
	// Small targets below level 0 keep compactions of the small families, which are frequent, from growing over the tables
	// of entries that lie beside them in level 0: Pebble grows a compaction up to 25 times its output's target.
	for i := 1; i < len(po.TargetFileSizes); i++ {
		po.TargetFileSizes[i] = 1 << 20
	}
	return po
}

// pebbleFormat is the Pebble format version of spool format 1.
const pebbleFormat = pebble.FormatValueSeparation

// spanPolicy ends tables at family boundaries: a table that spanned from the cursors to the entries would overlap the
// next one, and every epoch would be compacted again.
func spanPolicy(start []byte) (pebble.SpanPolicy, []byte, error) {
	return pebble.SpanPolicy{}, key.FamilyEnd(start), nil
}

// pebbleLogger hands Pebble's log to slog. A fatal message shuts the fence: the database is lost to this process, the
// process is not.
type pebbleLogger struct {
	log   *slog.Logger
	work  *slog.Logger // what it does, beside errors
	fence *fence       // nil: nothing to shut
}

// Infof implements pebble.Logger.
func (l pebbleLogger) Infof(format string, args ...any) { l.work.Debug(fmt.Sprintf(format, args...)) }

// Errorf implements pebble.Logger.
func (l pebbleLogger) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }

// Fatalf implements pebble.Logger.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.log.Error("the database cannot go on; nothing more is written until the next start", "reason", err)
	if l.fence != nil {
		l.fence.shut(err)
	}
}

// fatalError is what reading a damaged database may panic with.
type fatalError struct{ msg string }

// Error implements error.
func (e fatalError) Error() string { return e.msg }

// get reads one value and hands it to use, which must not keep it. found is false when the key is not there.
func get(r pebble.Reader, k []byte, use func(v []byte) error) (found bool, err error) {
	v, closer, err := r.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", key.Format(k), err)
	}
	defer closer.Close()
	return true, use(v)
}

// scan calls each for every key in [lower, upper); k and v are valid during the call only.
func scan(r pebble.Reader, lower, upper []byte, each func(k, v []byte) error) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fmt.Errorf("read %s: %w", key.Format(lower), err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("read %s: %w", key.Format(it.Key()), err)
		}
		if err := each(it.Key(), v); err != nil {
			return err
		}
	}
	return nil
}
