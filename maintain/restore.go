package maintain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"spoolctl/storage"
	"spoolctl/storage/offload"
)

// ErrNoBackup says that there is no such backup.
var ErrNoBackup = errors.New("no backup")

// ErrOccupied says that there is something already where a new spool shall be.
var ErrOccupied = errors.New("there is something already")

// RestoreOptions are for Restore. Of Options it uses DryRun, Confirm, Progress, Now, Free and Step.
type RestoreOptions struct {
	Options        // Dir is where the spool shall be; with Verify it is not looked at
	Source  string // a folder of backups, or an archive
	Name    string // of the backup in a folder; default: the newest
	Verify  bool   // read and check the backup, restore nothing
	Replace bool   // a spool that is there goes to DIR.before-restore-TIME

	Bucket offload.Bucket // when not nil, the backups are there, and Source is only its name
	Stream io.Reader      // when not nil, an archive comes from there, and Source is only its name
}

// RestoreResult is what a restore did.
type RestoreResult struct {
	Name     string   `json:"name" col:"NAME,name"` // empty when the backup could not be read to its end
	Source   string   `json:"source" col:"SOURCE"`
	Spool    *string  `json:"spool" col:"SPOOL"` // nil: only verified
	Done     bool     `json:"done" col:"DONE"`
	Files    int      `json:"files" col:"FILES" fmt:"count"`
	Bytes    int64    `json:"bytes" col:"BYTES" fmt:"bytes"`
	Replaced *string  `json:"replaced" col:"REPLACED"` // where the spool is that was there
	Bad      []string `json:"bad" col:"BAD"`           // files that are missing or not as they were backed up
}

// BadBackupError lists what is wrong with a backup.
type BadBackupError struct{ Bad []string }

// Error implements error.
func (e *BadBackupError) Error() string {
	return fmt.Sprintf("the backup is damaged: %s", strings.Join(e.Bad, "; "))
}

// backupReader is a kind of source.
type backupReader interface {
	// each calls visit for every file and returns the manifest.
	each(ctx context.Context, visit func(path string, size int64, r io.Reader) error) (*Manifest, error)
	// bytes is about how much will be read.
	bytes() (int64, error)
}

