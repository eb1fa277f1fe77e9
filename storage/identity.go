package storage

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FormatVersion is the spool format that this program writes and reads.
const FormatVersion = 1

// Names inside a spool directory.
const (
	identityFile   = "SPOOL"
	StoreDir       = "store"       // the Pebble database
	CheckpointsDir = "checkpoints" // hard-link snapshots
	LogsDir        = "logs"
)

// Identity is the content of SPOOL/SPOOL: who a spool is, readable without Pebble.
type Identity struct {
	Format  int       `json:"format"`
	UUID    string    `json:"uuid"`
	Created time.Time `json:"created"`
}

// ReadIdentity reads the identity of the spool in dir. It wraps ErrNoSpool when there is none, and returns *FormatError
// when the format is not this program's.
func ReadIdentity(fsys vfs.FS, dir string) (Identity, error) {
	var id Identity
	f, err := fsys.Open(fsys.PathJoin(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return id, fmt.Errorf("%w at %s", ErrNoSpool, dir)
	}
	if err != nil {
		return id, fmt.Errorf("read spool identity: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return id, fmt.Errorf("read spool identity: %w", err)
	}
	if err := json.Unmarshal(b, &id); err != nil || id.Format <= 0 {
		return id, &CorruptError{Key: []byte(identityFile), Cause: fmt.Errorf("%s/%s is not a spool identity", dir, identityFile)}
	}
	if id.Format != FormatVersion {
		return id, &FormatError{Dir: dir, What: "spool format", Got: id.Format, Known: FormatVersion}
	}
	return id, nil
}

// writeIdentity makes dir a spool, by an atomic rename: the last step of creating one.
func writeIdentity(fsys vfs.FS, dir string, now time.Time) (Identity, error) {
	id := Identity{Format: FormatVersion, UUID: newUUID(), Created: now.UTC().Truncate(time.Millisecond)}
	b, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return id, err
	}
	tmp := fsys.PathJoin(dir, identityFile+".tmp")
	f, err := fsys.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return id, err
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = fsys.Rename(tmp, fsys.PathJoin(dir, identityFile))
	}
	return id, firstError(err, syncDir(fsys, dir))
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// newUUID returns a random (version 4) UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
