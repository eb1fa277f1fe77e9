package damage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Version is one version of a key, or a deletion, as a file holds it. Slices
// are valid during the call only.
type Version struct {
	Key, Value []byte
	End        []byte // of a range deletion, not included; else nil
	Seq        uint64
	Kind       pebble.InternalKeyKind
	Offset     int64 // of the record, in a log; else -1
}

// TableProperties are what a table says of itself.
type TableProperties struct {
	Records      uint64 // all versions and deletions, range deletions included
	Deletions    uint64 // points and ranges
	RangeDels    uint64
	RawBytes     uint64 // keys and values before compression
	DataBytes    uint64 // blocks of keys and values
	Compression  string
	FormatFilter string // name of the filter, empty without one
}

// TableFile is the name of a table's file.
func TableFile(file uint64) string { return fmt.Sprintf("%06d.sst", file) }

// ReadProperties reads the properties of a table.
func ReadProperties(o Options, file uint64) (p TableProperties, err error) {
	defer guard(&err)
	t, err := openTable(o.FS, o.FS.PathJoin(o.Dir, TableFile(file)))
	if err != nil {
		return p, err
	}
	defer func() { _ = t.Close() }() // it was only read
	props, err := t.ReadPropertiesBlock(context.Background(), nil)
	if err != nil {
		return p, err
	}
	return TableProperties{
		Records: props.NumEntries, Deletions: props.NumDeletions, RangeDels: props.NumRangeDeletions,
		RawBytes: props.RawKeySize + props.RawValueSize, DataBytes: props.DataSize,
		Compression: props.CompressionName, FormatFilter: props.FilterPolicyName,
	}, nil
}

// overlaps reports whether a table may hold keys in [lower, upper); nil is no
// bound.
func (t Table) overlaps(lower, upper []byte) bool {
	return t.Smallest == nil || (upper == nil || bytes.Compare(t.Smallest, upper) < 0) && (lower == nil || bytes.Compare(t.Largest, lower) >= 0)
}

// ReadVersions calls each for what a table holds in [lower, upper): first its
// range deletions that touch it, then the keys in order. Damage is a Problem;
// the error is each's.
func ReadVersions(o Options, t Table, lower, upper []byte, each func(Version) error) (*Problem, error) {
	if !t.overlaps(lower, upper) {
		return nil, nil
	}
	name := o.FS.PathJoin(o.Show, TableFile(t.File))
	f, err := openTable(o.FS, o.FS.PathJoin(o.Dir, TableFile(t.File)))
	if err != nil {
		return &Problem{File: name, What: "the table cannot be read: " + plain(err)}, nil
	}
	defer func() { _ = f.Close() }() // it was only read
	in := func(first, end []byte) bool {
		return (upper == nil || bytes.Compare(first, upper) < 0) && (lower == nil || bytes.Compare(end, lower) > 0)
	}
	var failed error
	problem := readRangeDels(f, func(d rangeDel) {
		if failed == nil && in(d.start, d.end) {
			failed = each(Version{Key: d.start, End: d.end, Seq: d.seq, Kind: pebble.InternalKeyKindRangeDelete, Offset: -1})
		}
	})
	if failed != nil {
		return nil, failed
	}
	st, err := readTable(f, t, func(v op) error {
		switch {
		case upper != nil && bytes.Compare(v.key, upper) >= 0:
			return errEnd
		case lower != nil && bytes.Compare(v.key, lower) < 0:
			return nil
		}
		return each(Version{Key: v.key, Value: v.value, Seq: v.seq, Kind: v.kind, Offset: -1})
	})
	if err != nil && !errors.Is(err, errEnd) {
		return nil, err
	}
	if problem = errors.Join(problem, st.err); problem == nil {
		return nil, nil
	}
	p := &Problem{File: name, What: "a part of the table cannot be read: " + plain(problem), Recovered: &st.read, Lost: st.lost}
	if len(st.bad) > 0 {
		p.Offset, p.Length = &st.bad[0].Offset, &st.bad[0].Length
	}
	p.keys(st.first, st.last)
	return p, nil
}

// LogVersion is a Version with the log that it stands in.
type LogVersion struct {
	Version
	File   string // name of the log
	Record int64  // bytes of the record
	First  bool   // it is the first of its record
	Count  uint32 // operations of the record
}

// ReadLogVersions calls each for every operation in the logs that the database
// needs, oldest first. The error is each's; damage is in the result.
func ReadLogVersions(o Options, m *Manifest, files Files, each func(LogVersion) error) (*LogCheck, error) {
	var failed error
	check := readLogs(o, m, files, func(v op) error {
		lv := LogVersion{Version: Version{Key: v.key, Value: v.value, Seq: v.seq, Kind: v.kind, Offset: v.in.record.Offset},
			File: v.in.file, Record: int64(len(v.in.record.Data)), First: v.in.first, Count: v.in.count}
		if v.kind == pebble.InternalKeyKindRangeDelete {
			lv.End, lv.Value = v.value, nil
		}
		if failed == nil {
			failed = each(lv)
		}
		return failed
	})
	return check, failed
}
