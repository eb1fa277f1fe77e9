package offload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Ref names a closed ledger.
type Ref struct {
	Spool   string // the spool's uuid in its text form
	Ledger  int64
	Entries int64 // how many entries it has
}

// Object is a ledger in object storage: with Name and Size of it, and what the spool knows of the ledger, it can be read.
type Object struct {
	Ref
	Name string
	Size int64 // bytes of the object
}

const uuidLen = 36

// check says whether an object can be made for r.
func (r Ref) check() error {
	if len(r.Spool) != uuidLen || strings.ContainsFunc(r.Spool, func(c rune) bool { return !strings.ContainsRune("0123456789abcdef-", c) }) {
		return fmt.Errorf("offload: %q is not the uuid of a spool", r.Spool)
	}
	if r.Ledger < 0 || r.Entries <= 0 {
		return fmt.Errorf("offload: ledger %d with %d entries cannot be offloaded", r.Ledger, r.Entries)
	}
	return nil
}

// newName returns a name that no attempt before had, so that one that broke off never gets into the way.
func (r Ref) newName() string {
	return fmt.Sprintf("%s/ledger-%d-%s", r.Spool, r.Ledger, strings.ToLower(rand.Text()))
}

// parseName returns the ledger of an object of the spool.
func parseName(spool, name string) (ledger int64, ok bool) {
	rest, ok := strings.CutPrefix(name, spool+"/ledger-")
	if !ok {
		return 0, false
	}
	id, attempt, ok := strings.Cut(rest, "-")
	ledger, err := strconv.ParseInt(id, 10, 64)
	return ledger, ok && err == nil && len(attempt) == len(rand.Text())
}

// Delete removes an object; one that is gone already is no error.
func Delete(ctx context.Context, b Bucket, o Object) error {
	if err := b.Delete(ctx, o.Name); err != nil && !errors.Is(err, ErrMissing) {
		return fmt.Errorf("delete object %s: %w", o.Name, err)
	}
	return nil
}

// Orphans yields the objects of the spool that needed, given a ledger and a name, does not know: what attempts left that
// broke off between the upload and the ledger's record. An upload that is going on is not seen, but one that just ended
// is: the caller must not record objects meanwhile, or leave out what was modified lately. Files that only look like
// objects are never yielded.
func Orphans(ctx context.Context, b Bucket, spool string, needed func(ledger int64, name string) bool) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for l, err := range b.List(ctx, spool+"/ledger-") {
			if err != nil {
				yield(l, fmt.Errorf("list the objects of spool %s: %w", spool, err))
				return
			}
			ledger, ok := parseName(spool, l.Name)
			if ok && !needed(ledger, l.Name) && !yield(l, nil) {
				return
			}
		}
	}
}
