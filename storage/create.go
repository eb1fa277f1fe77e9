package storage

import (
	"errors"
	"fmt"
	"io/fs"
)

// newStoreDir is where the database of a new spool is made before it gets its place.
const newStoreDir = StoreDir + ".new"

// create makes a new spool. It may be cut short at any step: the database is made beside its place, moved there when it is
// whole, and only then the identity is written, so the next call goes on or begins again. A directory that holds anything
// else is refused with ErrNoSpool.
func create(o Options) (id Identity, err error) {
	defer func() {
		if err != nil && !errors.Is(err, ErrNoSpool) {
			err = fmt.Errorf("create spool %s: %w", o.Dir, err)
		}
	}()
	made, err := mayCreate(o)
	if err != nil {
		return id, err
	}
	fsys, path := o.FS, o.FS.PathJoin
	for _, d := range []string{o.Dir, path(o.Dir, CheckpointsDir), path(o.Dir, LogsDir)} {
		if err := fsys.MkdirAll(d, 0o700); err != nil {
			return id, err
		}
	}
	if err := syncDir(fsys, fsys.PathDir(o.Dir)); err != nil {
		return id, err
	}
	if !made {
		if err := makeDatabase(o, path(o.Dir, newStoreDir)); err != nil {
			return id, err
		}
		if err := fsys.Rename(path(o.Dir, newStoreDir), path(o.Dir, StoreDir)); err != nil {
			return id, err
		}
		if err := syncDir(fsys, o.Dir); err != nil {
			return id, err
		}
	}
	return writeIdentity(fsys, o.Dir, o.Now())
}

// mayCreate refuses to make a spool in a directory that holds something else. made is true when a creation that was cut
// short has left its database in place.
func mayCreate(o Options) (made bool, err error) {
	names, err := o.FS.List(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, n := range names {
		switch n {
		case CheckpointsDir, LogsDir, newStoreDir, identityFile + ".tmp", "lost+found":
		case StoreDir:
			if made, err = emptyDatabase(o, o.FS.PathJoin(o.Dir, n)); err != nil {
				return false, err
			}
			if !made {
				return false, fmt.Errorf("%w at %s: there is a database with data, but the file %s is missing", ErrNoSpool, o.Dir, identityFile)
			}
		default:
			return false, fmt.Errorf("%w at %s, and the directory is not empty; name a new or an empty one", ErrNoSpool, o.Dir)
		}
	}
	return made, nil
}

// makeDatabase makes an empty database in dir, replacing what an earlier attempt left.
func makeDatabase(o Options, dir string) error {
	if err := o.FS.RemoveAll(dir); err != nil {
		return err
	}
	f := newFence(o)
	db, err := f.open(dir, pebbleOptions(o, f, pebbleLogger{o.Logger, o.EngineLogger, f}))
	if err != nil {
		return err
	}
	return firstError(f.err(), db.Close(), f.err())
}

// emptyDatabase reports whether the database in dir holds no key at all.
func emptyDatabase(o Options, dir string) (empty bool, err error) {
	po := pebbleOptions(o, readOnlyFS{o.FS}, &replayLog{})
	po.ReadOnly = true
	db, err := openGuarded(dir, po)
	if err != nil {
		return false, err
	}
	it, err := db.NewIter(nil)
	if err != nil {
		return false, errors.Join(err, db.Close())
	}
	empty = !it.First()
	return empty, firstError(it.Error(), it.Close(), db.Close())
}
