package offload

import (
	"errors"
	"fmt"
)

// Errors that callers decide by. They come wrapped with what they are about.
var (
	ErrMissing = errors.New("no such object")
	ErrClosed  = errors.New("reader is closed")
	ErrSource  = errors.New("the source does not give the ledger's entries")
)

// DamagedError says that an object is not what was written. What it says of entries is for a reader that goes on behind
// the damage.
type DamagedError struct {
	Object      string
	Offset      int64 // of the damaged part
	Block       int   // which block, -1 when the index or the footer is damaged: then nothing of the object is readable
	First, Next int64 // the entries that are lost: from First up to, not including, Next
	Cause       error
}

// Error implements error.
func (e *DamagedError) Error() string {
	what := "its end"
	if e.Block >= 0 {
		what = fmt.Sprintf("block %d", e.Block)
	}
	return fmt.Sprintf("object %s is damaged in %s at offset %d: %v", e.Object, what, e.Offset, e.Cause)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }
