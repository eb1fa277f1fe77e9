package storage

import (
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readOnlyFS is a file system that refuses every change. Pebble takes a lock also for reading; here a lock is nothing, so
// that a spool of a running broker, on a read-only mount or without write permission can be opened, and no LOCK file is
// made.
type readOnlyFS struct{ vfs.FS }

// ReadOnly returns a view of a file system that refuses every change, and for which a lock is nothing.
func ReadOnly(fs vfs.FS) vfs.FS { return readOnlyFS{fs} }

type noLock struct{}

func (noLock) Close() error { return nil }

func refused(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission} }

// Create implements vfs.FS.
func (readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("create", name)
}

// Link implements vfs.FS.
func (readOnlyFS) Link(_, name string) error { return refused("link", name) }

// OpenReadWrite implements vfs.FS.
func (readOnlyFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, refused("open for writing", name)
}

// Remove implements vfs.FS.
func (readOnlyFS) Remove(name string) error { return refused("remove", name) }

// RemoveAll implements vfs.FS.
func (readOnlyFS) RemoveAll(name string) error { return refused("remove", name) }

// Rename implements vfs.FS.
func (readOnlyFS) Rename(name, _ string) error { return refused("rename", name) }

// ReuseForWrite implements vfs.FS.
func (readOnlyFS) ReuseForWrite(name, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("reuse", name)
}

// MkdirAll implements vfs.FS.
func (readOnlyFS) MkdirAll(name string, _ fs.FileMode) error { return refused("make folder", name) }

// Lock implements vfs.FS.
func (readOnlyFS) Lock(string) (io.Closer, error) { return noLock{}, nil }

// Unwrap implements vfs.FS.
func (f readOnlyFS) Unwrap() vfs.FS { return f.FS }
