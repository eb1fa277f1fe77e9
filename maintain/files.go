package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"spoolctl/storage"
)

// Names inside a spool, beside those of package storage.
const (
	identityName     = "SPOOL"
	stagingName      = "staging" // the copy that a run works on
	journalName      = "journal.json"
	markerName       = "maintained" // in the database's folder: its content is the id of the run that made it
	checkpointPrefix = "before-"
	lockName         = "LOCK"
)

func storeDir(spool string) string { return filepath.Join(spool, storage.StoreDir) }

func checkpointsDir(spool string) string { return filepath.Join(spool, storage.CheckpointsDir) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// syncDir makes changes of a folder's entries durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// immutable reports whether a file of a database never changes once it is there, so that a link to it is a copy.
func immutable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// cloneSpool makes dst, which must not exist, a copy of the spool src: tables by hard links where the file system can, the
// rest by copying. The lock file is left out. It works on damaged spools too, as nothing is interpreted.
func cloneSpool(ctx context.Context, src, dst string) error {
	if err := os.Mkdir(dst, 0o700); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(src, identityName), filepath.Join(dst, identityName)); err != nil {
		return err
	}
	from, to := storeDir(src), storeDir(dst)
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	names, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() || name == lockName || name == markerName {
			continue
		}
		if immutable(name) && os.Link(filepath.Join(from, name), filepath.Join(to, name)) == nil {
			continue
		}
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(to), syncDir(dst))
}

// copyFile copies a file and syncs the copy.
func copyFile(src, dst string) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(dst, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// writeFile makes a new file and syncs it.
func writeFile(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// size adds up a spool's database: all its files, and those that a clone has to copy.
func size(spool string) (all, copied int64, err error) {
	names, err := os.ReadDir(storeDir(spool))
	if err != nil {
		return 0, 0, err
	}
	for _, e := range names {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		all += info.Size()
		if !immutable(e.Name()) {
			copied += info.Size()
		}
	}
	return all, copied, nil
}

// isEmpty returns an error that wraps ErrOccupied unless dir is empty or not there.
func isEmpty(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(list) > 0 {
		return fmt.Errorf("%w: %s", ErrOccupied, dir)
	}
	return nil
}

// firstError returns the first of errs that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
