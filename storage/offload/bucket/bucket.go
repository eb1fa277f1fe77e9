package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"

	"spoolctl/storage/offload"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/memblob"   // mem://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
)

// Bucket is an offload.Bucket of one of the providers.
type Bucket struct {
	b      *blob.Bucket
	folder string // of file://, else empty
}

var _ offload.Bucket = (*Bucket)(nil)

// Uploads hold uploadParts parts of partBytes in memory. With S3's limit of 10 000 parts, an object may have 78 GiB.
const (
	partBytes   = 8 << 20
	uploadParts = 2
)

// Open opens a bucket; what is not in the URL, credentials for one, comes from the provider's usual places. The parameter
// prefix puts all objects below a prefix. It does not say whether the bucket can be reached: Check does. Close must be
// called.
func Open(ctx context.Context, address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	b := &Bucket{}
	if u.Scheme == "file" {
		if b.folder, err = folder(u); err != nil {
			return nil, err
		}
	}
	if b.b, err = blob.OpenBucket(ctx, u.String()); err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", u.Redacted(), err)
	}
	return b, nil
}

// Check returns an error when the bucket cannot be reached.
func (b *Bucket) Check(ctx context.Context) error {
	ok, err := b.b.IsAccessible(ctx)
	if err == nil && !ok {
		err = errors.New("there is no such bucket")
	}
	if err != nil {
		return fmt.Errorf("reach bucket: %w", err)
	}
	return nil
}

// Close frees what the driver holds.
func (b *Bucket) Close() error { return b.b.Close() }

// Put implements offload.Bucket.
func (b *Bucket) Put(ctx context.Context, name string, content func(io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.b.NewWriter(ctx, name, &blob.WriterOptions{
		BufferSize: partBytes, MaxConcurrency: uploadParts, ContentType: "application/octet-stream", DisableContentTypeDetection: true,
	})
	if err != nil {
		return err
	}
	if err := content(w); err != nil {
		cancel() // which makes Close drop what was written, and say so
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if b.folder != "" {
		return makeDurable(b.folder, name)
	}
	return nil
}

// ReadAt implements offload.Bucket.
func (b *Bucket) ReadAt(ctx context.Context, name string, p []byte, offset int64) error {
	r, err := b.b.NewRangeReader(ctx, name, offset, int64(len(p)), nil)
	if err != nil {
		return b.explain(ctx, err, name, offset+int64(len(p)))
	}
	_, err = io.ReadFull(r, p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return err
}

// explain finds out why the bytes before end cannot be read: providers do not agree about what is an error there.
func (b *Bucket) explain(ctx context.Context, err error, name string, end int64) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", offload.ErrMissing, err)
	}
	if a, aerr := b.b.Attributes(ctx, name); aerr == nil && a.Size < end {
		return fmt.Errorf("%w: it has %d bytes", io.ErrUnexpectedEOF, a.Size)
	}
	return err
}

// Delete implements offload.Bucket.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := b.b.Delete(ctx, name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", offload.ErrMissing, err)
	}
	return err
}

// List implements offload.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[offload.Listed, error] {
	return func(yield func(offload.Listed, error) bool) {
		for it := b.b.List(&blob.ListOptions{Prefix: prefix}); ; {
			o, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(offload.Listed{}, err)
				return
			}
			if !yield(offload.Listed{Name: o.Key, Size: o.Size, Modified: o.ModTime}, nil) {
				return
			}
		}
	}
}
