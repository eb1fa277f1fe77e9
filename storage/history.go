package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
)

// maxRevisions is how many revisions of one resource are kept.
const maxRevisions = 20

// Revision is what a resource was from a time on.
type Revision struct {
	Changed time.Time       `json:"changed"`
	Value   json.RawMessage `json:"value"` // null: the resource was deleted
}

// hasHistory reports whether the revisions of a kind are kept.
func (k Kind) hasHistory() bool {
	return k == KindNamespace || k == KindTopicPolicies || k == KindSettings
}

// historyPrefix is the path under which a resource's revisions lie. The zero byte cannot be part of a path.
func historyPrefix(kind Kind, path string) string { return string(rune(kind)) + "/" + path + "\x00" }

// addRevision adds to b what a resource becomes, and drops the oldest revisions beyond maxRevisions.
func addRevision(r pebble.Reader, b *batch, kind Kind, path string, doc []byte, now time.Time) error {
	prefix := historyPrefix(kind, path)
	lower, upper := key.ForResources(byte(KindHistory), prefix)
	var have [][]byte
	err := scan(r, lower, upper, func(k, _ []byte) error {
		have = append(have, bytes.Clone(k))
		return nil
	})
	if err != nil {
		return err
	}
	for len(have) >= maxRevisions {
		if err := b.Delete(have[0], nil); err != nil {
			return err
		}
		have = have[1:]
	}
	return b.Set(key.ForResource(byte(KindHistory), fmt.Sprintf("%s%016x", prefix, now.UnixNano())), doc, nil)
}

// ResourceHistory returns a resource's revisions, the newest first, at most 20. Namespaces, topic policies and settings
// have them; they outlive the resource.
func (s *Store) ResourceHistory(kind Kind, path string) ([]Revision, error) {
	return resourceHistory(s.db, kind, path)
}

// ResourceHistory is what Store.ResourceHistory is, of a stopped spool.
func (s *Spool) ResourceHistory(kind Kind, path string) ([]Revision, error) {
	return resourceHistory(s.r, kind, path)
}

func resourceHistory(r pebble.Reader, kind Kind, path string) (out []Revision, err error) {
	prefix := historyPrefix(kind, path)
	lower, upper := key.ForResources(byte(KindHistory), prefix)
	err = scan(r, lower, upper, func(k, v []byte) error {
		_, full, err := key.ParseResource(k)
		if err != nil {
			return &CorruptError{Key: bytes.Clone(k), Cause: err}
		}
		ns, err := strconv.ParseInt(strings.TrimPrefix(full, prefix), 16, 64)
		if err != nil || !json.Valid(v) {
			return &CorruptError{Key: bytes.Clone(k), Cause: fmt.Errorf("revision of %s %s cannot be read", kind, path)}
		}
		out = append(out, Revision{Changed: time.Unix(0, ns).UTC(), Value: bytes.Clone(v)})
		return nil
	})
	slices.Reverse(out)
	return out, err
}
