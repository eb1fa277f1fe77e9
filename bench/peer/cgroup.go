package peer

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// groupName is the cgroup that is made below our own; one process at a time is in it.
	groupName = "spoolctl-bench"
	groupRoot = "/sys/fs/cgroup"
	// groupMagic is the type of a file system of cgroups of version 2 (statfs(2)).
	groupMagic = 0x63677270
)

// group is a cgroup of version 2 with a memory controller. nil is none: many systems do not let us make one.
type group struct{ dir *os.File }

// newGroup makes the group; a limit of 0 bytes is none.
func newGroup(limit int64) *group {
	var root syscall.Statfs_t
	if err := syscall.Statfs(groupRoot, &root); err != nil || root.Type != groupMagic {
		return nil
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	_, path, found := strings.Cut("\n"+string(own), "\n0::")
	if !found {
		return nil
	}
	path, _, _ = strings.Cut(path, "\n")
	name := filepath.Join(groupRoot, path, groupName)
	if err := os.Mkdir(name, 0o755); err != nil && !os.IsExist(err) {
		return nil
	}
	dir, err := os.Open(name)
	if err != nil {
		return nil
	}
	g := &group{dir}
	most := "max"
	if limit > 0 {
		most = strconv.FormatInt(limit, 10)
	}
	if err := os.WriteFile(filepath.Join(name, "memory.max"), []byte(most), 0); err != nil { // no such controller, or not ours
		g.remove()
		return nil
	}
	return g
}

func (g *group) fd() int { return int(g.dir.Fd()) }

// memory is what the group holds now: memory of its own and pages of files, in bytes; -1 when unknown.
func (g *group) memory() (anon, file int64) {
	if g == nil {
		return -1, -1
	}
	b, err := os.ReadFile(filepath.Join(g.dir.Name(), "memory.stat"))
	if err != nil {
		return -1, -1
	}
	anon, err = lineValue(string(b), "anon")
	if err != nil {
		return -1, -1
	}
	if file, err = lineValue(string(b), "file"); err != nil {
		file = -1
	}
	return anon, file
}

func (g *group) remove() {
	if g == nil {
		return
	}
	_ = os.Remove(g.dir.Name()) // an empty one that stays behind is used again
	_ = g.dir.Close()
}
