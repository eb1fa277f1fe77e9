package maintain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockSpool takes the lock of a spool's database, so that no broker starts on it. It returns *storage.LockedError at once
// when somebody has it, and an error that wraps storage.ErrNoSpool, *storage.FormatError.
func lockSpool(dir string) (io.Closer, error) {
	if _, err := storage.ReadIdentity(vfs.Default, dir); err != nil {
		return nil, err
	}
	return lockStore(dir)
}

func lockStore(spool string) (io.Closer, error) {
	dir := storeDir(spool)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("spool %s has no database: %w", spool, err)
	}
	// Asked before: making the lock file empties it, and the owner's would be released if this process had it.
	if err := unowned(spool); err != nil {
		return nil, err
	}
	l, err := pebble.LockDirectory(dir, vfs.Default)
	if err == nil {
		return l, nil
	}
	if owned := unowned(spool); owned != nil {
		return nil, owned
	}
	return nil, fmt.Errorf("lock spool %s: %w", spool, err)
}

// unowned returns *storage.LockedError when another process has the spool.
func unowned(spool string) error {
	if pid, held := storage.LockOwner(vfs.Default, storeDir(spool)); held {
		return &storage.LockedError{Dir: spool, PID: pid}
	}
	return nil
}

// lockSource keeps a broker from starting on a spool that is only read. A checkpoint has no lock file, and gets none; a
// dry run takes none.
func (o *Options) lockSource() (unlock func() error, err error) {
	if err := unowned(o.Dir); err != nil {
		return nil, err
	}
	if o.DryRun || !exists(filepath.Join(storeDir(o.Dir), lockName)) {
		return func() error { return nil }, nil
	}
	l, err := lockStore(o.Dir)
	if err != nil {
		return nil, err
	}
	return l.Close, nil
}
