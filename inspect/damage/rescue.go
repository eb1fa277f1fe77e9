package damage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say where a database is, and how to read it.
type Options struct {
	FS     vfs.FS // of the spool; only read
	Dir    string // the database's folder
	Show   string // how problems name the folder
	Memory int64  // bytes that the copy may take in memory; a larger one goes to a temporary folder
	// Snapshot: the folder is a copy that was made while the log was being
	// written. The newest log ends at the first place that is not readable:
	// what stands behind it was written after the copy had begun.
	Snapshot bool
}

// Rescued is what could be read of a damaged database: a scratch database, and
// what is missing from it.
type Rescued struct {
	DB       *pebble.DB
	Manifest *Manifest
	Problems []Problem
	Keys     int64 // records of the newest version that were copied
	Batches  int64 // batches read from the log

	seqs *pebble.DB // key -> sequence number of the version in DB, for families whose keys are written again
	temp string     // folder to remove, empty in memory
}

// Rescue copies every readable record of a damaged database. The error is only
// about the copy itself; damage is in Problems.
func Rescue(ctx context.Context, o Options) (_ *Rescued, err error) {
	files, err := ListFiles(o.FS, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("read the database's folder: %w", err)
	}
	r := &rescue{Options: o, ctx: ctx, out: &Rescued{Manifest: ReadManifest(o.FS, o.Dir, o.Show)}, files: files}
	r.out.Problems = slices.Clone(r.out.Manifest.Problems)
	r.pickTables()
	if err := r.openScratch(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.out.Close())
		}
	}()
	if err := r.readRangeDels(); err != nil {
		return nil, err
	}
	if err := r.copyTables(); err != nil {
		return nil, err
	}
	if err := r.copyLogs(); err != nil {
		return nil, err
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	return r.out, mend(r.out)
}

// Close removes the copy.
func (r *Rescued) Close() error {
	err := errors.Join(r.DB.Close(), r.seqs.Close())
	if r.temp != "" {
		err = errors.Join(err, os.RemoveAll(r.temp))
	}
	return err
}

type rescue struct {
	Options
	ctx    context.Context
	out    *Rescued
	files  Files
	tables []Table
	dels   *deletes
	batch  *pebble.Batch
	seqs   *pebble.Batch // indexed
}

// batchBytes is how much is copied at a time.
const batchBytes = 4 << 20

// pickTables takes the live tables; where the MANIFEST is damaged, also those
// on disk that it does not know to be gone.
func (r *rescue) pickTables() {
	m := r.out.Manifest
	r.tables = m.Live()
	if m.Whole {
		return
	}
	known := map[uint64]bool{}
	for _, t := range r.tables {
		known[t.File] = true
	}
	var extra []uint64
	for n := range r.files.Tables {
		if !known[n] && !m.Gone[n] {
			extra = append(extra, n)
		}
	}
	slices.Sort(extra)
	for _, n := range extra {
		r.tables = append(r.tables, Table{Number: n, File: n, Level: -1})
	}
	if len(extra) > 0 {
		r.problem(Problem{What: fmt.Sprintf("%d tables that the MANIFEST does not list were read as well; deleted data may reappear", len(extra))})
	}
	m.MinLog = 0 // which logs are needed is not certain: all are read
}

func (r *rescue) problem(p Problem) { r.out.Problems = append(r.out.Problems, p) }

func (r *rescue) openScratch() error {
	size := int64(0)
	for _, t := range r.tables {
		size += max(0, r.files.Tables[t.File])
	}
	for _, l := range r.files.Logs {
		size += max(0, l.Size)
	}
	// Tables are compressed; the copy in memory is not flushed as well as a
	// real one. Three times the files is what it takes at the most.
	fs, dir := vfs.FS(vfs.NewMem()), "scratch"
	if size > r.Memory/3 {
		temp, err := os.MkdirTemp("", "spoolctl-inspect-")
		if err != nil {
			return fmt.Errorf("make a folder for the readable part of the spool: %w", err)
		}
		r.out.temp, fs, dir = temp, vfs.Default, temp
	}
	open := func(name string) (*pebble.DB, error) {
		return pebble.Open(fs.PathJoin(dir, name), &pebble.Options{
			FS: fs, DisableWAL: true, MemTableSize: 8 << 20, CacheSize: 8 << 20,
			FormatMajorVersion: pebble.FormatNewest, Logger: quiet{},
		})
	}
	var err error
	if r.out.DB, err = open("data"); err == nil {
		if r.out.seqs, err = open("seqs"); err != nil {
			err = errors.Join(err, r.out.DB.Close())
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("open the copy: %w", err), os.RemoveAll(r.out.temp))
	}
	r.batch, r.seqs = r.out.DB.NewBatch(), r.out.seqs.NewIndexedBatch()
	return nil
}

func (r *rescue) path(t Table) (path, name string) {
	base := fmt.Sprintf("%06d.sst", t.File)
	return r.FS.PathJoin(r.Dir, base), r.FS.PathJoin(r.Show, base)
}

