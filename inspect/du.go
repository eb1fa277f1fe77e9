package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"spoolctl/storage"
	"spoolctl/storage/key"
)

// The groupings of Session.DiskUsage.
const (
	ByFamily = "family"
	ByLevel  = "level"
	ByTopic  = "topic"
	ByFile   = "file"
)

// Groupings lists the groupings of DiskUsage.
func Groupings() []string { return []string{ByFamily, ByLevel, ByTopic, ByFile} }

// DiskRow is one line of `inspect du`. What of a table is live is estimated
// from the number of its records: all count as equally large.
type DiskRow struct {
	Name    string `json:"name" col:"NAME,name"` // of the group; (log) and the like is what belongs to no table
	Files   int    `json:"files" col:"FILES" fmt:"count"`
	Bytes   int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
	Live    *int64 `json:"liveBytes" col:"LIVE" fmt:"bytes"`            // nil: not known, or no table
	Garbage *int64 `json:"garbageBytes" col:"GARBAGE" fmt:"bytes"`      // overwritten, deleted, or waiting to be removed
	Records *int64 `json:"records" col:"RECORDS" fmt:"count"`           // all versions; nil: not known
	Logical *int64 `json:"payloadBytes" col:"PAYLOAD,wide" fmt:"bytes"` // of live entries, before compression
}

// DiskTotals are sums over all files of the spool.
type DiskTotals struct {
	Files   int   `json:"files" col:"FILES" fmt:"count"`
	Bytes   int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
	Live    int64 `json:"liveBytes" col:"LIVE" fmt:"bytes"`
	Garbage int64 `json:"garbageBytes" col:"GARBAGE" fmt:"bytes"`
}

// DiskList is the answer of DiskUsage.
type DiskList struct {
	Rows   []DiskRow
	Totals DiskTotals
}

// diskGroups collects rows by name.
type diskGroups map[string]*DiskRow

func (g diskGroups) row(name string) *DiskRow {
	if g[name] == nil {
		g[name] = &DiskRow{Name: name}
	}
	return g[name]
}

func sum(to **int64, n int64) {
	if *to == nil {
		*to = new(int64)
	}
	**to += n
}

// DiskUsage says what takes the spool's space.
func (s *Session) DiskUsage(ctx context.Context, by string) (DiskList, error) {
	return again(s, func() (out DiskList, err error) {
		type topic struct {
			name  string
			share topicShare
			bytes int64
		}
		var topics []topic
		u, err := s.readDiskUse(ctx, func(t *storage.TopicView, share topicShare) {
			if by == ByTopic {
				topics = append(topics, topic{t.Name, share, t.Stats().Bytes})
			}
		})
		if err != nil {
			return out, s.degrade(ctx, err)
		}
		groups := diskGroups{}
		for i := range u.tables {
			t := &u.tables[i]
			live, known := t.liveBytes()
			if known {
				out.Totals.Live += live
				out.Totals.Garbage += t.bytes - live
			}
			if by == ByTopic && t.family == key.Entry {
				groups.garbage(t, live, known)
				continue
			}
			groups.table(groupOf(by, t), t, live, known)
		}
		for _, t := range topics {
			row := groups.row(t.name)
			n := u.physical(t.share)
			row.Bytes, row.Files = n, len(t.share.parts)
			sum(&row.Live, n)
			sum(&row.Garbage, 0)
			sum(&row.Logical, t.bytes)
		}
		if err := s.otherFiles(groups); err != nil {
			return out, err
		}
		for _, r := range groups {
			out.Rows = append(out.Rows, *r)
			out.Totals.Bytes += r.Bytes
			if by != ByTopic {
				out.Totals.Files += r.Files
			}
		}
		if by == ByTopic { // tables are shared by topics
			out.Totals.Files = len(u.tables) + len(s.files.Logs) + 1
		}
		slices.SortFunc(out.Rows, func(a, b DiskRow) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
		return out, nil
	})
}

// garbage notes what of a table of entries belongs to no topic.
func (g diskGroups) garbage(t *tableUse, live int64, known bool) {
	row := g.row("(removed entries)")
	if !known {
		row = g.row("(unreadable tables)")
		row.Bytes += t.bytes
		row.Files++
		return
	}
	row.Bytes += t.bytes - live
	sum(&row.Live, 0)
	sum(&row.Garbage, t.bytes-live)
	if live < t.bytes {
		row.Files++
	}
}

func (g diskGroups) table(name string, t *tableUse, live int64, known bool) {
	row := g.row(name)
	row.Files++
	row.Bytes += t.bytes
	if t.family == key.Entry {
		sum(&row.Logical, int64(t.logical))
	}
	if known {
		sum(&row.Live, live)
		sum(&row.Garbage, t.bytes-live)
		sum(&row.Records, t.records)
	}
}

func groupOf(by string, t *tableUse) string {
	switch by {
	case ByLevel:
		return fmt.Sprintf("level %d", t.Level)
	case ByFile:
		return fmt.Sprintf("%06d.sst", t.File)
	case ByTopic:
		return "(" + t.family.String() + " records)"
	}
	return t.family.String()
}

// otherFiles adds the files that hold no table.
func (s *Session) otherFiles(g diskGroups) error {
	for _, l := range s.files.Logs {
		row := g.row("(log)")
		row.Files++
		row.Bytes += max(0, l.Size)
	}
	live := map[uint64]bool{}
	for _, t := range s.manifest.Live() {
		live[t.File] = true
	}
	for n, size := range s.files.Tables {
		if !live[n] {
			row := g.row("(tables not in use)")
			row.Files++
			row.Bytes += max(0, size)
			sum(&row.Garbage, max(0, size))
		}
	}
	fs := s.o.FS
	err := s.eachFile(s.dir, func(path string, size int64) {
		rel := strings.TrimPrefix(strings.TrimPrefix(path, s.dir), "/")
		folder, rest, inside := strings.Cut(rel, "/")
		name := "(other)"
		switch {
		case inside && folder == storage.StoreDir:
			if ext := fs.PathBase(rest); strings.HasSuffix(ext, ".sst") || strings.HasSuffix(ext, ".log") {
				return
			}
			name = "(database files)"
		case inside:
			name = "(" + folder + ")"
		}
		row := g.row(name)
		row.Files++
		row.Bytes += size
	})
	return err
}

// eachFile calls each for all files below a folder.
func (s *Session) eachFile(dir string, each func(path string, size int64)) error {
	fs := s.o.FS
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, n := range names {
		path := fs.PathJoin(dir, n)
		info, err := fs.Stat(path)
		switch {
		case err != nil:
			continue // gone meanwhile
		case info.IsDir():
			err = s.eachFile(path, each)
		default:
			each(path, info.Size())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
