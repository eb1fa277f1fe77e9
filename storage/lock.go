//go:build unix

package storage

import (
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// LockOwner reports whether another process holds the lock of the database in dir (a spool's StoreDir), and its process
// id. It takes no lock and writes nothing. It must not be asked of a database that this process has open: closing the lock
// file, which it reads, would give up this process's own lock (POSIX). Only the operating system's files have owners; for others held is false.
func LockOwner(fsys vfs.FS, dir string) (pid int, held bool) {
	if vfs.Root(fsys) != vfs.Default {
		return 0, false
	}
	f, err := os.Open(fsys.PathJoin(dir, "LOCK"))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: 0, Len: 0}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return 0, false
	}
	if lock.Type == unix.F_UNLCK {
		return 0, false
	}
	return int(lock.Pid), true
}