// backupPath reports whether a path is one that backups have: nothing else is ever made of one.
func backupPath(path string) bool {
	if path == identityName {
		return true
	}
	base, ok := strings.CutPrefix(path, storage.StoreDir+"/")
	return ok && base != "" && base != "." && base != ".." && !strings.ContainsAny(base, `/\`+"\x00")
}

// restoringName marks the folder that a restore fills, so that the next one knows its own leavings.
const restoringName = "restoring"

func (o *RestoreOptions) staged() string { return filepath.Clean(o.Dir) + ".restoring" }

// Restore makes a spool from a backup: into a folder beside its place, checked, then renamed. With a damaged backup it
// returns *BadBackupError and no spool.
func Restore(ctx context.Context, o RestoreOptions) (_ *RestoreResult, err error) {
	o.Options = o.withDefaults()
	r, err := o.reader(ctx)
	if err != nil {
		return nil, err
	}
	res := &RestoreResult{Source: o.Source}
	if o.Verify {
		return res, o.read(ctx, r, res, "")
	}
	res.Spool = &o.Dir
	lock, err := o.place(res)
	if err != nil {
		return nil, err
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	size, err := r.bytes()
	if err != nil {
		return nil, err
	}
	if err := roomAt(&o.Options, filepath.Dir(filepath.Clean(o.Dir)), size); err != nil {
		return nil, err
	}
	if o.DryRun {
		res.Bytes = size
		return res, nil
	}
	p := &Plan{Verb: "restore", Spool: o.Dir, Need: size}
	p.add("restore", "spool", o.Dir, "from %s", o.Source)
	if err := o.Confirm(ctx, p); err != nil {
		return nil, err
	}
	if err := o.restore(ctx, r, res); err != nil {
		return res, err
	}
	res.Done = true
	return res, nil
}

func (o *RestoreOptions) reader(ctx context.Context) (backupReader, error) {
	switch {
	case o.Bucket != nil:
		all, err := bucketBackups(ctx, o.Bucket, nil)
		if err != nil {
			return nil, err
		}
		m, err := pick(all, o.Name, o.Source)
		return &bucketReader{o.Bucket, m}, err
	case o.Stream != nil || archived(o.Source):
		return &archiveReader{o.Source, o.Stream}, nil
	}
	return newFolderReader(o.Source, o.Name)
}

// place looks at what is where the spool shall be, and locks it.
func (o *RestoreOptions) place(res *RestoreResult) (io.Closer, error) {
	if err := isEmpty(o.Dir); err == nil || !errors.Is(err, ErrOccupied) || !o.Replace {
		return nil, err
	}
	to := filepath.Clean(o.Dir) + ".before-restore-" + o.Now().UTC().Format(stampLayout)
	if exists(to) {
		return nil, fmt.Errorf("%s is there already", to)
	}
	res.Replaced = &to
	if o.DryRun {
		return nil, unowned(o.Dir)
	}
	// A mark that a killed restore left would make the next one take this spool for its leavings.
	if err := os.Remove(filepath.Join(o.Dir, restoringName)); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return lockSpool(o.Dir)
}

// restore fills the folder beside and gives it the spool's name.
func (o *RestoreOptions) restore(ctx context.Context, r backupReader, res *RestoreResult) (err error) {
	staged := o.staged()
	if err := o.tidy(res); err != nil {
		return err
	}
	if err := o.step("stage"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(staged, storage.StoreDir), 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil && !errors.As(err, new(*stoppedError)) && exists(filepath.Join(staged, restoringName)) {
			err = errors.Join(err, os.RemoveAll(staged))
		}
	}()
	if err := writeFile(filepath.Join(staged, restoringName), func(io.Writer) error { return nil }); err != nil {
		return err
	}
	if err := o.read(ctx, r, res, staged); err != nil {
		return err
	}
	for _, dir := range []string{storage.CheckpointsDir, storage.LogsDir} {
		if err := os.MkdirAll(filepath.Join(staged, dir), 0o700); err != nil {
			return err
		}
	}
	if err := errors.Join(syncDir(storeDir(staged)), syncDir(staged)); err != nil {
		return err
	}
	if err := o.step("switch"); err != nil {
		return err
	}
	return o.putInPlace(res)
}

// tidy removes what a restore that was killed left. A folder of that name without the mark is the spool that a restore had
// replaced already.
func (o *RestoreOptions) tidy(res *RestoreResult) error {
	staged := o.staged()
	if !exists(staged) {
		return nil
	}
	if exists(filepath.Join(staged, restoringName)) || !exists(filepath.Join(staged, identityName)) {
		return os.RemoveAll(staged)
	}
	to := filepath.Clean(o.Dir) + ".before-restore-" + o.Now().UTC().Format(stampLayout) + "-interrupted"
	return os.Rename(staged, to)
}

func (o *RestoreOptions) putInPlace(res *RestoreResult) error {
	staged, parent := o.staged(), filepath.Dir(filepath.Clean(o.Dir))
	if res.Replaced == nil {
		if err := os.Remove(o.Dir); err != nil && !os.IsNotExist(err) { // an empty folder
			return err
		}
		if err := os.Rename(staged, o.Dir); err != nil {
			return err
		}
	} else {
		atomically, err := o.exchange(staged, o.Dir)
		if err != nil {
			return err
		}
		if atomically {
			if err := o.step("set aside"); err != nil {
				return err
			}
			err = os.Rename(staged, *res.Replaced)
		} else if err = os.Rename(o.Dir, *res.Replaced); err == nil {
			if err := o.step("set aside"); err != nil {
				return err
			}
			err = os.Rename(staged, o.Dir)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(o.Dir, restoringName)); err != nil {
		return err
	}
	return errors.Join(syncDir(o.Dir), syncDir(parent))
}

// read reads the whole backup, into dir unless that is empty, and compares it with its manifest.
func (o *RestoreOptions) read(ctx context.Context, r backupReader, res *RestoreResult, dir string) error {
	total, err := r.bytes()
	if err != nil {
		return err
	}
	got := map[string]BackupFile{}
	m, err := r.each(ctx, func(path string, size int64, in io.Reader) error {
		if err := o.step("copy " + path); err != nil {
			return err
		}
		h := sha256.New()
		c := &counted{ctx: ctx, r: in, done: res.Bytes, total: total, tell: o.Progress}
		n, err := extract(dir, path, h, c)
		if err != nil {
			return fmt.Errorf("restore %s: %w", path, err)
		}
		res.Files++
		res.Bytes += n
		got[path] = BackupFile{Path: path, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}
		return nil
	})
	if err != nil {
		return err
	}
	res.Name = m.Name
	if res.Bad = compareFiles(m, got); len(res.Bad) > 0 {
		return &BadBackupError{res.Bad}
	}
	return nil
}

func extract(dir, path string, h hash.Hash, in io.Reader) (n int64, err error) {
	if dir == "" {
		return io.Copy(h, in)
	}
	err = writeFile(filepath.Join(dir, filepath.FromSlash(path)), func(out io.Writer) (err error) {
		n, err = io.Copy(io.MultiWriter(out, h), in)
		return err
	})
	return n, err
}

// compareFiles lists what is not as the manifest says.
func compareFiles(m *Manifest, got map[string]BackupFile) (bad []string) {
	for _, want := range m.Files {
		f, ok := got[want.Path]
		switch {
		case !ok:
			bad = append(bad, want.Path+" is missing")
		case f.Size != want.Size:
			bad = append(bad, fmt.Sprintf("%s has %d bytes instead of %d", want.Path, f.Size, want.Size))
		case f.SHA256 != want.SHA256:
			bad = append(bad, want.Path+" does not match its checksum")
		}
		delete(got, want.Path)
	}
	for path := range got {
		bad = append(bad, path+" is not in the manifest")
	}
	slices.Sort(bad)
	return bad
}
