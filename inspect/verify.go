package inspect

import (
	"context"
	"fmt"

	"spoolctl/inspect/damage"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The checks of Verify, as Finding.Check names them.
const (
	CheckFiles     = "files"     // checksums of table blocks, log chunks and the MANIFEST; missing files
	CheckRecords   = "records"   // every record belongs to a known family and decodes
	CheckTopics    = "topics"    // names, ids
	CheckLedgers   = "ledgers"   // ids rise, counts and starts agree
	CheckExtents   = "extents"   // each ledger is covered exactly once
	CheckEntries   = "entries"   // contiguous, counted rightly, checksum, batch size
	CheckCursors   = "cursors"   // mark-delete, ranges, batch indexes
	CheckBacklog   = "backlog"   // stored counters equal a recount
	CheckOrphans   = "orphans"   // records that nothing owns
	CheckResources = "resources" // documents decode
	CheckObjects   = "objects"   // offloaded ledgers
)

// Finding is one line of `inspect verify`.
type Finding struct {
	Check    string `json:"check" col:"CHECK"`
	Topic    string `json:"topic" col:"TOPIC"` // empty when it is not about one
	Position string `json:"position" col:"POSITION"`
	File     string `json:"file" col:"FILE"`
	Offset   *int64 `json:"offset" col:"OFFSET,wide"`
	What     string `json:"what" col:"WHAT"`
}

// VerifyOptions are for Session.Verify.
type VerifyOptions struct {
	// Fast leaves out what reads every byte: table blocks and entries.
	Fast bool
	// Progress, when not nil, is called now and then with what is done of
	// what: "tables" or "entries".
	Progress func(what string, done, total int64)
}

// Verification is the answer of Session.Verify.
type Verification struct {
	Findings  []Finding `json:"-"`
	Found     int64     `json:"findings" col:"FINDINGS" fmt:"count"` // all of them; Findings stops at MaxFindings
	Fast      bool      `json:"fast" col:"FAST"`
	Tables    int64     `json:"tables" col:"TABLES" fmt:"count"`
	Blocks    int64     `json:"blocks" col:"BLOCKS" fmt:"count"`
	Chunks    int64     `json:"logChunks" col:"LOG_CHUNKS" fmt:"count"`
	Records   int64     `json:"records" col:"RECORDS" fmt:"count"`
	Topics    int64     `json:"topics" col:"TOPICS" fmt:"count"`
	Ledgers   int64     `json:"ledgers" col:"LEDGERS" fmt:"count"`
	Entries   int64     `json:"entries" col:"ENTRIES" fmt:"count"`
	Messages  int64     `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes     int64     `json:"bytes" col:"BYTES" fmt:"bytes"`                // payload of the entries read
	Offloaded int64     `json:"offloadedEntries" col:"OFFLOADED" fmt:"count"` // in objects, and not looked at
	Compacted int64     `json:"compactedEntries" col:"COMPACTED" fmt:"count"` // that topic compaction has kept
	Cursors   int64     `json:"cursors" col:"CURSORS" fmt:"count"`
}

// MaxFindings bounds how many findings are kept.
const MaxFindings = 100_000

// verifier is one run of Verify.
type verifier struct {
	s   *Session
	ctx context.Context
	o   VerifyOptions
	out *Verification

	topics  map[uint64]string // names of the topics by id
	ledgers map[int64]uint64  // owners of the ledgers
	total   int64             // entries to read
	proven  []run             // what scanEntries found right, in the order of the disk
}

// Verify checks every checksum and every rule that holds between records. It
// lists all findings; the error is only about not being able to go on.
func (s *Session) Verify(ctx context.Context, o VerifyOptions) (*Verification, error) {
	v := &verifier{s: s, ctx: ctx, o: o}
	return again(s, func() (*Verification, error) {
		v.out, v.topics, v.ledgers, v.total, v.proven = &Verification{Fast: o.Fast}, map[uint64]string{}, map[int64]uint64{}, 0, nil
		for _, p := range s.problems {
			v.problem(p)
		}
		for _, step := range []func() error{v.records, v.eachTopic, v.compacted, v.objects, v.orphans, v.files} {
			if err := step(); err != nil {
				return nil, err
			}
		}
		return v.out, nil
	})
}

func (v *verifier) add(f Finding) {
	v.out.Found++
	if len(v.out.Findings) < MaxFindings {
		v.out.Findings = append(v.out.Findings, f)
	}
}

func (v *verifier) find(check, topic, position, what string, args ...any) {
	v.add(Finding{Check: check, Topic: topic, Position: position, What: fmt.Sprintf(what, args...)})
}

// problem turns what could not be read into a finding.
func (v *verifier) problem(p damage.Problem) {
	f := Finding{Check: CheckFiles, File: p.File, Offset: p.Offset}
	p.File, p.Offset = "", nil
	f.What = p.String()
	v.add(f)
}

func (v *verifier) progress(what string, done, total int64) {
	if v.o.Progress != nil {
		v.o.Progress(what, done, total)
	}
}

// files checks the MANIFEST, the logs and the tables.
func (v *verifier) files() error {
	s := v.s
	if s.source.Mode == ModeLive {
		return nil // files come and go
	}
	fs, dir := s.o.FS, s.storeDir()
	v.out.Chunks = damage.CheckLogs(s.damageOptions(), s.manifest, s.files).Chunks // its problems were found when opening
	tables := s.manifest.Live()
	checks := make([]tableFindings, len(tables))
	err := inParallel(v.ctx, len(tables), func(i int) { checks[i] = v.table(fs, dir, tables[i]) },
		func(done int64) { v.progress("tables", done, int64(len(tables))) })
	if err != nil {
		return err
	}
	for _, c := range checks {
		v.out.Tables++
		v.out.Blocks += c.blocks
		for _, f := range c.found {
			v.add(f)
		}
	}
	return nil
}

// tableFindings is what checking one table found.
type tableFindings struct {
	blocks int64
	found  []Finding
}

// table checks one table; it may run beside others.
func (v *verifier) table(fs vfs.FS, dir string, t damage.Table) (c tableFindings) {
	base := damage.TableFile(t.File)
	name := fs.PathJoin(storage.StoreDir, base)
	find := func(f Finding) {
		f.Check, f.File = CheckFiles, name
		c.found = append(c.found, f)
	}
	size, there := v.s.files.Tables[t.File]
	switch {
	case !there:
		find(Finding{What: "the table is missing"})
		return c
	case !t.Virtual && t.Size > 0 && size != int64(t.Size):
		find(Finding{What: fmt.Sprintf("the table has %d bytes instead of %d", size, t.Size)})
	}
	if v.o.Fast {
		return c
	}
	blocks, bad, err := damage.CheckTable(fs, fs.PathJoin(dir, base), v.seen)
	c.blocks = blocks
	if err != nil {
		find(Finding{What: "the table cannot be read: " + firstLine(err)})
	}
	for _, b := range bad {
		find(Finding{Offset: &b.Offset, What: fmt.Sprintf("a %s block of %d bytes does not match its checksum", b.Kind, b.Length)})
	}
	return c
}
