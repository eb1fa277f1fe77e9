package storage

import "golang.org/x/sys/unix"

// freeInodes returns how many files more the file system of dir can hold; false when it does not say, as those without a
// fixed number.
func freeInodes(dir string) (n uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Files == 0 {
		return 0, false
	}
	return st.Ffree, true
}
