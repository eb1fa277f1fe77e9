package maintain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spoolctl/inspect"
	"spoolctl/inspect/damage"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SalvageOptions are for Salvage. Of Options it uses DryRun, Confirm, Progress, Now, Free and Step.
type SalvageOptions struct {
	Options        // Dir is the damaged spool; nothing in it changes
	To      string // where the new spool shall be
	Memory  int64  // bytes for what is read before it is written; default 256 MiB
}

// SalvageResult says what was saved, and what not.
type SalvageResult struct {
	Source      string        `json:"source" col:"SOURCE"`
	Spool       string        `json:"spool" col:"SPOOL,name"`
	Done        bool          `json:"done" col:"DONE"`
	Topics      int64         `json:"topics" col:"TOPICS" fmt:"count"`
	Ledgers     int64         `json:"ledgers" col:"LEDGERS" fmt:"count"`
	Entries     int64         `json:"entries" col:"ENTRIES" fmt:"count"`
	Bytes       int64         `json:"bytes" col:"BYTES" fmt:"bytes"` // of the entries
	Cursors     int64         `json:"cursors" col:"CURSORS" fmt:"count"`
	Records     int64         `json:"records" col:"RECORDS" fmt:"count"`          // of every kind
	LostEntries int64         `json:"lostEntries" col:"LOST_ENTRIES" fmt:"count"` // that their ledgers had
	LostRecords *int64        `json:"lostRecords" col:"LOST_RECORDS" fmt:"count"` // as the files tell; nil: nobody can know
	Unclean     bool          `json:"uncleanStop" col:"UNCLEAN_STOP"`             // the spool was not stopped cleanly: nobody can tell a log that was cut from one that a kill cut
	MayReappear bool          `json:"deletedMayReappear" col:"DELETED_MAY_REAPPEAR"`
	Findings    int64         `json:"findings" col:"FINDINGS" fmt:"count"` // of verifying the new spool
	Files       []SalvageFile `json:"-"`
}

// Whole reports whether nothing was lost and nothing may be wrong.
func (r *SalvageResult) Whole() bool {
	if r.LostEntries > 0 || r.MayReappear || r.Findings > 0 {
		return false
	}
	for _, f := range r.Files {
		if f.State != FileWhole {
			return false
		}
	}
	return true
}

