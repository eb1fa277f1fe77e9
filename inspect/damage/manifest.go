package damage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Table is one live table of the database.
type Table struct {
	Number            uint64 // as the MANIFEST counts
	File              uint64 // number of the file that holds it
	Level             int
	Size              uint64 // bytes, as the MANIFEST says
	Smallest, Largest []byte // user keys; nil when the MANIFEST did not say
	Virtual           bool   // only the keys between the bounds belong to it
}

// Manifest is the database's list of files.
type Manifest struct {
	File     string // name of the MANIFEST, empty when there is none
	MinLog   uint64 // logs with a smaller number are not needed any more
	LastSeq  uint64
	Tables   map[uint64]Table
	Gone     map[uint64]bool // tables that were taken out again
	Edits    int64
	Whole    bool // all of it could be read
	Problems []Problem
}

// Live returns the tables by level, then number.
func (m *Manifest) Live() []Table {
	out := make([]Table, 0, len(m.Tables))
	for _, t := range m.Tables {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Table) int {
		if a.Level != b.Level {
			return a.Level - b.Level
		}
		return int(int64(a.Number) - int64(b.Number))
	})
	return out
}

// ReadManifest decodes the MANIFEST of the database in dir as far as it can:
// up to the first edit that is not readable. Damage is listed in Problems.
func ReadManifest(fs vfs.FS, dir, show string) *Manifest {
	return ReadEdits(fs, dir, show, nil)
}

// Edit is one change of the list of files.
type Edit struct {
	Offset  int64   // of its record in the MANIFEST
	Added   []Table // by rising level, as written
	Removed []Table // Level and Number only
	MinLog  uint64  // 0: not changed
	LastSeq uint64  // 0: not changed
}

