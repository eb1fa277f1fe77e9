package maintain

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spoolctl/storage/offload"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/renameio/v2"
)

// A folder of backups holds NAME.json for each backup, and below objects every file once, under its checksum.
const (
	objectsName  = "objects"
	incomingName = "incoming" // below objects: what is being copied
	manifestExt  = ".json"
)

type folderWriter struct {
	dir   string
	known map[string]BackupFile // of the earlier backups, by path, size and time
	lock  io.Closer             // nil in a dry run
}

func fileKey(f BackupFile) string { return fmt.Sprint(f.Path, f.Size, f.Modified.UnixNano()) }

// newFolderWriter opens a folder of backups for one more, and gives it a free name.
func newFolderWriter(dir, name string, dryRun bool) (_ *folderWriter, _ string, err error) {
	w := &folderWriter{dir: dir, known: map[string]BackupFile{}}
	if !dryRun {
		if err := os.MkdirAll(filepath.Join(dir, objectsName), 0o700); err != nil {
			return nil, "", err
		}
		if w.lock, err = vfs.Default.Lock(filepath.Join(dir, lockName)); err != nil {
			return nil, "", fmt.Errorf("another backup into %s is going on: %w", dir, err)
		}
	}
	all, err := backups(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", errors.Join(err, w.close())
	}
	for _, m := range all {
		for _, f := range m.Files {
			w.known[fileKey(f)] = f
		}
	}
	return w, freeName(name, all), nil
}

// freeName is a name that none of the backups has.
func freeName(name string, all []*Manifest) string {
	free := name
	for n := 2; slices.ContainsFunc(all, func(m *Manifest) bool { return m.Name == free }); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// backups reads the manifests of a folder of backups, the oldest first.
func backups(dir string) (out []*Manifest, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), manifestExt) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		m, err := parseManifest(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err)
		}
		out = append(out, m)
	}
	sortBackups(out)
	return out, nil
}

// sortBackups puts the oldest first.
func sortBackups(all []*Manifest) {
	slices.SortFunc(all, func(a, b *Manifest) int {
		return cmp.Or(a.Made.Compare(b.Made), len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name))
	})
}

// parseManifest checks what a manifest names before anything is made of it.
func parseManifest(b []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("not a backup's manifest: %w", err)
	}
	if m.Format != backupFormat {
		return nil, fmt.Errorf("the manifest has format %d, this program knows %d", m.Format, backupFormat)
	}
	for _, f := range m.Files {
		if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != sha256.Size || f.Size < 0 || !backupPath(f.Path) {
			return nil, fmt.Errorf("the manifest names a file that no backup has: %q", f.Path)
		}
	}
	return m, nil
}

func (w *folderWriter) object(sum string) string { return filepath.Join(w.dir, objectsName, sum) }

func (w *folderWriter) has(f BackupFile) (sum, _ string, shared bool) {
	k, ok := w.known[fileKey(f)]
	if !ok {
		return "", "", false
	}
	info, err := os.Stat(w.object(k.SHA256))
	return k.SHA256, "", err == nil && info.Size() == f.Size
}

func (w *folderWriter) put(f BackupFile, r io.Reader) (sum, _ string, _ error) {
	path := w.object(incomingName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	h, n := sha256.New(), int64(0)
	err := writeFile(path, func(out io.Writer) (err error) {
		n, err = io.Copy(io.MultiWriter(out, h), r)
		return err
	})
	if err == nil && n != f.Size {
		err = changes(f, n)
	}
	if err != nil {
		return "", "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	return sum, "", os.Rename(path, w.object(sum))
}

func (w *folderWriter) finish(m *Manifest) error {
	if err := syncDir(filepath.Join(w.dir, objectsName)); err != nil {
		return err
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(w.dir, m.Name+manifestExt), append(b, '\n'), 0o600, renameio.WithTempDir(w.dir)); err != nil {
		return err
	}
	return syncDir(w.dir)
}

func (w *folderWriter) close() error {
	if w.lock == nil {
		return nil
	}
	if err := os.Remove(w.object(incomingName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, w.lock.Close())
	}
	return w.lock.Close()
}

// folderReader is a backup in a folder.
type folderReader struct {
	dir string
	m   *Manifest
}

// newFolderReader finds a backup by name, or the newest.
func newFolderReader(dir, name string) (*folderReader, error) {
	all, err := backups(dir)
	if err != nil {
		return nil, err
	}
	m, err := pick(all, name, dir)
	return &folderReader{dir, m}, err
}

// pick finds a backup by name, or the newest.
func pick(all []*Manifest, name, where string) (*Manifest, error) {
	for i := len(all) - 1; i >= 0; i-- {
		if name == "" || all[i].Name == name {
			return all[i], nil
		}
	}
	if name == "" {
		return nil, fmt.Errorf("%w in %s", ErrNoBackup, where)
	}
	return nil, fmt.Errorf("%w of name %s in %s", ErrNoBackup, name, where)
}

func (r *folderReader) each(ctx context.Context, visit func(path string, size int64, r io.Reader) error) (*Manifest, error) {
	for _, f := range r.m.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in, err := os.Open(filepath.Join(r.dir, objectsName, f.SHA256))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the manifest tells that it is missing
		}
		if err != nil {
			return nil, err
		}
		if err := errors.Join(visit(f.Path, f.Size, in), in.Close()); err != nil {
			return nil, err
		}
	}
	return r.m, nil
}

func (r *folderReader) bytes() (int64, error) { return r.m.bytes(), nil }

// BackupInfo is one backup of a folder.
type BackupInfo struct {
	Name  string    `json:"name" col:"NAME,name"`
	Spool string    `json:"spool" col:"SPOOL"` // UUID
	Made  time.Time `json:"made" col:"MADE" fmt:"time"`
	Files int       `json:"files" col:"FILES" fmt:"count"`
	Bytes int64     `json:"bytes" col:"BYTES" fmt:"bytes"`
}

// ListBackups lists the backups in a folder, the oldest first.
func ListBackups(dir string) ([]BackupInfo, error) {
	all, err := backups(dir)
	return infos(all), err
}

// ListBucketBackups lists the backups in an object store, the oldest first.
func ListBucketBackups(ctx context.Context, b offload.Bucket) ([]BackupInfo, error) {
	all, err := bucketBackups(ctx, b, nil)
	return infos(all), err
}

func infos(all []*Manifest) (out []BackupInfo) {
	for _, m := range all {
		out = append(out, BackupInfo{m.Name, m.Spool, m.Made, len(m.Files), m.bytes()})
	}
	return out
}