// Salvage copies everything readable of a damaged spool, table by table and log by log, into a new one: every intact entry
// with its position, cursors, schemas, resources. Lost entries count as acknowledged in every cursor. The new spool gets
// its name when it is whole.
func Salvage(ctx context.Context, o SalvageOptions) (_ *SalvageResult, err error) {
	o.Options = o.withDefaults()
	if o.Memory == 0 {
		o.Memory = inspect.DefaultMemory
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Progress(Progress{What: "reading the damaged spool"})
	r, err := damage.Rescue(ctx, damage.Options{FS: vfs.Default, Dir: storeDir(o.Dir), Show: storage.StoreDir, Memory: o.Memory})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	res := &SalvageResult{Source: o.Dir, Spool: o.To}
	if err := o.report(r, res); err != nil {
		return nil, err
	}
	if !o.DryRun {
		p := &Plan{Verb: "salvage", Spool: o.Dir}
		p.add("copy", "spool", o.Dir, "what can be read of it, to %s", o.To)
		if err := o.Confirm(ctx, p); err != nil {
			return nil, err
		}
	}
	return res, o.build(ctx, r, res)
}

func (o *SalvageOptions) staged() string { return filepath.Clean(o.To) + ".salvaging" }

// check refuses what must not be begun.
func (o *SalvageOptions) check() error {
	if _, err := os.Stat(storeDir(o.Dir)); err != nil {
		if !exists(filepath.Join(o.Dir, identityName)) {
			return fmt.Errorf("%w at %s", storage.ErrNoSpool, o.Dir)
		}
		return err
	}
	var other *storage.FormatError
	if _, err := storage.ReadIdentity(vfs.Default, o.Dir); errors.As(err, &other) {
		return err
	}
	if err := unowned(o.Dir); err != nil {
		return err
	}
	if err := isEmpty(o.To); err != nil {
		return err
	}
	all, _, err := size(o.Dir)
	if err != nil {
		return err
	}
	return roomAt(&o.Options, filepath.Dir(filepath.Clean(o.To)), all)
}

// build makes the new spool beside its place. In a dry run it only counts.
func (o *SalvageOptions) build(ctx context.Context, r *damage.Rescued, res *SalvageResult) (err error) {
	if _, err := storage.ReadIdentity(vfs.Default, o.Dir); err != nil {
		res.Files = append(res.Files, SalvageFile{File: identityName, State: FileDamaged, What: "the spool's identity cannot be read; the new spool has one of its own"})
	}
	c := &copier{ctx: ctx, o: o, from: r.DB, res: res}
	if err := c.readGarbage(); err != nil {
		return err
	}
	if err := o.checkEnd(r, res); err != nil {
		return err
	}
	if o.DryRun {
		return c.copy()
	}
	staged := o.staged()
	if err := o.step("stage"); err != nil {
		return err
	}
	if err := os.RemoveAll(staged); err != nil {
		return err
	}
	defer func() {
		if err != nil && !errors.As(err, new(*stoppedError)) {
			err = errors.Join(err, os.RemoveAll(staged))
		}
	}()
	s, err := storage.Open(ctx, storage.Options{Dir: staged, Now: o.Now, MemTableBytes: smallMemTable})
	if err != nil {
		return err
	}
	if err := s.Close(ctx); err != nil {
		return err
	}
	if err := o.step("copy"); err != nil {
		return err
	}
	if err := c.into(storeDir(staged)); err != nil {
		return err
	}
	if err := o.step("mend"); err != nil {
		return err
	}
	m := &mender{o: &o.Options, dir: staged}
	if err := m.mend(ctx); err != nil {
		return fmt.Errorf("mend the cursors: %w", err)
	}
	res.LostEntries = m.lost
	if err := o.step("verify"); err != nil {
		return err
	}
	if err := o.verifyNew(ctx, staged, res); err != nil {
		return err
	}
	if err := o.keepIdentity(staged); err != nil {
		return err
	}
	if err := o.step("rename"); err != nil {
		return err
	}
	if err := os.Remove(o.To); err != nil && !os.IsNotExist(err) { // an empty folder
		return err
	}
	if err := os.Rename(staged, o.To); err != nil {
		return err
	}
	res.Done = true
	return syncDir(filepath.Dir(filepath.Clean(o.To)))
}

// checkEnd says when the newest log lacks the mark that a clean stop ends it with.
func (o *SalvageOptions) checkEnd(r *damage.Rescued, res *SalvageResult) error {
	if res.Unclean || !exists(filepath.Join(storeDir(o.Dir), lockName)) { // nor has a checkpoint one
		return nil
	}
	files, err := damage.ListFiles(vfs.Default, storeDir(o.Dir))
	if err != nil {
		return err
	}
	logs := damage.CheckLogs(damage.Options{FS: vfs.Default, Dir: storeDir(o.Dir), Show: storage.StoreDir}, r.Manifest, files)
	if logs.Ended || len(logs.Problems) > 0 || logs.Tail != nil {
		return nil
	}
	name := storage.StoreDir + "/*.log"
	if n := len(files.Logs); n > 0 {
		name = storage.StoreDir + "/" + files.Logs[n-1].Name
	}
	res.LostRecords = nil
	for i := range res.Files {
		if f := &res.Files[i]; f.File == name {
			f.State, f.Lost, f.What = FileDamaged, nil, noEndMark
			return nil
		}
	}
	res.Files = append(res.Files, SalvageFile{File: name, State: FileMissing, What: noEndMark})
	return nil
}

const noEndMark = "the newest log has no end mark although the spool was stopped cleanly: what was written last may be missing"

// keepIdentity gives the new spool the identity of the old one, when that can be read.
func (o *SalvageOptions) keepIdentity(staged string) error {
	if _, err := storage.ReadIdentity(vfs.Default, o.Dir); err != nil {
		return nil //nolint:nilerr // the new spool has an identity of its own then
	}
	path := filepath.Join(staged, identityName)
	if err := os.Remove(path); err != nil {
		return err
	}
	return errors.Join(copyFile(filepath.Join(o.Dir, identityName), path), syncDir(staged))
}

// verifyNew checks the new spool as `inspect verify` does. Entries that are lost are known and counted, and no finding.
func (o *SalvageOptions) verifyNew(ctx context.Context, staged string, res *SalvageResult) (err error) {
	s, err := inspect.Open(ctx, inspect.Options{Dir: staged, Memory: o.Memory, Now: o.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v, err := s.Verify(ctx, inspect.VerifyOptions{Progress: func(what string, done, total int64) {
		o.Progress(Progress{what + " verified", done, total})
	}})
	if err != nil {
		return err
	}
	for _, f := range v.Findings {
		if !(res.LostEntries > 0 && f.Check == inspect.CheckEntries) {
			res.Findings++
		}
	}
	return nil
}

// The states of a file of a damaged spool.
const (
	FileWhole   = "whole"
	FileDamaged = "damaged"
	FileMissing = "missing"
)

// SalvageFile is one file of the damaged spool.
type SalvageFile struct {
	File  string `json:"file" col:"FILE,name"` // below the spool
	State string `json:"state" col:"STATE"`
	Bytes *int64 `json:"bytes" col:"BYTES" fmt:"bytes"`      // nil: it is not there
	Read  *int64 `json:"recordsRead" col:"READ" fmt:"count"` // nil: all of them
	Lost  *int64 `json:"recordsLost" col:"LOST" fmt:"count"` // nil: not known
	What  string `json:"what" col:"WHAT"`                    // what is wrong
}

// report lists the files, with what is wrong in each.
func (o *SalvageOptions) report(r *damage.Rescued, res *SalvageResult) error {
	list, err := os.ReadDir(storeDir(o.Dir))
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || e.IsDir() || e.Name() == lockName {
			continue
		}
		name := storage.StoreDir + "/" + e.Name()
		at[name] = len(res.Files)
		f := SalvageFile{File: name, State: FileWhole, Bytes: new(info.Size())}
		if immutable(e.Name()) || strings.HasSuffix(e.Name(), ".log") {
			f.Lost = new(int64(0))
		}
		res.Files = append(res.Files, f)
	}
	lost, known := int64(0), true
	for _, p := range r.Problems {
		i, there := at[p.File]
		if !there {
			i = len(res.Files)
			at[p.File] = i
			res.Files = append(res.Files, SalvageFile{File: p.File, State: FileMissing, Lost: new(int64(0))})
		}
		f := &res.Files[i]
		if there {
			f.State = FileDamaged
		}
		if p.Recovered != nil {
			f.Read = p.Recovered
		}
		if p.Lost == nil {
			f.Lost, known = nil, false
		} else {
			lost += *p.Lost
			if f.Lost != nil {
				*f.Lost += *p.Lost
			}
		}
		text := p
		text.File, text.Lost, text.Recovered = "", nil, nil
		f.What = strings.TrimPrefix(f.What+"; "+text.String(), "; ")
		res.MayReappear = res.MayReappear || strings.Contains(p.What, "may reappear")
	}
	res.MayReappear = res.MayReappear || !r.Manifest.Whole
	if known {
		res.LostRecords = &lost
	}
	return nil
}
