package damage

import (
	"errors"
	"fmt"

	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
)

// LogCheck is what reading all needed logs found out.
type LogCheck struct {
	Batches  int64 // records
	Keys     int64
	Chunks   int64
	Bytes    int64
	Ended    bool // the newest log was closed properly
	Short    bool // the newest log ends in the middle of a write
	Problems []Problem
	Tail     *Problem // the newest log ends in what is no record; not in Problems
	// Hidden: readable records follow a damaged place, or a log is missing; a
	// reader that stops at the damage misses them.
	Hidden bool
}

// CheckLogs reads every chunk of the logs that a database needs.
func CheckLogs(o Options, m *Manifest, files Files) *LogCheck {
	return readLogs(o, m, files, func(op) error { return nil })
}

// readLogs calls each for every operation in the logs, oldest first. Slices
// are valid during the call only.
func readLogs(o Options, m *Manifest, files Files, each func(op) error) *LogCheck {
	out := &LogCheck{}
	need := files.Needed(m)
	if len(need) == 0 && m.MinLog > 0 {
		out.Problems = append(out.Problems, Problem{File: o.FS.PathJoin(o.Show, fmt.Sprintf("%06d.log", m.MinLog)),
			What: "the log is missing: what was written last is lost"})
	}
	expect := uint64(0) // sequence number of the next operation, 0 = unknown
	for i, l := range need {
		last := i == len(need)-1
		expect = readOneLog(o, l, last, expect, out, each)
	}
	return out
}

func readOneLog(o Options, l LogFile, last bool, expect uint64, out *LogCheck, each func(op) error) uint64 {
	name := o.FS.PathJoin(o.Show, l.Name)
	f, err := o.FS.Open(o.FS.PathJoin(o.Dir, l.Name))
	if err != nil {
		out.Problems = append(out.Problems, Problem{File: name, What: "the log cannot be opened: " + plain(err)})
		return 0
	}
	defer f.Close()
	out.Bytes += max(0, l.Size)
	var lost []int64 // operations missing before the record behind each gap
	log, err := ReadLog(f, l.Number, func(r Record) error {
		if r.AfterGap && last && o.Snapshot {
			return errEnd
		}
		h, ok := batchrepr.ReadHeader(r.Data)
		if !ok {
			out.Problems = append(out.Problems, Problem{File: name, Offset: &r.Offset, What: "a record of the log is too short for a batch"})
			return nil
		}
		seq := uint64(h.SeqNum)
		if r.AfterGap {
			n := int64(-1)
			if expect > 0 && seq >= expect {
				n = int64(seq - expect)
			}
			lost = append(lost, n)
		}
		expect = seq + uint64(h.Count)
		out.Batches++
		return readBatch(inLog{name, r, true, h.Count}, seq, out, each)
	})
	if err != nil && !errors.Is(err, errEnd) {
		out.Problems = append(out.Problems, Problem{File: name, What: "the log cannot be read: " + plain(err)})
	}
	out.Chunks += log.Chunks
	out.Ended = log.Ended
	if last && o.Snapshot {
		return expect
	}
	for i, g := range log.Gaps {
		if g.Tail && last && g.Short {
			out.Short = true // as a kill leaves it; what was cut was never acknowledged
			continue
		}
		p := Problem{File: name, Offset: &g.Offset, Length: &g.Length, Recovered: new(out.Keys)}
		switch {
		case g.Tail && last && !log.Ended:
			p.What = "the end of the log is not a whole record: what a power loss cut short was never acknowledged, but damage looks the same"
			out.Tail = &p
			continue
		default:
			p.What = "a part of the log is damaged"
			out.Hidden = out.Hidden || !g.Tail
		}
		if i < len(lost) && lost[i] >= 0 {
			p.Lost = &lost[i]
		}
		out.Problems = append(out.Problems, p)
	}
	if !last && !log.Ended && len(log.Gaps) == 0 {
		out.Problems = append(out.Problems, Problem{File: name, Offset: new(l.Size), Recovered: new(out.Keys),
			What: "the log ends without its end mark though a newer log follows"})
		expect = 0
	}
	return expect
}

// errEnd ends reading a log where the moment of a snapshot is.
var errEnd = errors.New("the snapshot ends here")

func readBatch(in inLog, seq uint64, out *LogCheck, each func(op) error) error {
	for ops := batchrepr.Read(in.record.Data); ; {
		kind, k, v, ok, err := ops.Next()
		if err != nil {
			out.Problems = append(out.Problems, Problem{File: in.file, Offset: &in.record.Offset, What: "a batch in the log cannot be decoded: " + plain(err)})
			return nil
		}
		if !ok {
			return nil
		}
		if kind == pebble.InternalKeyKindLogData {
			continue
		}
		out.Keys++
		if err := each(op{key: k, value: v, seq: seq, kind: kind, in: in}); err != nil {
			return err
		}
		seq++
		in.first = false
	}
}

// entryKey reports whether k is an entry's: those are written once and only
// ever deleted by ranges.
func entryKey(k []byte) bool { return len(k) == key.EntryLen && key.Family(k[0]) == key.Entry }
