package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"
)

// LogRecord is one line of `inspect wal`: one batch of the log.
type LogRecord struct {
	File     string         `json:"file" col:"FILE"`
	Offset   int64          `json:"offset" col:"OFFSET" fmt:"plain"`
	Seq      uint64         `json:"sequence" col:"SEQUENCE" fmt:"plain"` // of its first operation
	Count    uint32         `json:"operations" col:"OPERATIONS" fmt:"count"`
	Bytes    int64          `json:"bytes" col:"BYTES" fmt:"bytes"`
	Families map[string]int `json:"families" col:"FAMILIES"` // operations by family; deletions by "-family"
}

// LogTotals are sums over the logs.
type LogTotals struct {
	Files      int   `json:"files" col:"FILES" fmt:"count"`
	Records    int64 `json:"records" col:"RECORDS" fmt:"count"`
	Operations int64 `json:"operations" col:"OPERATIONS" fmt:"count"`
	Bytes      int64 `json:"bytes" col:"BYTES" fmt:"bytes"` // of the files
	Ended      bool  `json:"closed" col:"CLOSED"`           // the newest log was closed properly
}

// Log is the answer of Session.Log.
type Log struct {
	Rows   func(yield func(LogRecord, error) bool)
	Totals *LogTotals // complete when Rows has ended
}

// Log lists the records of the logs that the database still needs, oldest
// first.
func (s *Session) Log(ctx context.Context) (*Log, error) {
	if err := s.listFiles(); err != nil {
		return nil, err
	}
	out := &Log{Totals: &LogTotals{}}
	out.Rows = func(yield func(LogRecord, error) bool) {
		var row *LogRecord
		give := func() error {
			if row != nil && !yield(*row, nil) {
				return errEnough
			}
			return nil
		}
		check, err := damage.ReadLogVersions(s.damageOptions(), s.manifest, s.files, func(v damage.LogVersion) error {
			if v.First {
				if err := give(); err != nil {
					return err
				}
				row = &LogRecord{File: v.File, Offset: v.Offset, Seq: v.Seq, Count: v.Count, Bytes: v.Record, Families: map[string]int{}}
			}
			name := "unknown"
			if len(v.Key) > 0 {
				name = key.Family(v.Key[0]).String()
			}
			if !sets(v.Kind) {
				name = "-" + name
			}
			row.Families[name]++
			return ctx.Err()
		})
		if err == nil {
			err = give()
		}
		*out.Totals = LogTotals{Files: len(s.files.Needed(s.manifest)), Records: check.Batches, Operations: check.Keys, Bytes: check.Bytes, Ended: check.Ended}
		if err == errEnough { //nolint:errorlint // it is given back as it is
			return
		}
		if err != nil {
			yield(LogRecord{}, err)
		}
	}
	return out, nil
}

// LogVersions lists every operation of the logs.
func (s *Session) LogVersions(ctx context.Context, raw bool) (func(yield func(Version, error) bool), error) {
	if err := s.listFiles(); err != nil {
		return nil, err
	}
	return func(yield func(Version, error) bool) {
		_, err := damage.ReadLogVersions(s.damageOptions(), s.manifest, s.files, func(v damage.LogVersion) error {
			if !yield(versionRow(v.Version, v.File, nil, raw), nil) {
				return errEnough
			}
			return ctx.Err()
		})
		if err != nil && err != errEnough { //nolint:errorlint // it is given back as it is
			yield(Version{}, err)
		}
	}, nil
}

// Table is one line of `inspect lsm`.
type Table struct {
	Level     int      `json:"level" col:"LEVEL"`
	File      string   `json:"file" col:"FILE,name"`
	Number    uint64   `json:"number" col:"NUMBER,wide" fmt:"plain"`
	Family    string   `json:"family" col:"FAMILY"`
	Bytes     int64    `json:"bytes" col:"BYTES" fmt:"bytes"`
	Records   *int64   `json:"records" col:"RECORDS" fmt:"count"` // all versions; nil: not known
	Deletions *int64   `json:"deletions" col:"DELETIONS,wide" fmt:"count"`
	Raw       *int64   `json:"rawBytes" col:"RAW,wide" fmt:"bytes"` // before compression
	Codec     string   `json:"compression" col:"COMPRESSION,wide"`
	Smallest  string   `json:"smallest" col:"SMALLEST"`
	Largest   string   `json:"largest" col:"LARGEST"`
	Topics    []string `json:"topics" col:"TOPICS,wide"` // with records in it, at most ten
	TopicN    int      `json:"topicCount" col:"TOPIC_COUNT" fmt:"count"`
	Virtual   bool     `json:"virtual" col:"VIRTUAL,wide"` // a part of its file
}

// TableTotals are sums over tables.
type TableTotals struct {
	Tables int   `json:"tables" col:"TABLES" fmt:"count"`
	Levels int   `json:"levels" col:"LEVELS" fmt:"count"` // with tables
	Bytes  int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
}

// TableList is the answer of Tables.
type TableList struct {
	Tables []Table
	Totals TableTotals
}

// maxTableTopics bounds how many topics of a table are named.
const maxTableTopics = 10

// Tables lists the live tables by level.
func (s *Session) Tables(ctx context.Context) (TableList, error) {
	return again(s, func() (out TableList, err error) {
		topics := map[int][]string{}
		u, err := s.readDiskUse(ctx, func(t *storage.TopicView, share topicShare) {
			for i := range share.parts {
				topics[i] = append(topics[i], t.Name)
			}
		})
		if err != nil {
			return out, s.degrade(ctx, err)
		}
		levels := map[int]bool{}
		for i := range u.tables {
			row := s.tableRow(&u.tables[i])
			row.TopicN = len(topics[i])
			row.Topics = topics[i][:min(maxTableTopics, len(topics[i]))]
			levels[row.Level] = true
			out.Totals.Bytes += row.Bytes
			out.Tables = append(out.Tables, row)
		}
		out.Totals.Tables, out.Totals.Levels = len(out.Tables), len(levels)
		return out, nil
	})
}