func (r *rescue) readRangeDels() error {
	var all []rangeDel
	for _, t := range r.tables {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		path, name := r.path(t)
		f, err := openTable(r.FS, path)
		if err != nil {
			continue // copyTables says so
		}
		err = readRangeDels(f, func(d rangeDel) { all = append(all, d) })
		if err = errors.Join(err, f.Close()); err != nil {
			r.problem(Problem{File: name, What: "the table's deletions cannot be read, deleted data may reappear: " + plain(err)})
		}
	}
	readLogs(r.Options, r.out.Manifest, r.files, func(o op) error {
		if o.kind == pebble.InternalKeyKindRangeDelete {
			all = append(all, rangeDel{slices.Clone(o.key), slices.Clone(o.value), o.seq})
		}
		return r.ctx.Err()
	})
	r.dels = newDeletes(all)
	return r.ctx.Err()
}

func (r *rescue) copyTables() error {
	for _, t := range r.tables {
		path, name := r.path(t)
		size, there := r.files.Tables[t.File]
		p := Problem{File: name}
		p.keys(t.Smallest, t.Largest)
		if !there {
			p.What = "the table is missing"
			r.problem(p)
			continue
		}
		if t.Size > 0 && !t.Virtual && size != int64(t.Size) {
			p.What = fmt.Sprintf("the table has %d bytes instead of %d", size, t.Size)
			r.problem(p)
		}
		f, err := openTable(r.FS, path)
		if err != nil {
			p.What = "the table cannot be read: " + plain(err)
			if err := r.scan(t, &p); err != nil {
				return err
			}
			r.problem(p)
			continue
		}
		st, err := readTable(f, t, r.put)
		if cerr := f.Close(); err == nil && cerr != nil && st.err == nil {
			st.err = cerr
		}
		if err != nil {
			return err
		}
		if st.err != nil {
			p.What = "a part of the table cannot be read: " + plain(st.err)
			p.Recovered, p.Lost = &st.read, st.lost
			first, last := st.first, st.last
			if first == nil {
				first = t.Smallest
			}
			if last == nil {
				last = t.Largest
			}
			p.Ledgers = nil
			p.keys(first, last)
			if len(st.bad) > 0 {
				p.Offset, p.Length = &st.bad[0].Offset, &st.bad[0].Length
			}
			if st.unindexed {
				if err := r.scan(t, &p); err != nil {
					return err
				}
			}
			r.problem(p)
		}
	}
	return nil
}

// scan reads what it can of a table whose structure is lost.
func (r *rescue) scan(t Table, p *Problem) error {
	path, _ := r.path(t)
	var failed error // of the copy
	read, err := scanTable(r.FS, path, t, func(o op) error {
		failed = r.put(o)
		return failed
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		p.What += "; " + plain(err)
	}
	if read > 0 {
		p.Recovered, p.Lost = &read, nil
		p.What += fmt.Sprintf("; its first %d records were found without its index, deleted data may reappear", read)
	}
	return nil
}

func (r *rescue) copyLogs() error {
	log := readLogs(r.Options, r.out.Manifest, r.files, r.put)
	r.out.Problems = append(r.out.Problems, log.Problems...)
	if log.Tail != nil {
		r.problem(*log.Tail)
	}
	r.out.Batches = log.Batches
	return r.ctx.Err()
}

// put takes one version of one key: the newest wins, in whatever order they come.
func (r *rescue) put(o op) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	switch o.kind {
	case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
	case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete, pebble.InternalKeyKindDeleteSized:
	default:
		return nil // range deletions were read before; a spool has nothing else
	}
	if r.dels.covers(o.key, o.seq) {
		return nil
	}
	set := o.kind == pebble.InternalKeyKindSet || o.kind == pebble.InternalKeyKindSetWithDelete
	if !entryKey(o.key) {
		newer, err := r.newer(o)
		if err != nil || !newer {
			return err
		}
	}
	var err error
	if set {
		r.out.Keys++
		err = r.batch.Set(o.key, o.value, nil)
	} else {
		err = r.batch.Delete(o.key, nil)
	}
	if err == nil && r.batch.Len() > batchBytes {
		err = r.flush()
	}
	return err
}

// newer notes the version of o unless a newer one of its key was taken.
func (r *rescue) newer(o op) (bool, error) {
	v, closer, err := r.seqs.Get(o.key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
	case err != nil:
		return false, err
	default:
		have := binary.BigEndian.Uint64(v)
		if err := closer.Close(); err != nil || have > o.seq {
			return false, err
		}
	}
	if r.seqs.Len() > batchBytes {
		if err := r.flush(); err != nil {
			return false, err
		}
	}
	return true, r.seqs.Set(o.key, binary.BigEndian.AppendUint64(nil, o.seq), nil)
}

func (r *rescue) flush() error {
	err := errors.Join(r.batch.Commit(pebble.NoSync), r.seqs.Commit(pebble.NoSync))
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	if err := errors.Join(r.batch.Close(), r.seqs.Close()); err != nil {
		return err
	}
	r.batch, r.seqs = r.out.DB.NewBatch(), r.out.seqs.NewIndexedBatch()
	return nil
}

// quiet is a logger that says nothing and never ends the process.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger.
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// family is the range of one family.
func family(f key.Family) *pebble.IterOptions {
	lower, upper := f.Bounds()
	return &pebble.IterOptions{LowerBound: lower, UpperBound: upper}
}
