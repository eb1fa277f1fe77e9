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

// Migrate brings a spool to the newest formats, and writes its tables anew with another compression when asked to. There
// is one spool format; Pebble's formats are passed through step by step. What a broker writes later has its own
// compression again.
func Migrate(ctx context.Context, o MigrateOptions) (*Result, error) {
	o.Options = o.withDefaults()
	w := work{verb: "migrate"}
	if o.Compression != "" {
		profile, err := compression(o.Compression)
		if err != nil {
			return nil, err
		}
		w.stage = func(ctx context.Context, dir string) error { return o.reencode(ctx, o.Dir, dir, profile) }
	}
	w.plan = func(_ context.Context, p *Plan) error { return o.planMigrate(p) }
	w.apply = onDB(func(context.Context, *pebble.DB) error { return nil }) // opening it is what brings the format up
	return o.run(ctx, w)
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
		if o.Compression != "" {
			return fmt.Errorf("bring the spool's format up first, without --compression: %w", &storage.FormatError{Dir: o.Dir, What: "Pebble format", Got: int(got), Known: int(want)})
		}
		p.add("migrate", "spool", o.Dir, "from Pebble format %d to %d", got, want)
	}
	if o.Compression == "" {
		return nil
	}
	all, _, err := size(o.Dir)
	if err != nil {
		return err
	}
	p.Need += 2 * all // what is not compressed any more takes more room
	p.add("rewrite", "spool", o.Dir, "%d bytes of files, with compression %s", all, o.Compression)
	return nil
}

// reencode makes a new spool in dir with the same records, and the given compression; nil is the broker's.
func (o *Options) reencode(ctx context.Context, from, dir string, profile *sstable.CompressionProfile) (err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(from, identityName), filepath.Join(dir, identityName)); err != nil {
		return err
	}
	s, err := storage.OpenRead(storage.ReadOptions{Dir: from})
	if err != nil {
		return &DamagedError{Dir: from, Cause: err}
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return o.write(ctx, storeDir(dir), profile, func(set func(k, v []byte) error) error {
		return eachRecord(s.Reader(), set)
	})
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
