package maintain

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"spoolctl/storage"
	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The storage kinds. A spool of kind files is for interchange and for measuring against: no broker opens one.
const (
	KindPebble = "pebble"
	KindFiles  = "files" // one file for each entry in hashed folders
)

// Names of a spool of kind files: KIND says what it is; records.ndjson holds all records but entries, one a line, with key
// and value in base64; below entries every entry's value stands in a file EPOCH-LEDGER-ENTRY, in two levels of folders
// by the hash of that name.
const (
	kindName    = "KIND"
	filesKind   = "files 1\n"
	recordsName = "records.ndjson"
	entriesName = "entries"
	maxLine     = 64 << 20 // bytes of one line of records.ndjson
)

type fileRecord struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// ConvertOptions are for Convert. Of Options it uses DryRun, Progress, Now, Free and Step.
type ConvertOptions struct {
	Options        // Dir is the source, of either kind; it does not change
	To      string // a new folder
	Kind    string // of To
}

// ConvertResult is what a conversion did.
type ConvertResult struct {
	From    string `json:"from" col:"FROM"`
	Spool   string `json:"spool" col:"SPOOL,name"`
	Kind    string `json:"kind" col:"KIND"`
	Done    bool   `json:"done" col:"DONE"`
	Records int64  `json:"records" col:"RECORDS" fmt:"count"`
	Entries int64  `json:"entries" col:"ENTRIES" fmt:"count"`
	Bytes   int64  `json:"bytes" col:"BYTES" fmt:"bytes"` // of all values
}

// Convert copies a spool into a new one of another storage kind, or of the same. It is made beside its place and renamed
// when it is whole.
func Convert(ctx context.Context, o ConvertOptions) (_ *ConvertResult, err error) {
	o.Options = o.withDefaults()
	if o.Kind != KindPebble && o.Kind != KindFiles {
		return nil, fmt.Errorf("%w: storage kind %q; there are %s and %s", storage.ErrBadName, o.Kind, KindPebble, KindFiles)
	}
	if _, err := storage.ReadIdentity(vfs.Default, o.Dir); err != nil {
		return nil, err
	}
	if err := isEmpty(o.To); err != nil {
		return nil, err
	}
	unlock, err := o.lockSource()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	source, closeSource, err := openKind(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	res := &ConvertResult{From: o.Dir, Spool: o.To, Kind: o.Kind}
	counted := func(do func(k, v []byte) error) func(k, v []byte) error {
		return func(k, v []byte) error {
			res.Records++
			res.Bytes += int64(len(v))
			if len(k) > 0 && key.Family(k[0]) == key.Entry {
				res.Entries++
			}
			return do(k, v)
		}
	}
	if o.DryRun {
		return res, source(counted(func(_, _ []byte) error { return ctx.Err() }))
	}
	staged := filepath.Clean(o.To) + ".converting"
	if err := o.step("stage"); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(staged); err != nil {
		return nil, err
	}
	err = o.fill(ctx, staged, func(do func(k, v []byte) error) error { return source(counted(do)) })
	if err == nil {
		err = o.step("rename")
	}
	if err != nil {
		if !errors.As(err, new(*stoppedError)) {
			err = errors.Join(err, os.RemoveAll(staged))
		}
		return nil, err
	}
	if err := os.Remove(o.To); err != nil && !os.IsNotExist(err) { // an empty folder
		return nil, err
	}
	if err := os.Rename(staged, o.To); err != nil {
		return nil, err
	}
	res.Done = true
	return res, syncDir(filepath.Dir(filepath.Clean(o.To)))
}

// openKind opens a spool of either kind for reading all its records.
func openKind(dir string) (each func(do func(k, v []byte) error) error, done func() error, err error) {
	if b, err := os.ReadFile(filepath.Join(dir, kindName)); err == nil {
		if string(b) != filesKind {
			return nil, nil, fmt.Errorf("%s is of storage kind %q, which this program does not know", dir, b)
		}
		return func(do func(k, v []byte) error) error { return readFiles(dir, do) }, func() error { return nil }, nil
	}
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	if err != nil {
		return nil, nil, &DamagedError{Dir: dir, Cause: err}
	}
	return func(do func(k, v []byte) error) error { return eachRecord(s.Reader(), do) }, s.Close, nil
}

// fill makes the new spool in dir.
func (o *ConvertOptions) fill(ctx context.Context, dir string, source func(do func(k, v []byte) error) error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if o.Kind == KindFiles {
		if err := o.writeFiles(ctx, dir, source); err != nil {
			return err
		}
	} else {
		if err := o.write(ctx, storeDir(dir), nil, source); err != nil {
			return err
		}
	}
	if err := copyFile(filepath.Join(o.Dir, identityName), filepath.Join(dir, identityName)); err != nil {
		return err
	}
	return syncDir(dir)
}

// entryPath is where an entry's file is, below the spool.
func entryPath(epoch uint64, ledger, entry int64) string {
	name := fmt.Sprintf("%d-%d-%d", epoch, ledger, entry)
	sum := sha256.Sum256([]byte(name))
	h := hex.EncodeToString(sum[:2])
	return filepath.Join(entriesName, h[:2], h[2:], name)
}

func (o *ConvertOptions) writeFiles(ctx context.Context, dir string, source func(do func(k, v []byte) error) error) error {
	if err := writeFile(filepath.Join(dir, kindName), func(w io.Writer) error {
		_, err := io.WriteString(w, filesKind)
		return err
	}); err != nil {
		return err
	}
	n := int64(0)
	err := writeFile(filepath.Join(dir, recordsName), func(w io.Writer) error {
		out := bufio.NewWriter(w)
		enc := json.NewEncoder(out)
		err := source(func(k, v []byte) error {
			if key.Family(k[0]) != key.Entry {
				return enc.Encode(fileRecord{k, v})
			}
			if n++; n%1000 == 0 {
				o.Progress(Progress{What: "entries written", Done: n})
			}
			return o.writeEntry(ctx, dir, k, v)
		})
		return errors.Join(err, out.Flush())
	})
	if err != nil {
		return err
	}
	return syncTree(dir)
}

func (o *ConvertOptions) writeEntry(ctx context.Context, dir string, k, v []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	epoch, ledger, entry, err := key.ParseEntry(k)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, entryPath(epoch, ledger, entry))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, v, 0o600)
}

// readFiles calls do for every record of a spool of kind files, entries last.
func readFiles(dir string, do func(k, v []byte) error) error {
	f, err := os.Open(filepath.Join(dir, recordsName))
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var r fileRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || len(r.Key) == 0 {
			return errors.Join(fmt.Errorf("%s, line %d, is no record", f.Name(), n), err)
		}
		if err := do(r.Key, r.Value); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	root := filepath.Join(dir, entriesName)
	if !exists(root) {
		return nil
	}
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		var epoch uint64
		var ledger, entry int64
		if _, err := fmt.Sscanf(d.Name(), "%d-%d-%d", &epoch, &ledger, &entry); err != nil || !strings.HasSuffix(path, entryPath(epoch, ledger, entry)) {
			return fmt.Errorf("%s is no entry's file", path)
		}
		v, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return do(key.ForEntry(epoch, ledger, entry), v)
	})
}

// syncTree makes everything below dir durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncDir(path)
	})
}
