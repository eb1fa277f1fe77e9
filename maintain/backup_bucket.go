package maintain

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"spoolctl/storage/offload"
)

// An object store of backups holds NAME.json for each backup; its files are below objects, under names that no other backup
// gives. Nothing can be renamed there, and a checksum is known when a file has been sent.
type bucketWriter struct {
	ctx    context.Context
	b      offload.Bucket
	folder string                // of this backup's objects
	known  map[string]BackupFile // of the earlier backups, by path, size and time
	there  map[string]int64      // sizes of the objects by name
	made   []string              // by this backup
	done   bool
}

func newBucketWriter(ctx context.Context, b offload.Bucket, name string) (*bucketWriter, string, error) {
	w := &bucketWriter{ctx: ctx, b: b, known: map[string]BackupFile{}, there: map[string]int64{}}
	all, err := bucketBackups(ctx, b, func(l offload.Listed) { w.there[l.Name] = l.Size })
	if err != nil {
		return nil, "", err
	}
	name = freeName(name, all)
	for _, m := range all {
		for _, f := range m.Files {
			w.known[fileKey(f)] = f
		}
	}
	var unique [4]byte
	rand.Read(unique[:]) // never fails
	w.folder = objectsName + "/" + name + "-" + hex.EncodeToString(unique[:]) + "/"
	return w, name, nil
}

// bucketBackups reads the manifests in an object store, the oldest first. other, when not nil, is told of all else there.
func bucketBackups(ctx context.Context, b offload.Bucket, other func(offload.Listed)) (out []*Manifest, err error) {
	for l, err := range b.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		if strings.Contains(l.Name, "/") || !strings.HasSuffix(l.Name, manifestExt) {
			if other != nil {
				other(l)
			}
			continue
		}
		if l.Size > maxManifest {
			return nil, fmt.Errorf("%s: not a backup's manifest", l.Name)
		}
		text := make([]byte, l.Size)
		if err := b.ReadAt(ctx, l.Name, text, 0); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		m, err := parseManifest(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		out = append(out, m)
	}
	sortBackups(out)
	return out, nil
}

func (w *bucketWriter) has(f BackupFile) (sum, object string, shared bool) {
	k, ok := w.known[fileKey(f)]
	if !ok || k.Object == "" {
		return "", "", false
	}
	size, there := w.there[k.Object]
	return k.SHA256, k.Object, there && size == f.Size
}

func (w *bucketWriter) put(f BackupFile, r io.Reader) (sum, object string, err error) {
	object = w.folder + f.Path
	w.made = append(w.made, object)
	h := sha256.New()
	err = w.b.Put(w.ctx, object, func(out io.Writer) error {
		n, err := io.Copy(io.MultiWriter(out, h), r)
		if err == nil && n != f.Size {
			err = changes(f, n)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), object, err
}

func (w *bucketWriter) finish(m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	err = w.b.Put(w.ctx, m.Name+manifestExt, func(out io.Writer) error {
		_, err := out.Write(append(text, '\n'))
		return err
	})
	w.done = err == nil
	return err
}

// close removes the objects of a backup that came to nothing. A kill leaves them; no manifest names them.
func (w *bucketWriter) close() (err error) {
	if w.done {
		return nil
	}
	for _, object := range w.made {
		if derr := w.b.Delete(context.WithoutCancel(w.ctx), object); derr != nil && !errors.Is(derr, offload.ErrMissing) {
			err = errors.Join(err, derr)
		}
	}
	return err
}

// bucketReader is a backup in an object store.
type bucketReader struct {
	b offload.Bucket
	m *Manifest
}

func (r *bucketReader) each(ctx context.Context, visit func(path string, size int64, r io.Reader) error) (*Manifest, error) {
	for _, f := range r.m.Files {
		err := visit(f.Path, f.Size, &objectContent{ctx: ctx, b: r.b, f: f})
		if errors.Is(err, offload.ErrMissing) || errors.Is(err, io.ErrUnexpectedEOF) {
			continue // the manifest tells that it is missing
		}
		if err != nil {
			return nil, err
		}
	}
	return r.m, nil
}

func (r *bucketReader) bytes() (int64, error) { return r.m.bytes(), nil }

// objectPart is how much of an object is asked for at a time, in bytes.
const objectPart = 16 << 20

// objectContent reads an object from its begin to its end.
type objectContent struct {
	ctx  context.Context
	b    offload.Bucket
	f    BackupFile
	at   int64
	part []byte // what was read and is not taken yet
	buf  []byte
}

// Read implements io.Reader.
func (c *objectContent) Read(p []byte) (int, error) {
	if len(c.part) == 0 {
		n := min(objectPart, c.f.Size-c.at)
		if n == 0 {
			return 0, io.EOF
		}
		if int64(cap(c.buf)) < n {
			c.buf = make([]byte, n)
		}
		if err := c.b.ReadAt(c.ctx, c.f.Object, c.buf[:n], c.at); err != nil {
			return 0, err
		}
		c.part, c.at = c.buf[:n], c.at+n
	}
	n := copy(p, c.part)
	c.part = c.part[n:]
	return n, nil
}
