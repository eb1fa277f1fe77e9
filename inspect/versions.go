package inspect

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// Version is one line of `inspect keys --internal`, `trace` and `wal --keys`:
// one version of a key, or a deletion, as a file holds it.
type Version struct {
	Key      string  `json:"key" col:"KEY,name"`
	End      *string `json:"end" col:"END"` // of a range deletion, not included
	Kind     string  `json:"kind" col:"KIND"`
	Seq      uint64  `json:"sequence" col:"SEQUENCE" fmt:"plain"` // the largest is the newest
	File     string  `json:"file" col:"FILE"`
	Level    *int    `json:"level" col:"LEVEL"`                    // nil in a log
	Offset   *int64  `json:"offset" col:"OFFSET,wide" fmt:"plain"` // of its record, in a log
	Size     int     `json:"size" col:"SIZE" fmt:"bytes"`          // of the value
	Value    any     `json:"value" col:"VALUE"`                    // decoded; nil when there is none, or it cannot be
	Note     *string `json:"note" col:"NOTE,wide"`                 // why not
	RawKey   string  `json:"rawKey" col:"RAW_KEY,wide"`            // hex
	RawValue *string `json:"rawValue" col:"RAW_VALUE,wide"`        // hex, when asked for
	Visible  *bool   `json:"visible" col:"VISIBLE,wide"`           // trace: readers get this one
}

func versionRow(v damage.Version, file string, level *int, raw bool) Version {
	row := Version{Key: key.Format(v.Key), Kind: kindName(v.Kind), Seq: v.Seq, File: file, Level: level, Size: len(v.Value), RawKey: hex.EncodeToString(v.Key)}
	if v.Offset >= 0 {
		row.Offset = &v.Offset
	}
	if v.End != nil {
		row.End = new(key.Format(v.End))
		return row
	}
	if !sets(v.Kind) {
		return row
	}
	if raw {
		row.RawValue = new(hex.EncodeToString(v.Value))
	}
	var err error
	if row.Value, err = decodeValue(v.Key, v.Value); err != nil {
		row.Note = new(firstLine(err))
	}
	return row
}

func sets(k pebble.InternalKeyKind) bool {
	return k == pebble.InternalKeyKindSet || k == pebble.InternalKeyKindSetWithDelete
}

// kindName is a kind as people read it.
func kindName(k pebble.InternalKeyKind) string {
	switch k {
	case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
		return "set"
	case pebble.InternalKeyKindDelete, pebble.InternalKeyKindDeleteSized:
		return "delete"
	case pebble.InternalKeyKindSingleDelete:
		return "single delete"
	case pebble.InternalKeyKindRangeDelete:
		return "range delete"
	}
	return strings.ToLower(k.String())
}

// Versions lists all versions of the keys that o chooses, with deletions: file
// by file, the newest files first, in each by key. o.Reverse is not known.
func (s *Session) Versions(ctx context.Context, o KeysOptions) (iter.Seq2[Version, error], error) {
	lower, upper, err := o.bounds()
	if err != nil {
		return nil, err
	}
	if o.Reverse {
		return nil, errors.New("versions are listed file by file, from the first key to the last")
	}
	if err := s.listFiles(); err != nil {
		return nil, err
	}
	return func(yield func(Version, error) bool) {
		err := s.eachVersion(ctx, lower, upper, func(v damage.Version, file string, level *int) error {
			if !yield(versionRow(v, file, level, o.Hex), nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Version{}, err)
		}
	}, nil
}

// errEnough ends a walk whose reader wants no more.
var errEnough = errors.New("enough")

// eachVersion reads logs and tables. Slices are valid during the call only.
func (s *Session) eachVersion(ctx context.Context, lower, upper []byte, each func(v damage.Version, file string, level *int) error) error {
	o := s.damageOptions()
	_, err := damage.ReadLogVersions(o, s.manifest, s.files, func(v damage.LogVersion) error {
		if err := ctx.Err(); err != nil || !touches(v.Version, lower, upper) {
			return err
		}
		return each(v.Version, v.File, nil)
	})
	if err != nil {
		return err // damage of the logs was found when opening
	}
	for _, t := range s.manifest.Live() {
		if err := ctx.Err(); err != nil {
			return err
		}
		file := s.o.FS.PathJoin(storage.StoreDir, damage.TableFile(t.File))
		problem, err := damage.ReadVersions(o, t, lower, upper, func(v damage.Version) error { return each(v, file, &t.Level) })
		if err != nil {
			return err
		}
		if problem != nil {
			s.problem(*problem)
		}
	}
	return nil
}

// touches reports whether a version is about keys in [lower, upper).
func touches(v damage.Version, lower, upper []byte) bool {
	end := v.End
	if end == nil {
		end = append(slices.Clone(v.Key), 0)
	}
	return (upper == nil || string(v.Key) < string(upper)) && (lower == nil || string(end) > string(lower))
}

// Trace is the answer of Session.Trace: the history of one key.
type Trace struct {
	Key      string
	Versions []Version // the newest first; deletions of ranges that cover the key included
	Files    int       // that hold something of it
}

// Trace finds every file that holds something of a key: a position
// (ledger:entry), a key as `inspect keys` prints it, or one in hex.
func (s *Session) Trace(ctx context.Context, text string) (*Trace, error) {
	if err := s.listFiles(); err != nil {
		return nil, err
	}
	k, err := s.keyNamed(ctx, text)
	if err != nil {
		return nil, err
	}
	out := &Trace{Key: key.Format(k)}
	files := map[string]bool{}
	err = s.eachVersion(ctx, k, append(slices.Clone(k), 0), func(v damage.Version, file string, level *int) error {
		out.Versions = append(out.Versions, versionRow(v, file, level, true))
		files[file] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Files = len(files)
	slices.SortStableFunc(out.Versions, func(a, b Version) int {
		switch {
		case a.Seq > b.Seq:
			return -1
		case a.Seq < b.Seq:
			return 1
		}
		return 0
	})
	for i := range out.Versions {
		// A key that was just added may stand in a log and a table.
		v := &out.Versions[i]
		v.Visible = new(v.Kind == "set" && v.Seq == out.Versions[0].Seq)
	}
	return out, nil
}

// keyNamed turns what people write into a key.
func (s *Session) keyNamed(ctx context.Context, text string) ([]byte, error) {
	if p, err := wire.ParsePosition(text); err == nil && p.Entry >= 0 {
		t, err := s.topicOfLedger(ctx, p.Ledger)
		if err != nil {
			return nil, err
		}
		if k := keyAt(t, p); k != nil {
			return k, nil
		}
		return nil, &NotFoundError{What: "entry", Name: text, Known: lastOf(t, p.Ledger)}
	}
	if raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x")); err == nil && len(raw) > 0 {
		return raw, nil
	}
	lower, _, err := keyPrefix(text)
	if err != nil {
		return nil, fmt.Errorf("%w; a key is a position, a key as `inspect keys` prints it, or hexadecimal", err)
	}
	return lower, nil
}
