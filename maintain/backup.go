package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/offload"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Manifest is what a backup holds: written last, so that a backup that was interrupted is none.
type Manifest struct {
	Format int          `json:"format"` // 1
	Name   string       `json:"name"`
	Spool  string       `json:"spool"` // the spool's UUID
	Made   time.Time    `json:"made"`
	Files  []BackupFile `json:"files"`
}

// BackupFile is one file of a backup.
type BackupFile struct {
	Path     string    `json:"path"` // below the spool, with slashes
	Size     int64     `json:"size"`
	SHA256   string    `json:"sha256"`
	Modified time.Time `json:"modified"`
	Object   string    `json:"object,omitempty"` // where it is in an object store
}

const backupFormat = 1

func (m *Manifest) bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// BackupOptions are for Backup. Of Options it uses DryRun, Progress, Now, Free and Step.
type BackupOptions struct {
	Options        // Dir is the spool, or a checkpoint of one that a broker made
	Target  string // a folder that takes many backups and stores shared tables once, or a file NAME.tar, NAME.tar.gz

	Bucket offload.Bucket // when not nil, backups go there, and Target is only its name
	Stream io.Writer      // when not nil, an archive goes there, and Target is only its name
}

// BackupResult is what a backup did, or in a dry run would do.
type BackupResult struct {
	Name        string `json:"name" col:"NAME,name"`
	Target      string `json:"target" col:"TARGET"`
	Done        bool   `json:"done" col:"DONE"`
	Files       int    `json:"files" col:"FILES" fmt:"count"`
	Bytes       int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
	CopiedFiles int    `json:"copiedFiles" col:"COPIED_FILES" fmt:"count"`
	CopiedBytes int64  `json:"copiedBytes" col:"COPIED" fmt:"bytes"`
	SharedFiles int    `json:"sharedFiles" col:"SHARED_FILES" fmt:"count"` // that the target had already
	SharedBytes int64  `json:"sharedBytes" col:"SHARED" fmt:"bytes"`
}

// backupWriter is a kind of target.
type backupWriter interface {
	// has returns the checksum, and the object's name where it has one, of a file that the target holds already and that is
	// the same by path, size and time.
	has(f BackupFile) (sum, object string, shared bool)
	// put stores a file and returns the checksum of what was read, and the object's name where it has one.
	put(f BackupFile, r io.Reader) (sum, object string, err error)
	// finish stores the manifest and makes the backup durable.
	finish(m *Manifest) error
	// close gives everything back; without finish nothing of the backup stays that somebody could take for one.
	close() error
}

// Backup copies a spool that no broker has open, or a checkpoint. It returns *storage.LockedError, *SpaceError.
func Backup(ctx context.Context, o BackupOptions) (_ *BackupResult, err error) {
	o.Options = o.withDefaults()
	id, err := storage.ReadIdentity(vfs.Default, o.Dir)
	if err != nil {
		return nil, err
	}
	unlock, err := o.lockSource()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	m := &Manifest{Format: backupFormat, Spool: id.UUID, Made: o.Now().UTC()}
	if m.Files, err = o.sourceFiles(); err != nil {
		return nil, err
	}
	w, name, err := o.writer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	m.Name = name
	res := &BackupResult{Name: name, Target: o.Target, Files: len(m.Files), Bytes: m.bytes()}
	todo := o.share(m, w, res)
	if err := o.targetRoom(res.CopiedBytes); err != nil || o.DryRun {
		return res, err
	}
	copied := int64(0)
	for _, i := range todo {
		f := &m.Files[i]
		if err := o.step("copy " + f.Path); err != nil {
			return nil, err
		}
		if f.SHA256, f.Object, err = o.copyInto(ctx, w, *f, copied, res.CopiedBytes); err != nil {
			return nil, fmt.Errorf("back up %s: %w", f.Path, err)
		}
		copied += f.Size
	}
	if err := o.step("finish"); err != nil {
		return nil, err
	}
	if err := w.finish(m); err != nil {
		return nil, err
	}
	res.Done = true
	return res, nil
}

// sourceFiles lists what a backup copies: the identity and the database.
func (o *BackupOptions) sourceFiles() (out []BackupFile, err error) {
	names := []string{identityName}
	list, err := os.ReadDir(storeDir(o.Dir))
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Type().IsRegular() && e.Name() != lockName && e.Name() != markerName {
			names = append(names, storage.StoreDir+"/"+e.Name())
		}
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(o.Dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		out = append(out, BackupFile{Path: name, Size: info.Size(), Modified: info.ModTime().UTC()})
	}
	return out, nil
}

// share fills in the checksums of the files that the target has, and returns which have to be copied.
func (o *BackupOptions) share(m *Manifest, w backupWriter, res *BackupResult) (todo []int) {
	for i := range m.Files {
		f := &m.Files[i]
		if sum, object, shared := w.has(*f); shared {
			f.SHA256, f.Object = sum, object
			res.SharedFiles++
			res.SharedBytes += f.Size
			continue
		}
		todo = append(todo, i)
		res.CopiedFiles++
		res.CopiedBytes += f.Size
	}
	return todo
}

func (o *BackupOptions) copyInto(ctx context.Context, w backupWriter, f BackupFile, before, total int64) (sum, object string, err error) {
	in, err := os.Open(filepath.Join(o.Dir, filepath.FromSlash(f.Path)))
	if err != nil {
		return "", "", err
	}
	defer in.Close()
	return w.put(f, &counted{ctx: ctx, r: io.LimitReader(in, f.Size), done: before, total: total, tell: o.Progress})
}

// targetRoom checks the space of the nearest folder above the target that exists.
func (o *BackupOptions) targetRoom(need int64) error {
	if o.Bucket != nil || o.Stream != nil {
		return nil // nobody knows
	}
	return roomAt(&o.Options, o.Target, need)
}

func roomAt(o *Options, path string, need int64) error {
	for !exists(path) && filepath.Dir(path) != path {
		path = filepath.Dir(path)
	}
	free, err := o.Free(path)
	if err != nil {
		return fmt.Errorf("ask for the free space of %s: %w", path, err)
	}
	if want := uint64(need + margin); free < want {
		return &SpaceError{Dir: path, Free: free, Want: want}
	}
	return nil
}

// writer opens the target. A dry run makes nothing.
func (o *BackupOptions) writer(ctx context.Context) (w backupWriter, name string, err error) {
	name = o.Now().UTC().Format(stampLayout)
	if o.Bucket != nil {
		return newBucketWriter(ctx, o.Bucket, name)
	}
	if o.Stream != nil {
		return newStreamWriter(o.Stream, o.DryRun), name, nil
	}
	if archived(o.Target) {
		w, err = newArchiveWriter(o.Target, o.DryRun)
		return w, name, err
	}
	return newFolderWriter(o.Target, name, o.DryRun)
}

// archived reports whether a target is one file.
func archived(target string) bool {
	return strings.HasSuffix(target, ".tar") || zipped(target)
}

func zipped(target string) bool {
	return strings.HasSuffix(target, ".tar.gz") || strings.HasSuffix(target, ".tgz")
}

// counted reports how much was read, and ends with the context.
type counted struct {
	ctx         context.Context
	r           io.Reader
	done, total int64
	tell        func(Progress)
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	c.done += int64(n)
	c.tell(Progress{"bytes copied", c.done, c.total})
	return n, err
}

// changes is the error of a file that has another size when it is read.
func changes(f BackupFile, n int64) error {
	return fmt.Errorf("the file has %d bytes instead of %d: it changes", n, f.Size)
}
