package maintain

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange gives each of two folders the other's name. atomically is false, and nothing has happened, when the file system
// cannot do that.
func exchange(a, b string) (atomically bool, err error) {
	err = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return false, nil
	}
	if err != nil {
		return false, &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return true, nil
}
