package maintain

import (
	"archive/tar"
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

	"github.com/klauspost/compress/gzip"
)

// manifestName is the last member of an archive.
const manifestName = "manifest.json"

// maxManifest bounds the manifest of an archive, in bytes: that of a spool with a million tables.
const maxManifest = 512 << 20

// archiveWriter writes a backup into one file, which gets its name when it is whole, or into a stream.
type archiveWriter struct {
	path string
	file *os.File     // nil: a stream, or a dry run
	zip  *gzip.Writer // nil: not compressed
	tar  *tar.Writer
}

func partName(path string) string { return path + ".part" }

func newArchiveWriter(path string, dryRun bool) (*archiveWriter, error) {
	if exists(path) {
		return nil, fmt.Errorf("%w: %s", ErrOccupied, path)
	}
	if dryRun {
		return &archiveWriter{}, nil
	}
	f, err := os.Create(partName(path))
	if err != nil {
		return nil, err
	}
	w := &archiveWriter{path: path, file: f}
	var out io.Writer = f
	if zipped(path) {
		w.zip = gzip.NewWriter(f)
		out = w.zip
	}
	w.tar = tar.NewWriter(out)
	return w, nil
}

func newStreamWriter(out io.Writer, dryRun bool) *archiveWriter {
	if dryRun {
		return &archiveWriter{}
	}
	return &archiveWriter{tar: tar.NewWriter(out)}
}

func (w *archiveWriter) has(BackupFile) (_, _ string, shared bool) { return "", "", false }

func (w *archiveWriter) put(f BackupFile, r io.Reader) (sum, _ string, _ error) {
	if err := w.tar.WriteHeader(&tar.Header{Name: f.Path, Size: f.Size, Mode: 0o600, ModTime: f.Modified}); err != nil {
		return "", "", err
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w.tar, h), r); err != nil {
		return "", "", err
	}
	return hex.EncodeToString(h.Sum(nil)), "", w.tar.Flush() // which says when bytes are missing
}

func (w *archiveWriter) finish(m *Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := w.tar.WriteHeader(&tar.Header{Name: manifestName, Size: int64(len(b)), Mode: 0o600, ModTime: m.Made}); err != nil {
		return err
	}
	if _, err := w.tar.Write(b); err != nil {
		return err
	}
	if err := w.tar.Close(); err != nil {
		return err
	}
	if w.zip != nil {
		if err := w.zip.Close(); err != nil {
			return err
		}
	}
	if w.file == nil {
		return nil
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(partName(w.path), w.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(w.path))
}

func (w *archiveWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	if exists(partName(w.path)) {
		err = errors.Join(err, os.Remove(partName(w.path)))
	}
	return err
}

// archiveReader is a backup in one file, or in a stream.
type archiveReader struct {
	path   string    // for a stream, what to call it
	stream io.Reader // nil: a file
}

func (r *archiveReader) each(ctx context.Context, visit func(path string, size int64, r io.Reader) error) (m *Manifest, err error) {
	from := r.stream
	if from == nil {
		f, err := os.Open(r.path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	buffered := bufio.NewReader(from)
	var in io.Reader = buffered
	if magic, err := buffered.Peek(2); err == nil && string(magic) == "\x1f\x8b" { // RFC 1952
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, r.damaged(err)
		}
		defer func() { _ = z.Close() }() // its errors were met while reading
		in = z
	}
	for t := tar.NewReader(in); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, r.damaged(err)
		}
		if h.Name != manifestName {
			if !backupPath(h.Name) {
				return nil, r.damaged(fmt.Errorf("it holds %q, which no backup has", h.Name))
			}
			if err := visit(h.Name, h.Size, t); err != nil {
				return nil, err
			}
			continue
		}
		b, err := io.ReadAll(io.LimitReader(t, maxManifest))
		if err != nil {
			return nil, r.damaged(err)
		}
		if m, err = parseManifest(b); err != nil {
			return nil, r.damaged(err)
		}
	}
	if m == nil {
		return nil, r.damaged(errors.New("it ends without a manifest"))
	}
	return m, nil
}

func (r *archiveReader) damaged(err error) error {
	return fmt.Errorf("%s is no whole backup: %w", r.path, err)
}

func (r *archiveReader) bytes() (int64, error) {
	if r.stream != nil {
		return 0, nil // nobody knows
	}
	info, err := os.Stat(r.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
