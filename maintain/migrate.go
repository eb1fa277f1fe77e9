package maintain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// MigrateOptions are for Migrate.
type MigrateOptions struct {
	Options
	Compression string // none, snappy or zstd: write all tables anew; empty: leave them
}

// compression is a profile by the name that people use.
func compression(name string) (*sstable.CompressionProfile, error) {
	switch name {
	case "none":
		return sstable.NoCompression, nil
	case "snappy":
		return sstable.SnappyCompression, nil
	case "zstd":
		return sstable.ZstdCompression, nil
	}
	return nil, fmt.Errorf("%w: compression %q; there are none, snappy and zstd", storage.ErrBadName, name)
}

// Migrate brings a spool to the newest formats, and gives its tables another compression when asked to; both write all
// tables anew. There is one spool format so far. What a broker writes later has its own compression again.
func Migrate(ctx context.Context, o MigrateOptions) (*Result, error) {
	o.Options = o.withDefaults()
	var profile *sstable.CompressionProfile // nil: the broker's
	if o.Compression != "" {
		var err error
		if profile, err = compression(o.Compression); err != nil {
			return nil, err
		}
	}
	return o.run(ctx, work{
		verb:  "migrate",
		plan:  func(_ context.Context, p *Plan) error { return o.planMigrate(p) },
		apply: func(ctx context.Context, dir string) error { return o.reencode(ctx, dir, profile) },
	})
}

func (o *MigrateOptions) planMigrate(p *Plan) error {
	want := engine().FormatMajorVersion
	desc, err := pebble.Peek(storeDir(o.Dir), vfs.Default)
	if err != nil {
		return &DamagedError{Dir: o.Dir, Cause: err}
	}
	switch got := desc.FormatMajorVersion; {
	case !desc.Exists:
		return &DamagedError{Dir: o.Dir, Cause: errors.New("there is no database in it")}
	case got > want:
		return &storage.FormatError{Dir: o.Dir, What: "Pebble format", Got: int(got), Known: int(want)}
	case got < want:
		p.add("migrate", "spool", o.Dir, "from Pebble format %d to %d; all tables are written anew", got, want)
	case o.Compression == "":
		return nil
	}
	all, _, err := size(o.Dir)
	if err != nil {
		return err
	}
	p.Need += 2 * all // what is not compressed any more takes more room
	if o.Compression != "" {
		p.add("rewrite", "spool", o.Dir, "%d bytes of files, with compression %s", all, o.Compression)
	}
	return nil
}

// reencode writes the database of the staged spool in dir anew, in the newest format and with the given compression.
// Opening it brings its format up, but leaves its tables as they are: readers of damaged spools know today's only.
func (o *MigrateOptions) reencode(ctx context.Context, dir string, profile *sstable.CompressionProfile) error {
	store, anew := storeDir(dir), filepath.Join(dir, "anew")
	db, err := pebble.Open(store, engine())
	if err != nil {
		return &DamagedError{Dir: o.Dir, Cause: err}
	}
	err = o.write(ctx, anew, profile, func(set func(k, v []byte) error) error { return eachRecord(db, set) })
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(store), os.Rename(anew, store)); err != nil {
		return err
	}
	return syncDir(dir)
}

// write makes a database of the records that fill hands it.
func (o *Options) write(ctx context.Context, dir string, profile *sstable.CompressionProfile, fill func(set func(k, v []byte) error) error) (err error) {
	po := engine()
	po.DisableWAL = true // everything is flushed before anybody relies on it
	if profile != nil {
		for i := range po.Levels {
			po.Levels[i].Compression = func() *sstable.CompressionProfile { return profile }
		}
	}
	db, err := pebble.Open(dir, po)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b, n := db.NewBatch(), int64(0)
	commit := func() error {
		if err := errors.Join(b.Commit(pebble.NoSync), b.Close()); err != nil {
			return err
		}
		b = db.NewBatch()
		return ctx.Err()
	}
	err = fill(func(k, v []byte) error {
		if n++; n%10000 == 0 {
			o.Progress(Progress{What: "records written", Done: n})
		}
		if err := b.Set(k, v, nil); err != nil || b.Len() < batchBytes {
			return err
		}
		return commit()
	})
	if err == nil {
		err = commit()
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	return db.Flush()
}

// eachRecord calls do for every record; damage ends it with an error.
func eachRecord(r pebble.Reader, do func(k, v []byte) error) (err error) {
	it, err := r.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(it.Key(), v); err != nil {
			return err
		}
	}
	return it.Error()
}
