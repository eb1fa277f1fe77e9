package record

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// LedgerState says whether a ledger still takes entries.
type LedgerState uint8

// The ledger states.
const (
	LedgerOpen   LedgerState = 0 // counts are not recorded yet: they follow from the entries
	LedgerClosed LedgerState = 1 // counts are final
)

// String returns "open" or "closed".
func (s LedgerState) String() string {
	if s == LedgerClosed {
		return "closed"
	}
	return "open"
}

// Ledger is a run of entries of one topic.
type Ledger struct {
	State         LedgerState // 1
	Entries       int64       // 2
	Messages      int64       // 3
	Bytes         int64       // 4: payload bytes
	Created       time.Time   // 5: milliseconds
	Closed        time.Time   // 6: milliseconds; zero while open
	FirstPublish  int64       // 7: smallest publish time in it, ms; 0 when empty
	LastPublish   int64       // 8: largest publish time in it, ms
	StartEntries  int64       // 9: entries of the topic before this ledger, ever
	StartMessages int64       // 10: messages of the topic before this ledger, ever
	StartBytes    int64       // 11: payload bytes of the topic before this ledger, ever

	Object       string    `json:",omitempty"` // 12: name of the object that holds its entries too; empty = none does
	ObjectBytes  int64     `json:",omitempty"` // 13: size of the object
	Offloaded    time.Time `json:",omitzero"`  // 14: when the object was made; milliseconds
	LocalDeleted bool      `json:",omitempty"` // 15: its entries are in the object only

	Compacted bool `json:",omitempty"` // 16: it holds the result of a topic compaction; see package storage, compact.go

	Lost []Run `json:",omitempty"` // 17: entries that a salvage found missing; rising, apart from each other
}

// Run is a stretch of a ledger's entries, both ends included.
type Run struct{ First, Last int64 }

// Len counts the entries.
func (r Run) Len() int64 { return r.Last - r.First + 1 }

// Append adds the encoding of l to dst.
func (l *Ledger) Append(dst []byte) []byte {
	dst = appendInt(dst, 1, int64(l.State))
	dst = appendInt(dst, 2, l.Entries)
	dst = appendInt(dst, 3, l.Messages)
	dst = appendInt(dst, 4, l.Bytes)
	dst = appendInt(dst, 5, millis(l.Created))
	dst = appendInt(dst, 6, millis(l.Closed))
	dst = appendInt(dst, 7, l.FirstPublish)
	dst = appendInt(dst, 8, l.LastPublish)
	dst = appendInt(dst, 9, l.StartEntries)
	dst = appendInt(dst, 10, l.StartMessages)
	dst = appendInt(dst, 11, l.StartBytes)
	dst = appendString(dst, 12, l.Object)
	dst = appendInt(dst, 13, l.ObjectBytes)
	dst = appendInt(dst, 14, millis(l.Offloaded))
	if l.LocalDeleted {
		dst = appendInt(dst, 15, 1)
	}
	if l.Compacted {
		dst = appendInt(dst, 16, 1)
	}
	for _, r := range l.Lost {
		dst = appendBytes(dst, 17, appendInt(appendInt(nil, 1, r.First), 2, r.Len()))
	}
	return dst
}

// ParseLedger decodes a ledger record.
func ParseLedger(b []byte) (l Ledger, err error) {
	err = fields("ledger", b, func(num protowire.Number, v uint64, b []byte) error {
		n := int64(v)
		if n < 0 {
			return fmt.Errorf("%w: ledger: field %d is negative", ErrMalformed, num)
		}
		switch num {
		case 1:
			l.State = LedgerState(min(v, 255))
		case 2:
			l.Entries = n
		case 3:
			l.Messages = n
		case 4:
			l.Bytes = n
		case 5:
			l.Created = fromMillis(n)
		case 6:
			l.Closed = fromMillis(n)
		case 7:
			l.FirstPublish = n
		case 8:
			l.LastPublish = n
		case 9:
			l.StartEntries = n
		case 10:
			l.StartMessages = n
		case 11:
			l.StartBytes = n
		case 12:
			l.Object = string(b)
		case 13:
			l.ObjectBytes = n
		case 14:
			l.Offloaded = fromMillis(n)
		case 15:
			l.LocalDeleted = v != 0
		case 16:
			l.Compacted = v != 0
		case 17:
			r, err := parseRun(b)
			if n := len(l.Lost); err == nil && n > 0 && r.First <= l.Lost[n-1].Last {
				err = fmt.Errorf("%w: ledger: runs of lost entries are not rising", ErrMalformed)
			}
			l.Lost = append(l.Lost, r)
			return err
		}
		return nil
	})
	return l, err
}

func parseRun(b []byte) (Run, error) {
	var first, n int64
	err := fields("run", b, func(num protowire.Number, v uint64, _ []byte) error {
		switch num {
		case 1:
			first = int64(v)
		case 2:
			n = int64(v)
		}
		return nil
	})
	if err == nil && (first < 0 || n <= 0 || first+n < first) {
		err = fmt.Errorf("%w: run: numbers out of range", ErrMalformed)
	}
	return Run{first, first + n - 1}, err
}

// Extent says which epoch holds a run of a ledger's entries. Its key holds the ledger and the first entry.
type Extent struct {
	First         int64  // first entry id; in the key
	Epoch         uint64 // 1
	Count         int64  // 2: entries in the run
	StartMessages int64  // 3: messages of the topic before the run, ever
	StartBytes    int64  // 4: payload bytes of the topic before the run, ever
	FirstPublish  int64  // 5: smallest publish time in it, ms
	LastPublish   int64  // 6: largest publish time in it, ms; 0 = not known (found by a recovery)
}

// Published widens the run's publish-time span; ms are milliseconds since the epoch.
func (x *Extent) Published(ms int64) {
	if x.LastPublish == 0 || ms < x.FirstPublish {
		x.FirstPublish = ms
	}
	x.LastPublish = max(x.LastPublish, ms)
}

// End returns the entry id after the run.
func (x Extent) End() int64 { return x.First + x.Count }

// Append adds the encoding of x to dst.
func (x *Extent) Append(dst []byte) []byte {
	dst = appendInt(dst, 1, int64(x.Epoch))
	dst = appendInt(dst, 2, x.Count)
	dst = appendInt(dst, 3, x.StartMessages)
	dst = appendInt(dst, 4, x.StartBytes)
	dst = appendInt(dst, 5, x.FirstPublish)
	return appendInt(dst, 6, x.LastPublish)
}

// ParseExtent decodes an extent; first comes from its key.
func ParseExtent(first int64, b []byte) (Extent, error) {
	x := Extent{First: first}
	err := fields("extent", b, func(num protowire.Number, v uint64, _ []byte) error {
		switch num {
		case 1:
			x.Epoch = v
		case 2:
			x.Count = int64(v)
		case 3:
			x.StartMessages = int64(v)
		case 4:
			x.StartBytes = int64(v)
		case 5:
			x.FirstPublish = int64(v)
		case 6:
			x.LastPublish = int64(v)
		}
		return nil
	})
	if err == nil && (x.Count <= 0 || x.First < 0 || x.First+x.Count < x.First || x.StartMessages < 0 || x.StartBytes < 0) {
		err = fmt.Errorf("%w: extent: numbers out of range", ErrMalformed)
	}
	return x, err
}
