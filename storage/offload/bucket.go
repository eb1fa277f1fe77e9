package offload

import (
	"context"
	"io"
	"iter"
	"time"
)

// Bucket is what this package needs of an object store. Implementations are safe for concurrent use. An object that does
// not exist is reported with an error that wraps ErrMissing.
type Bucket interface {
	// Put makes an object of what content writes. The object is durable once Put returned nil; when content fails or ctx
	// ends, nothing of it is there under that name.
	Put(ctx context.Context, name string, content func(io.Writer) error) error
	// ReadAt fills p with the bytes from offset on. When the object ends before, the error wraps io.ErrUnexpectedEOF.
	ReadAt(ctx context.Context, name string, p []byte, offset int64) error
	// Delete removes an object.
	Delete(ctx context.Context, name string) error
	// List yields the objects whose names start with prefix, in no order that callers may count on.
	List(ctx context.Context, prefix string) iter.Seq2[Listed, error]
}

// Listed is an object as the store lists it.
type Listed struct {
	Name     string
	Size     int64 // bytes
	Modified time.Time
}