func (s *Session) tableRow(t *tableUse) Table {
	row := Table{
		Level: t.Level, File: damage.TableFile(t.File), Number: t.Number, Family: t.family.String(), Bytes: t.bytes,
		Smallest: key.Format(t.Smallest), Largest: key.Format(t.Largest), Virtual: t.Virtual,
	}
	if t.props != nil {
		row.Records, row.Deletions = new(int64(t.props.Records)), new(int64(t.props.Deletions))
		row.Raw, row.Codec = new(int64(t.props.RawBytes)), t.props.Compression
	}
	return row
}

// File is one line of `inspect files`.
type File struct {
	Name     string    `json:"name" col:"NAME,name"` // relative to the spool
	Kind     string    `json:"kind" col:"KIND"`
	Size     int64     `json:"size" col:"SIZE" fmt:"bytes"`
	Modified time.Time `json:"modified" col:"MODIFIED" fmt:"time"`
	InUse    bool      `json:"inUse" col:"IN_USE"` // false: a leftover that the next start of the broker removes
}

// FileList is the answer of Files.
type FileList struct {
	Files   []File
	Missing []string // files that the MANIFEST lists and that are not there
	Totals  struct {
		Files   int   `json:"files" col:"FILES" fmt:"count"`
		Bytes   int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
		Missing int   `json:"missing" col:"MISSING" fmt:"count"`
	}
}

// Files lists all files of the spool, and whether the database uses them.
func (s *Session) Files(ctx context.Context) (out FileList, err error) {
	if err := s.listFiles(); err != nil {
		return out, err
	}
	use := map[string]bool{s.manifest.File: true}
	for _, t := range s.manifest.Live() {
		use[damage.TableFile(t.File)] = true
		if _, there := s.files.Tables[t.File]; !there {
			out.Missing = append(out.Missing, damage.TableFile(t.File))
		}
	}
	for _, l := range s.files.Needed(s.manifest) {
		use[l.Name] = true
	}
	slices.Sort(out.Missing)
	for _, name := range slices.Compact(out.Missing) {
		s.problem(damage.Problem{File: s.o.FS.PathJoin(storage.StoreDir, name), What: "the table is missing"})
	}
	err = s.eachFile(s.dir, func(path string, size int64) {
		f := File{Name: strings.TrimPrefix(strings.TrimPrefix(path, s.dir), "/"), Size: size}
		if info, err := s.o.FS.Stat(path); err == nil {
			f.Modified = info.ModTime().UTC()
		}
		base := s.o.FS.PathBase(path)
		f.Kind = fileKind(base)
		f.InUse = use[base] || !(f.Kind == "table" || f.Kind == "log" || f.Kind == "MANIFEST")
		out.Files = append(out.Files, f)
		out.Totals.Bytes += size
	})
	out.Totals.Files, out.Totals.Missing = len(out.Files), len(out.Missing)
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

func fileKind(base string) string {
	switch {
	case strings.HasSuffix(base, ".sst"):
		return "table"
	case strings.HasSuffix(base, ".log"):
		return "log"
	case strings.HasPrefix(base, "MANIFEST-"):
		return "MANIFEST"
	case strings.HasPrefix(base, "OPTIONS-"):
		return "options"
	case strings.HasPrefix(base, "marker."):
		return "marker"
	case base == "LOCK":
		return "lock"
	case base == "SPOOL":
		return "identity"
	}
	return "other"
}

// Edit is one line of `inspect files --edits`: one change of the list of
// tables, from the MANIFEST.
type Edit struct {
	Number  int      `json:"edit" col:"EDIT" fmt:"plain"`
	Offset  int64    `json:"offset" col:"OFFSET" fmt:"plain"`
	Added   []string `json:"added" col:"ADDED"`     // level/number and family of each table
	Removed []string `json:"removed" col:"REMOVED"` // level/number
	MinLog  *uint64  `json:"oldestLog" col:"OLDEST_LOG" fmt:"plain"`
	LastSeq *uint64  `json:"lastSequence" col:"LAST_SEQUENCE,wide" fmt:"plain"`
}

// Edits lists the edits of the MANIFEST as far as it can be read.
func (s *Session) Edits() []Edit {
	var out []Edit
	m := damage.ReadEdits(s.o.FS, s.storeDir(), storage.StoreDir, func(e damage.Edit) {
		row := Edit{Number: len(out) + 1, Offset: e.Offset}
		for _, t := range e.Added {
			family := "unknown"
			if len(t.Smallest) > 0 {
				family = key.Family(t.Smallest[0]).String()
			}
			row.Added = append(row.Added, fmt.Sprintf("L%d/%06d %s", t.Level, t.Number, family))
		}
		for _, t := range e.Removed {
			row.Removed = append(row.Removed, fmt.Sprintf("L%d/%06d", t.Level, t.Number))
		}
		if e.MinLog > 0 {
			row.MinLog = &e.MinLog
		}
		if e.LastSeq > 0 {
			row.LastSeq = &e.LastSeq
		}
		out = append(out, row)
	})
	if !s.source.Damaged { // else opening has said it
		s.problems = append(s.problems, m.Problems...)
	}
	return out
}
