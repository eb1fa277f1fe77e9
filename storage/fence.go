package storage

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// fence stands between the database and its files. Pebble tells its logger (Fatalf) when it cannot go on, for example after a
// failed write of its MANIFEST, and expects the process to end; and it panics when it cannot change log files. This process
// goes on, to say what happened and to stop in order. So the first such error shuts the fence: from then on nothing reaches
// the files. Errors of the log are not shown to Pebble at all; whoever reports something as stored asks the fence first. The
// next opening recovers what is on disk.
type fence struct {
	vfs.FS
	patience time.Duration // with background work that fails

	cause  atomic.Pointer[UnhealthyError]
	isShut chan struct{} // closed when the fence shuts
	isOpen atomic.Bool   // the database has been opened
	failed atomic.Int64  // when background work began to fail without a success since, ns since 1970; 0 = it does not
}

func newFence(o Options) *fence {
	return &fence{FS: o.FS, patience: o.BackgroundDeadline, isShut: make(chan struct{})}
}

// shut refuses all writes from now on.
func (f *fence) shut(err error) {
	if f.cause.CompareAndSwap(nil, &UnhealthyError{Cause: err}) {
		close(f.isShut)
	}
}

// err returns why writes are refused, nil while they are not.
func (f *fence) err() error {
	if e := f.cause.Load(); e != nil {
		return e
	}
	return nil
}

// open opens a database through the fence. When the fence shuts meanwhile, Pebble would try for ever to write what it
// replayed from its log; open then gives up, and the half-open database stays behind until the process ends, which is what
// whoever cannot open a spool does next.
func (f *fence) open(dir string, po *pebble.Options) (*pebble.DB, error) {
	type result struct {
		db  *pebble.DB
		err error
	}
	opened := make(chan result, 1)
	go func() {
		db, err := openGuarded(dir, po)
		opened <- result{db, err}
	}()
	select {
	case r := <-opened:
		if r.err == nil && f.err() != nil {
			return nil, errors.Join(f.err(), r.db.Close())
		}
		f.isOpen.Store(r.err == nil)
		return r.db, r.err
	case <-f.isShut:
		return nil, f.err()
	}
}

// failPause keeps background work, which Pebble tries again at once, from filling a core.
const failPause = 5 * time.Millisecond

// background is told of each error of a flush or compaction, worked of each success. In a database that was given up half
// open, it ends the work.
func (f *fence) background(err error) {
	if f.err() != nil && !f.isOpen.Load() {
		select {}
	}
	now := time.Now().UnixNano()
	if !f.failed.CompareAndSwap(0, now) && time.Duration(now-f.failed.Load()) > f.patience {
		f.shut(fmt.Errorf("background work fails for %s: %w", f.patience, err))
	}
	time.Sleep(failPause)
}

func (f *fence) worked(err error) {
	if err == nil {
		f.failed.Store(0)
	}
}

// isLog reports whether a file belongs to the write-ahead log. Its errors, and those of syncing a directory, which changing
// log files does too, shut the fence at once.
func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// Create implements vfs.FS. Before a marker file, which names another file, the directory is synced: Pebble syncs it only
// after, so a power loss could leave the marker and not what it names.
func (f *fence) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := f.do(func() error { return syncDir(f.FS, f.PathDir(name)) }); err != nil {
			return nil, err
		}
	}
	return f.file(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

// OpenReadWrite implements vfs.FS.
func (f *fence) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.file(name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

// ReuseForWrite implements vfs.FS.
func (f *fence) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(newname, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, c) })
}

// OpenDir implements vfs.FS. Directories are opened to be synced, also for a new log file.
func (f *fence) OpenDir(name string) (vfs.File, error) {
	d, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &fencedFile{File: d, f: f, silent: true}, nil
}

func (f *fence) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	fenced := &fencedFile{f: f, silent: isLog(name)}
	err := fenced.do(func() (err error) {
		fenced.File, err = open()
		return err
	})
	if err == nil && fenced.File == nil { // a log file behind a shut fence
		fenced.File, err = vfs.NewMem().Create("nowhere", vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return nil, err
	}
	return fenced, nil
}

// Link implements vfs.FS.
func (f *fence) Link(oldname, newname string) error {
	return f.do(func() error { return f.FS.Link(oldname, newname) })
}

// Rename implements vfs.FS.
func (f *fence) Rename(oldname, newname string) error {
	return f.do(func() error { return f.FS.Rename(oldname, newname) })
}

// Remove implements vfs.FS.
func (f *fence) Remove(name string) error {
	return f.do(func() error { return f.FS.Remove(name) })
}

// do changes something unless the fence is shut.
func (f *fence) do(change func() error) error {
	if err := f.err(); err != nil {
		return err
	}
	return change()
}

// Unwrap implements vfs.FS.
func (f *fence) Unwrap() vfs.FS { return f.FS }

// fencedFile is a file that was opened for writing, or a directory.
type fencedFile struct {
	vfs.File
	f      *fence
	silent bool // errors shut the fence and are not returned
}

// do writes unless the fence is shut.
func (f *fencedFile) do(write func() error) error {
	err := f.f.do(write)
	if err != nil && f.silent {
		f.f.shut(err)
		return nil
	}
	return err
}

// Write implements vfs.File.
func (f *fencedFile) Write(p []byte) (n int, err error) {
	n = len(p)
	err = f.do(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// WriteAt implements vfs.File.
func (f *fencedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// Preallocate implements vfs.File.
func (f *fencedFile) Preallocate(offset, length int64) error {
	return f.do(func() error { return f.File.Preallocate(offset, length) })
}

// Sync implements vfs.File.
func (f *fencedFile) Sync() error { return f.do(f.File.Sync) }

// SyncData implements vfs.File.
func (f *fencedFile) SyncData() error { return f.do(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *fencedFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close implements vfs.File. It releases the file also when the fence is shut.
func (f *fencedFile) Close() error {
	err := f.File.Close()
	if err != nil && f.silent {
		f.f.shut(err)
		return nil
	}
	return err
}
