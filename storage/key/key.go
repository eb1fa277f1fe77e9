package key

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Family is the first byte of every key. No two families collide, and no table on disk holds two of them.
type Family byte

// The families. The letters are part of the spool format: they never change meaning.
const (
	Cursor   Family = 'c' // topic id, subscription id -> cursor head
	Entry    Family = 'e' // epoch, ledger id, entry id -> entry
	Holes    Family = 'h' // topic id, subscription id, ledger id -> acknowledged entries above mark-delete
	Ledger   Family = 'l' // topic id, ledger id -> ledger
	Meta     Family = 'm' // name -> store-wide fact
	Txn      Family = 'n' // transaction id -> transaction state
	Dedup    Family = 'p' // topic id, producer name -> highest sequence id
	Resource Family = 'r' // kind, path -> JSON document
	Schema   Family = 's' // topic id, version -> schema
	Topic    Family = 't' // topic id -> topic head
	Usage    Family = 'u' // family -> usage snapshot
	Extent   Family = 'x' // ledger id, first entry -> extent
)

// families lists every known family in key order with the name that people read.
func families() []struct {
	f    Family
	name string
} {
	return []struct {
		f    Family
		name string
	}{
		{Cursor, "cursor"}, {Entry, "entry"}, {Holes, "holes"}, {Ledger, "ledger"}, {Meta, "meta"}, {Txn, "txn"},
		{Dedup, "dedup"}, {Resource, "resource"}, {Schema, "schema"}, {Topic, "topic"}, {Usage, "usage"}, {Extent, "extent"},
	}
}

// Families returns every known family in key order. The slice is the caller's.
func Families() []Family {
	all := families()
	out := make([]Family, len(all))
	for i, f := range all {
		out[i] = f.f
	}
	return out
}

// String returns the family's name, or its byte in hexadecimal when it is not a known one.
func (f Family) String() string {
	for _, k := range families() {
		if k.f == f {
			return k.name
		}
	}
	return fmt.Sprintf("family 0x%02x", byte(f))
}

// Known reports whether f is one of the families above.
func (f Family) Known() bool {
	for _, k := range families() {
		if k.f == f {
			return true
		}
	}
	return false
}

// ErrMalformed is wrapped by every error of the Parse functions.
var ErrMalformed = errors.New("malformed key")

// Bounds returns the half-open range [lower, upper) that holds exactly the keys of f.
func (f Family) Bounds() (lower, upper []byte) { return []byte{byte(f)}, []byte{byte(f) + 1} }

// FamilyEnd returns the end (exclusive) of the family that k belongs to; for an empty key the first family's start.
func FamilyEnd(k []byte) []byte {
	if len(k) == 0 {
		return []byte{byte(Cursor)}
	}
	if k[0] == 0xff {
		return nil
	}
	return []byte{k[0] + 1}
}

// EntryLen is the length in bytes of every entry key.
const EntryLen = 1 + 3*8

// PutEntry writes an entry key into dst, which must hold EntryLen bytes.
func PutEntry(dst []byte, epoch uint64, ledger, entry int64) {
	_ = dst[EntryLen-1]
	dst[0] = byte(Entry)
	binary.BigEndian.PutUint64(dst[1:], epoch)
	binary.BigEndian.PutUint64(dst[9:], uint64(ledger))
	binary.BigEndian.PutUint64(dst[17:], uint64(entry))
}

// ForEntry returns the key of one entry.
func ForEntry(epoch uint64, ledger, entry int64) []byte {
	k := make([]byte, EntryLen)
	PutEntry(k, epoch, ledger, entry)
	return k
}

// ParseEntry splits an entry key.
func ParseEntry(k []byte) (epoch uint64, ledger, entry int64, err error) {
	v, err := ints(k, Entry, 3)
	return v[0], int64(v[1]), int64(v[2]), err
}

// ForTopic returns the key of a topic head.
func ForTopic(topic uint64) []byte { return join(Topic, topic) }

// ParseTopic splits the key of a topic head.
func ParseTopic(k []byte) (topic uint64, err error) {
	v, err := ints(k, Topic, 1)
	return v[0], err
}

// ForLedger returns the key of a ledger record.
func ForLedger(topic uint64, ledger int64) []byte { return join(Ledger, topic, uint64(ledger)) }

// ForLedgers returns the half-open range of all ledger records of one topic.
func ForLedgers(topic uint64) (lower, upper []byte) { return span(Ledger, topic) }

// ParseLedger splits the key of a ledger record.
func ParseLedger(k []byte) (topic uint64, ledger int64, err error) {
	v, err := ints(k, Ledger, 2)
	return v[0], int64(v[1]), err
}

// ForExtent returns the key of an extent record.
func ForExtent(ledger, first int64) []byte { return join(Extent, uint64(ledger), uint64(first)) }

// ForExtents returns the half-open range of all extents of one ledger.
func ForExtents(ledger int64) (lower, upper []byte) { return span(Extent, uint64(ledger)) }

// ParseExtent splits the key of an extent record.
func ParseExtent(k []byte) (ledger, first int64, err error) {
	v, err := ints(k, Extent, 2)
	return int64(v[0]), int64(v[1]), err
}

