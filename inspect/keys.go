package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"spoolctl/inspect/damage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"

	"github.com/cockroachdb/pebble/v2"
)

// Key is one line of `inspect keys`.
type Key struct {
	Key      string  `json:"key" col:"KEY,name"`
	Family   string  `json:"family" col:"FAMILY"`
	Size     int     `json:"size" col:"SIZE" fmt:"bytes"` // of the value
	Value    any     `json:"value" col:"VALUE"`           // decoded; nil when it cannot be
	Note     *string `json:"note" col:"NOTE,wide"`        // why not
	RawKey   string  `json:"rawKey" col:"RAW_KEY,wide"`   // hex
	RawValue *string `json:"rawValue" col:"RAW_VALUE,wide"`
}

// KeysOptions are for Session.Keys.
type KeysOptions struct {
	// Prefix is a family's name or letter, with the first parts of its keys:
	// entry, e, ledger/3, entry/1/7. For resources and meta: resource/t/public.
	Prefix   string
	From, To []byte // raw keys; To is not included
	Reverse  bool
	Hex      bool // with the raw values
}

// Keys lists the raw records of the spool, decoded.
func (s *Session) Keys(ctx context.Context, o KeysOptions) (iter.Seq2[Key, error], error) {
	lower, upper, err := o.bounds()
	if err != nil {
		return nil, err
	}
	return func(yield func(Key, error) bool) {
		it, err := s.spool.Reader().NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			yield(Key{}, err)
			return
		}
		defer func() { _ = it.Close() }() // its errors are looked at below
		start, next := it.First, it.Next
		if o.Reverse {
			start, next = it.Last, it.Prev
		}
		for ok := start(); ok; ok = next() {
			v, err := it.ValueAndErr()
			if err != nil || ctx.Err() != nil {
				err = errors.Join(err, ctx.Err())
				s.problem(damage.Problem{What: "the records from here on cannot be read: " + firstLine(err), FirstKey: key.Format(it.Key())})
				break
			}
			if !yield(keyRow(it.Key(), v, o.Hex), nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			s.problem(damage.Problem{What: "the list of records ends early: " + firstLine(err)})
		}
	}, nil
}

// bounds is the range of keys that is asked for.
func (o KeysOptions) bounds() (lower, upper []byte, err error) {
	if lower, upper, err = keyPrefix(o.Prefix); err != nil {
		return nil, nil, err
	}
	if o.From != nil && bytes.Compare(o.From, lower) > 0 {
		lower = o.From
	}
	if o.To != nil && (upper == nil || bytes.Compare(o.To, upper) < 0) {
		upper = o.To
	}
	return lower, upper, nil
}

// keyPrefix turns a prefix as people write it into bounds.
func keyPrefix(text string) (lower, upper []byte, err error) {
	if text == "" {
		return nil, nil, nil
	}
	parts := strings.SplitN(text, "/", 2)
	i := slices.IndexFunc(key.Families(), func(f key.Family) bool { return f.String() == parts[0] || string(rune(f)) == parts[0] })
	if i < 0 {
		var names []string
		for _, f := range key.Families() {
			names = append(names, f.String())
		}
		return nil, nil, fmt.Errorf("no family %q; families: %s", parts[0], strings.Join(names, ", "))
	}
	f := key.Families()[i]
	lower = []byte{byte(f)}
	rest := ""
	if len(parts) == 2 {
		rest = strings.TrimSuffix(parts[1], "/")
	}
	switch {
	case rest == "":
	case f == key.Meta:
		lower = append(lower, rest...)
	case f == key.Resource:
		kind, path, _ := strings.Cut(rest, "/")
		lower = append(append(lower, kind...), path...)
	default:
		for _, p := range strings.Split(rest, "/") {
			n, err := strconv.ParseUint(p, 10, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("key prefix %q: %q is not a number", text, p)
			}
			lower = binary.BigEndian.AppendUint64(lower, n)
		}
	}
	upper = slices.Clone(lower)
	for i := len(upper) - 1; i >= 0; i-- {
		if upper[i]++; upper[i] != 0 {
			return lower, upper[:i+1], nil
		}
	}
	return lower, nil, nil
}

func keyRow(k, v []byte, raw bool) Key {
	row := Key{Key: key.Format(k), Size: len(v), RawKey: hex.EncodeToString(k)}
	if len(k) > 0 {
		row.Family = key.Family(k[0]).String()
	}
	if raw {
		row.RawValue = new(hex.EncodeToString(v))
	}
	var err error
	if row.Value, err = decodeValue(k, v); err != nil {
		row.Note = new(firstLine(err))
	}
	return row
}

// ackedShape is a set of acknowledged entries without its bitmap.
type ackedShape struct {
	Acked    uint64           `json:"acked"`
	Partials map[string]int32 `json:"partialLeft"` // messages left, by entry
}

// decodeValue turns a record into what people can read.
func decodeValue(k, v []byte) (any, error) {
	if len(k) == 0 || !key.Family(k[0]).Known() {
		return nil, errors.New("no known family")
	}
	if err := damage.Decode(k, v); err != nil {
		return nil, err
	}
	switch key.Family(k[0]) {
	case key.Topic:
		return record.ParseTopic(v)
	case key.Ledger:
		return record.ParseLedger(v)
	case key.Extent:
		_, first, err := key.ParseExtent(k)
		if err != nil {
			return nil, err
		}
		return record.ParseExtent(first, v)
	case key.Entry:
		h, _, err := record.ParseHeader(v)
		return h, err
	case key.Cursor:
		return record.ParseCursor(v)
	case key.Holes:
		h, err := record.ParseHoles(v)
		if err != nil {
			return nil, err
		}
		out := ackedShape{Acked: h.Acked.GetCardinality(), Partials: map[string]int32{}}
		for e, p := range h.Partials {
			out.Partials[strconv.FormatUint(uint64(e), 10)] = p.Left()
		}
		return out, nil
	case key.Schema:
		return record.ParseSchema(v)
	case key.Dedup:
		return record.ParseProducer(v)
	case key.Meta:
		n, _ := binary.Uvarint(v)
		return n, nil
	case key.Resource:
		if !json.Valid(v) {
			return nil, errors.New("not a JSON document")
		}
		return json.RawMessage(slices.Clone(v)), nil
	}
	return nil, errors.New("this program does not know the records of this family")
}
