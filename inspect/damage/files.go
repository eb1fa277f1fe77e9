package damage

import (
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// LogFile is one file of the write-ahead log.
type LogFile struct {
	Name   string
	Number uint64
	Size   int64
}

// Files are the files of a database's folder.
type Files struct {
	Logs   []LogFile        // by number, then name
	Tables map[uint64]int64 // sizes by number
}

// ListFiles lists the folder of a database.
func ListFiles(fs vfs.FS, dir string) (Files, error) {
	out := Files{Tables: map[uint64]int64{}}
	names, err := fs.List(dir)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		if num, _, ok := wal.ParseLogFilename(name); ok {
			out.Logs = append(out.Logs, LogFile{Name: name, Number: uint64(num), Size: sizeOf(fs, fs.PathJoin(dir, name))})
			continue
		}
		if base, ok := strings.CutSuffix(name, ".sst"); ok {
			if n, ok := number(base); ok {
				out.Tables[n] = sizeOf(fs, fs.PathJoin(dir, name))
			}
		}
	}
	slices.SortFunc(out.Logs, func(a, b LogFile) int {
		if a.Number != b.Number {
			return int(int64(a.Number) - int64(b.Number))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// Needed returns the logs that hold what is not in tables yet.
func (f Files) Needed(m *Manifest) []LogFile {
	i := slices.IndexFunc(f.Logs, func(l LogFile) bool { return l.Number >= m.MinLog })
	if i < 0 {
		return nil
	}
	return f.Logs[i:]
}

func sizeOf(fs vfs.FS, path string) int64 {
	info, err := fs.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

func number(s string) (n uint64, ok bool) {
	if s == "" || len(s) > 19 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}
