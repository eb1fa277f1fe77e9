package pebbletool

import (
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readOnly is a file system that refuses every change and takes no lock.
type readOnly struct{ vfs.FS }

type noLock struct{}

func (noLock) Close() error { return nil }

func refused(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission} }

// Create implements vfs.FS.
func (readOnly) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("create", name)
}

// Link implements vfs.FS.
func (readOnly) Link(_, name string) error { return refused("link", name) }

// OpenReadWrite implements vfs.FS.
func (readOnly) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, refused("open for writing", name)
}

// Remove implements vfs.FS.
func (readOnly) Remove(name string) error { return refused("remove", name) }

// RemoveAll implements vfs.FS.
func (readOnly) RemoveAll(name string) error { return refused("remove", name) }

// Rename implements vfs.FS.
func (readOnly) Rename(name, _ string) error { return refused("rename", name) }

// ReuseForWrite implements vfs.FS.
func (readOnly) ReuseForWrite(name, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("reuse", name)
}

// MkdirAll implements vfs.FS.
func (readOnly) MkdirAll(name string, _ fs.FileMode) error { return refused("make folder", name) }

// Lock implements vfs.FS.
func (readOnly) Lock(string) (io.Closer, error) { return noLock{}, nil }

// Unwrap implements vfs.FS.
func (f readOnly) Unwrap() vfs.FS { return f.FS }
