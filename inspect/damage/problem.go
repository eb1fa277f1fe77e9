package damage

import (
	"fmt"
	"strings"

	"spoolctl/storage/key"
)

// Problem is one thing that could not be read, or is not as it must be.
type Problem struct {
	File      string  `json:"file" col:"FILE"`                         // relative to the spool; empty when it is not about one file
	Offset    *int64  `json:"offset" col:"OFFSET"`                     // bytes from the file's start; nil when unknown
	Length    *int64  `json:"length" col:"LENGTH,wide"`                // bytes that cannot be read
	What      string  `json:"what" col:"WHAT"`                         // one sentence without a full stop
	FirstKey  string  `json:"firstKey" col:"FIRST_KEY,wide"`           // smallest key that may be affected, as people read it
	LastKey   string  `json:"lastKey" col:"LAST_KEY,wide"`             // largest one
	Ledgers   []int64 `json:"ledgers" col:"LEDGERS"`                   // ledgers that may be affected, rising
	Lost      *int64  `json:"lostRecords" col:"LOST" fmt:"count"`      // records that are lost; nil when nobody can know
	Recovered *int64  `json:"recoveredRecords" col:"READ" fmt:"count"` // records of the same file that could be read
}

// String is the problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Offset != nil {
			fmt.Fprintf(&b, " at byte %d", *p.Offset)
		}
		b.WriteString(": ")
	}
	b.WriteString(p.What)
	if p.FirstKey != "" {
		fmt.Fprintf(&b, "; keys %s to %s", p.FirstKey, p.LastKey)
	}
	if p.File != "" { // else What names them
		b.WriteString(ledgerList(p.Ledgers))
	}
	if p.Lost != nil {
		fmt.Fprintf(&b, "; %s lost", records(*p.Lost))
	}
	if p.Recovered != nil {
		fmt.Fprintf(&b, "; %s read", records(*p.Recovered))
	}
	return b.String()
}

func records(n int64) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// ledgerList names ledgers, not all of many.
func ledgerList(ids []int64) string {
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; ledger %d", ids[0])
	}
	const most = 8
	var b strings.Builder
	sep := "; ledgers "
	for _, id := range ids[:min(most, len(ids))] {
		fmt.Fprintf(&b, "%s%d", sep, id)
		sep = ", "
	}
	if n := len(ids) - most; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}

// keys notes the range of keys that a problem may touch.
func (p *Problem) keys(first, last []byte) {
	if first == nil {
		return
	}
	p.FirstKey, p.LastKey = key.Format(first), key.Format(last)
	a, aok := ledgerOf(first)
	b, bok := ledgerOf(last)
	if aok && bok && first[0] == last[0] && a == b {
		p.Ledgers = []int64{a}
	}
}

// ledgerOf is the ledger that a key is about, when it is about one.
func ledgerOf(k []byte) (int64, bool) {
	if _, l, _, err := key.ParseEntry(k); err == nil {
		return l, true
	}
	if l, _, err := key.ParseExtent(k); err == nil {
		return l, true
	}
	if _, l, err := key.ParseLedger(k); err == nil {
		return l, true
	}
	if _, _, l, err := key.ParseHoles(k); err == nil {
		return l, true
	}
	return 0, false
}
