package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// probeFile is made and removed by probe. What a crash left of it is taken over by the next one.
const probeFile = "probe"

// probe does in dir what a database does: it makes, writes, syncs, renames and removes a file. So a directory without the
// right to write, or a file system without fsync, is found before anything depends on it.
func probe(fsys vfs.FS, dir string) (err error) {
	path, renamed := fsys.PathJoin(dir, probeFile), fsys.PathJoin(dir, probeFile+".renamed")
	f, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return probeError(fsys, dir, "make a file", err)
	}
	_, err = f.Write([]byte("probe"))
	err = firstError(err, f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return probeError(fsys, dir, "write and sync a file", err)
	}
	if err := fsys.Rename(path, renamed); err != nil {
		return probeError(fsys, dir, "rename a file", err)
	}
	if err := fsys.Remove(renamed); err != nil {
		return probeError(fsys, dir, "remove a file", err)
	}
	return nil
}

// probeError says who may do what in a directory, and who tried.
func probeError(fsys vfs.FS, dir, what string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("cannot %s in %s: %w", what, dir, err)
	}
	info, serr := fsys.Stat(dir)
	if serr != nil {
		return fmt.Errorf("cannot %s in %s: %w", what, dir, err)
	}
	owner := ""
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = fmt.Sprintf(" and belongs to user %d", st.Uid)
	}
	return fmt.Errorf("cannot %s in %s, which has mode %04o%s, as user %d: %w", what, dir, info.Mode().Perm(), owner, os.Getuid(), err)
}