// ForCursor returns the key of a cursor head.
func ForCursor(topic, cursor uint64) []byte { return join(Cursor, topic, cursor) }

// ForCursors returns the half-open range of all cursor heads of one topic.
func ForCursors(topic uint64) (lower, upper []byte) { return span(Cursor, topic) }

// ParseCursor splits the key of a cursor head.
func ParseCursor(k []byte) (topic, cursor uint64, err error) {
	v, err := ints(k, Cursor, 2)
	return v[0], v[1], err
}

// ForHoles returns the key of the acknowledged entries of one ledger.
func ForHoles(topic, cursor uint64, ledger int64) []byte {
	return join(Holes, topic, cursor, uint64(ledger))
}

// ForHolesOf returns the half-open range of all such keys of one cursor.
func ForHolesOf(topic, cursor uint64) (lower, upper []byte) { return span(Holes, topic, cursor) }

// ForHolesOfTopic returns the half-open range of all such keys of one topic.
func ForHolesOfTopic(topic uint64) (lower, upper []byte) { return span(Holes, topic) }

// ParseHoles splits such a key.
func ParseHoles(k []byte) (topic, cursor uint64, ledger int64, err error) {
	v, err := ints(k, Holes, 3)
	return v[0], v[1], int64(v[2]), err
}

// ForProducer returns the key of what deduplication knows of a producer.
func ForProducer(topic uint64, name string) []byte { return append(join(Dedup, topic), name...) }

// ForProducers returns the half-open range of all such keys of one topic.
func ForProducers(topic uint64) (lower, upper []byte) { return span(Dedup, topic) }

// ParseProducer splits such a key.
func ParseProducer(k []byte) (topic uint64, name string, err error) {
	if len(k) < 10 || Family(k[0]) != Dedup {
		return 0, "", malformed(k, Dedup)
	}
	return binary.BigEndian.Uint64(k[1:]), string(k[9:]), nil
}

// ForMeta returns the key of a store-wide fact.
func ForMeta(name string) []byte { return append([]byte{byte(Meta)}, name...) }

// ParseMeta splits the key of a store-wide fact.
func ParseMeta(k []byte) (name string, err error) {
	if len(k) < 2 || Family(k[0]) != Meta {
		return "", malformed(k, Meta)
	}
	return string(k[1:]), nil
}

// ForResource returns the key of a resource document; kind is one byte, path as people write it ("tenant/namespace").
func ForResource(kind byte, path string) []byte {
	return append([]byte{byte(Resource), kind}, path...)
}

// ForResources returns the half-open range of the resources of one kind whose path starts with prefix.
func ForResources(kind byte, prefix string) (lower, upper []byte) {
	lower = ForResource(kind, prefix)
	return lower, after(lower)
}

// ParseResource splits the key of a resource document.
func ParseResource(k []byte) (kind byte, path string, err error) {
	if len(k) < 3 || Family(k[0]) != Resource {
		return 0, "", malformed(k, Resource)
	}
	return k[1], string(k[2:]), nil
}

// Format prints any key for people: its family and its parts. A key that no family explains is printed in hexadecimal.
func Format(k []byte) string {
	if len(k) == 0 {
		return "(empty)"
	}
	f := Family(k[0])
	switch f {
	case Meta:
		if name, err := ParseMeta(k); err == nil {
			return "meta/" + strconv.Quote(name)
		}
	case Resource:
		if kind, path, err := ParseResource(k); err == nil {
			return fmt.Sprintf("resource/%c/%s", kind, strconv.Quote(path))
		}
	case Dedup:
		if topic, name, err := ParseProducer(k); err == nil {
			return fmt.Sprintf("dedup/%d/%s", topic, strconv.Quote(name))
		}
	case Topic, Ledger, Extent, Entry, Cursor, Holes, Schema, Txn:
		if (len(k)-1)%8 == 0 && len(k) > 1 {
			var b strings.Builder
			b.WriteString(f.String())
			for p := k[1:]; len(p) > 0; p = p[8:] {
				fmt.Fprintf(&b, "/%d", binary.BigEndian.Uint64(p))
			}
			return b.String()
		}
	}
	return fmt.Sprintf("%s %x", f, k)
}

func join(f Family, parts ...uint64) []byte {
	k := make([]byte, 1, 1+8*len(parts))
	k[0] = byte(f)
	for _, p := range parts {
		k = binary.BigEndian.AppendUint64(k, p)
	}
	return k
}

func span(f Family, parts ...uint64) (lower, upper []byte) {
	lower = join(f, parts...)
	return lower, after(lower)
}

// after returns the smallest key greater than every key that starts with k.
func after(k []byte) []byte {
	u := append([]byte(nil), k...)
	for i := len(u) - 1; i >= 0; i-- {
		if u[i]++; u[i] != 0 {
			return u[:i+1]
		}
	}
	return nil
}

func ints(k []byte, f Family, n int) (v [3]uint64, err error) {
	if len(k) != 1+8*n || Family(k[0]) != f {
		return v, malformed(k, f)
	}
	for i := range n {
		v[i] = binary.BigEndian.Uint64(k[1+8*i:])
	}
	return v, nil
}

func malformed(k []byte, f Family) error {
	return fmt.Errorf("%w: %x is no %s key", ErrMalformed, k, f)
}