// ReadEdits is ReadManifest that hands every edit to each, unless it is nil.
func ReadEdits(fs vfs.FS, dir, show string, each func(Edit)) *Manifest {
	m := &Manifest{Tables: map[uint64]Table{}, Gone: map[uint64]bool{}}
	path := currentManifest(fs, dir)
	if path == "" {
		m.Problems = append(m.Problems, Problem{File: show, What: "there is no MANIFEST: which tables belong to the database is unknown"})
		return m
	}
	m.File = fs.PathBase(path)
	name := fs.PathJoin(show, m.File)
	f, err := fs.Open(path)
	if err != nil {
		m.Problems = append(m.Problems, Problem{File: name, What: "the MANIFEST cannot be opened: " + plain(err)})
		return m
	}
	defer f.Close()
	bad := func(offset int64, what string) {
		m.Problems = append(m.Problems, Problem{File: name, Offset: &offset, Recovered: new(m.Edits),
			What: what + "; later changes of the list of tables are unknown"})
	}
	stop := errors.New("stop")
	log, err := ReadLog(f, 0, func(r Record) error {
		if r.AfterGap {
			return stop
		}
		edit := Edit{Offset: r.Offset}
		if err := m.apply(r.Data, &edit); err != nil {
			bad(r.Offset, "the MANIFEST has an edit that cannot be decoded: "+err.Error())
			return stop
		}
		m.Edits++
		if each != nil {
			each(edit)
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, stop):
		bad(0, "the MANIFEST cannot be read: "+plain(err))
	case len(log.Gaps) > 0:
		bad(log.Gaps[0].Offset, "the MANIFEST is damaged")
	case log.Cut:
		bad(log.CutAt, "the MANIFEST ends in the middle of an edit")
	}
	if m.Edits == 0 && len(m.Problems) == 0 {
		m.Problems = append(m.Problems, Problem{File: name, What: "the MANIFEST is empty: which tables belong to the database is unknown"})
	}
	m.Whole = len(m.Problems) == 0
	return m
}

// currentManifest is the path of the MANIFEST that is in use; where the marker
// that names it is lost, that of the newest one.
func currentManifest(fs vfs.FS, dir string) string {
	if desc, err := pebble.Peek(dir, fs); err == nil && desc.Exists {
		return desc.ManifestFilename
	}
	names, err := fs.List(dir)
	if err != nil {
		return ""
	}
	best := ""
	for _, n := range names {
		if strings.HasPrefix(n, "MANIFEST-") && (len(n) > len(best) || (len(n) == len(best) && n > best)) {
			best = n
		}
	}
	if best == "" {
		return ""
	}
	return fs.PathJoin(dir, best)
}

// The tags of an edit's fields, and of the fields of a new table.
const (
	tagComparator     = 1
	tagLogNumber      = 2
	tagNextFile       = 3
	tagLastSequence   = 4
	tagCompactPointer = 5
	tagDeletedFile    = 6
	tagNewFile        = 7
	tagPrevLog        = 9
	tagNewFile2       = 100
	tagNewFile3       = 102
	tagNewFile4       = 103
	tagNewFile5       = 104
	tagCreatedBacking = 105
	tagRemovedBacking = 106
	tagNewBlob        = 107
	tagDeletedBlob    = 108

	customEnd            = 1
	customPath           = 65
	customVirtual        = 66
	customBlobReferences = 69
	customMustKnow       = 64 // tags below it are safe to skip

	boundsHavePoints = 1 << 0
)

var errEdit = errors.New("unexpected end or unknown field")

// fields reads the parts of an edit; the first failure sticks.
type editFields struct {
	b    []byte
	fail bool
}

func (e *editFields) uint() uint64 {
	v, n := binary.Uvarint(e.b)
	if n <= 0 {
		e.fail, e.b = true, nil
		return 0
	}
	e.b = e.b[n:]
	return v
}

func (e *editFields) bytes() []byte {
	n := e.uint()
	if n > uint64(len(e.b)) {
		e.fail, e.b = true, nil
		return nil
	}
	v := e.b[:n]
	e.b = e.b[n:]
	return v
}

func (e *editFields) byte() byte {
	if len(e.b) == 0 {
		e.fail = true
		return 0
	}
	v := e.b[0]
	e.b = e.b[1:]
	return v
}

func (m *Manifest) apply(data []byte, edit *Edit) error {
	e := &editFields{b: data}
	for len(e.b) > 0 && !e.fail {
		switch tag := e.uint(); tag {
		case tagComparator:
			e.bytes()
		case tagLogNumber:
			edit.MinLog = e.uint()
			m.MinLog = edit.MinLog
		case tagNextFile, tagPrevLog, tagRemovedBacking:
			e.uint()
		case tagLastSequence:
			edit.LastSeq = e.uint()
			m.LastSeq = edit.LastSeq
		case tagCompactPointer:
			e.uint()
			e.bytes()
		case tagDeletedFile:
			level := int(e.uint())
			n := e.uint()
			edit.Removed = append(edit.Removed, Table{Level: level, Number: n})
			if t, ok := m.Tables[n]; ok && t.Level == level {
				delete(m.Tables, n)
				m.Gone[t.File] = true
			}
		case tagNewFile, tagNewFile2, tagNewFile3, tagNewFile4, tagNewFile5:
			t := e.table(tag)
			if !e.fail {
				m.Tables[t.Number] = t
				edit.Added = append(edit.Added, t)
			}
		case tagCreatedBacking, tagDeletedBlob:
			e.uint()
			e.uint()
		case tagNewBlob:
			for range 5 {
				e.uint()
			}
		default:
			return fmt.Errorf("%w (%d)", errEdit, tag)
		}
	}
	if e.fail {
		return errEdit
	}
	for _, t := range edit.Added {
		delete(m.Gone, t.File)
	}
	if len(edit.Removed) > 0 {
		for _, t := range m.Tables {
			delete(m.Gone, t.File) // shared with what was removed
		}
	}
	return nil
}

func (e *editFields) table(tag uint64) Table {
	t := Table{Level: int(e.uint()), Number: e.uint()}
	t.File = t.Number
	if tag == tagNewFile3 {
		e.uint()
	}
	t.Size = e.uint()
	points := true
	if tag == tagNewFile5 {
		points = e.byte()&boundsHavePoints != 0
	}
	if points {
		t.Smallest, t.Largest = userKey(e.bytes()), userKey(e.bytes())
	}
	if tag == tagNewFile5 { // range keys; a spool has none
		e.bytes()
		e.bytes()
	}
	if tag != tagNewFile {
		e.uint()
		e.uint()
	}
	if tag != tagNewFile4 && tag != tagNewFile5 {
		return t
	}
	for !e.fail {
		switch custom := e.uint(); {
		case custom == customEnd:
			return t
		case custom == customVirtual:
			t.Virtual, t.File = true, e.uint()
		case custom == customBlobReferences:
			e.uint()
			for n := e.uint(); n > 0 && !e.fail; n-- {
				e.uint()
				e.uint()
			}
		case custom == customPath:
			e.fail = true
		default: // synthetic prefixes and suffixes are of no use to a spool
			e.bytes()
		}
	}
	return t
}

// userKey cuts the sequence number off an internal key.
func userKey(b []byte) []byte {
	if len(b) < 8 {
		return nil
	}
	return slices.Clone(b[:len(b)-8])
}

// plain is an error's text in one line, without a library's annotations.
func plain(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}
