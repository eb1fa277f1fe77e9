package archive

import (
	"encoding/json"
	"fmt"
	"time"

	"spoolctl/wire"
)

// Version is the version of the format that this package writes. It reads all
// up to it.
const Version = 1

// Header says where an archive comes from.
type Header struct {
	Spool   string    `json:"spool"` // uuid
	Written time.Time `json:"written"`
	Program string    `json:"program"`
}

// Resource is a document of the spool; Kind is the byte that package storage
// keeps it under.
type Resource struct {
	Kind  byte            `json:"kind"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// Schema is one version of a schema. Versions of a subject rise.
type Schema struct {
	Subject    string            `json:"subject"`
	Version    uint64            `json:"version"`
	Type       int32             `json:"type"`
	Name       string            `json:"name"`
	Data       []byte            `json:"data"`
	Properties map[string]string `json:"properties,omitempty"`
	Timestamp  time.Time         `json:"timestamp"`
	User       string            `json:"user,omitempty"`
	Deleted    bool              `json:"deleted,omitempty"`
}

// Topic begins a topic.
type Topic struct {
	Name       string            `json:"name"` // in full
	Created    time.Time         `json:"created"`
	Terminated bool              `json:"terminated,omitempty"`
	Last       wire.Position     `json:"last,omitzero"` // of a terminated topic
	Properties map[string]string `json:"properties,omitempty"`
}

// Ledger begins a ledger of the topic. Ids rise.
type Ledger struct {
	ID            int64     `json:"id"`
	Entries       int64     `json:"entries"`
	Messages      int64     `json:"messages"`
	Bytes         int64     `json:"bytes"`
	Created       time.Time `json:"created"`
	Closed        time.Time `json:"closed,omitzero"` // zero: it was open
	FirstPublish  int64     `json:"firstPublish"`    // ms
	LastPublish   int64     `json:"lastPublish"`
	StartEntries  int64     `json:"startEntries"` // of the topic before this ledger, ever
	StartMessages int64     `json:"startMessages"`
	StartBytes    int64     `json:"startBytes"`
}

// Entry is one entry of the ledger. Of a Reader, Data is valid until the next
// frame.
type Entry struct {
	ID          int64  `json:"id"`
	PublishTime int64  `json:"publishTime"` // ms
	Messages    int32  `json:"messages"`
	Checksum    uint8  `json:"checksum"` // a record.ChecksumState
	Data        []byte `json:"data"`
}

// Gap is a stretch of entries, both ends included, that could not be read.
type Gap struct {
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	Why   string `json:"why"`
}

// Cursor is a subscription of the topic.
type Cursor struct {
	Name       string            `json:"name"`
	MarkDelete wire.Position     `json:"markDelete"`
	Created    time.Time         `json:"created"`
	LastActive time.Time         `json:"lastActive,omitzero"`
	Properties map[string]string `json:"properties,omitempty"`
	Positions  map[string]int64  `json:"positions,omitempty"` // left with the mark-delete position
}

// Acks are the acknowledgements of the cursor above mark-delete in one ledger.
type Acks struct {
	Ledger   int64             `json:"ledger"`
	Ranges   [][2]int64        `json:"ranges,omitempty"`   // whole entries, first and last of each run, rising
	Partials map[int64]Partial `json:"partials,omitempty"` // by entry
}

// Partial is what is left of a batch.
type Partial struct {
	Size  int32    `json:"size"`  // messages in the batch
	Words []uint64 `json:"words"` // bit i of word i/64 set: message i is not acknowledged
}

// Producer is what deduplication knows of a producer of the topic. -1 is none.
type Producer struct {
	Name     string    `json:"name"`
	Sequence int64     `json:"sequence"`
	Chunked  int64     `json:"chunked"`
	Chunk    int32     `json:"chunk"`
	LastUse  time.Time `json:"lastUse,omitzero"`
}

// Totals end an archive.
type Totals struct {
	Resources int64 `json:"resources"`
	Schemas   int64 `json:"schemas"`
	Topics    int64 `json:"topics"`
	Ledgers   int64 `json:"ledgers"`
	Entries   int64 `json:"entries"`
	Bytes     int64 `json:"bytes"` // of the entries
	Cursors   int64 `json:"cursors"`
	Missing   int64 `json:"missing"` // entries in gaps
}

// add counts a part.
func (t *Totals) add(part any) {
	switch v := part.(type) {
	case *Resource:
		t.Resources++
	case *Schema:
		t.Schemas++
	case *Topic:
		t.Topics++
	case *Ledger:
		t.Ledgers++
	case *Entry:
		t.Entries++
		t.Bytes += int64(len(v.Data))
	case *Gap:
		t.Missing += v.Last - v.First + 1
	case *Cursor:
		t.Cursors++
	}
}

// check returns an error for a gap that is none.
func (g *Gap) check() error {
	if g.First < 0 || g.Last < g.First {
		return fmt.Errorf("a gap from %d to %d", g.First, g.Last)
	}
	return nil
}
