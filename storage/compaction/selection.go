package compaction

import (
	"encoding/binary"
	"maps"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// allHashes is the end of the last range.
const allHashes = math.MaxUint64

// chunked are the chunks of a message that come before its last, inside the window.
type chunked struct {
	key hash
	at  []uint64
}

// selection finds the last message of every key whose hash lies in a range, among the messages of a window.
type selection struct {
	limit     int    // how much it may hold: keys, and chunks
	low, high uint64 // the range: of the first 8 bytes of hashes, both inclusive

	last  map[hash]uint64   // by key: its last message
	whole map[hash]*chunked // by key: the other chunks of that message, when it has some
	open  map[hash]*chunked // by message: chunks whose last one has not come
	parts int               // chunks in whole and open
}

func newSelection(limit int) *selection {
	return &selection{limit: limit, high: allHashes, last: map[hash]uint64{}, whole: map[hash]*chunked{}, open: map[hash]*chunked{}}
}

func (s *selection) has(key hash) bool {
	p := binary.BigEndian.Uint64(key[:])
	return s.low <= p && p <= s.high
}

// observe takes the next message; at counts messages from the window's start. Messages behind the window only supersede.
func (s *selection) observe(m *message, at uint64, inside bool) {
	if m.kind < keyed || !s.has(m.key) {
		return
	}
	var others *chunked
	switch m.kind {
	case chunk:
		if inside {
			s.addChunk(m, at)
			s.fit()
		}
		return
	case lastChunk:
		others = s.open[m.uuid]
		delete(s.open, m.uuid)
	}
	if c := s.whole[m.key]; c != nil {
		s.parts -= len(c.at)
		delete(s.whole, m.key)
	}
	if m.kind == deleting || !inside && others == nil {
		delete(s.last, m.key)
		return
	}
	s.last[m.key] = at
	if others != nil {
		s.whole[m.key] = others
	}
	s.fit()
}

func (s *selection) addChunk(m *message, at uint64) {
	c := s.open[m.uuid]
	if c == nil {
		c = &chunked{key: m.key}
		s.open[m.uuid] = c
	}
	c.at = append(c.at, at)
	s.parts++
}

// fit makes the range smaller until what is known of it fits.
func (s *selection) fit() {
	for len(s.last)+s.parts > s.limit && s.low < s.high {
		s.high = s.low + (s.high-s.low)/4*3
		maps.DeleteFunc(s.last, func(k hash, _ uint64) bool { return !s.has(k) })
		maps.DeleteFunc(s.whole, func(k hash, _ *chunked) bool { return !s.has(k) })
		maps.DeleteFunc(s.open, func(_ hash, c *chunked) bool { return !s.has(c.key) })
		s.parts = 0
		for _, m := range []map[hash]*chunked{s.whole, s.open} {
			for _, c := range m {
				s.parts += len(c.at)
			}
		}
	}
}

// mark marks the messages that stay, of those before end, the window's. Chunks of a message that is not complete stay: the rest of it
// comes behind the source's end.
func (s *selection) mark(marks *roaring.Bitmap, end uint64) {
	for _, at := range s.last {
		if at < end { // one behind the window has no number in the bitmap
			marks.Add(uint32(at))
		}
	}
	for _, m := range []map[hash]*chunked{s.whole, s.open} {
		for _, c := range m {
			for _, at := range c.at {
				marks.Add(uint32(at))
			}
		}
	}
}

// nextRange goes on to the hashes behind the range: to all of them, which fit makes as many as there is room for. It
// returns false when there are none.
func (s *selection) nextRange() bool {
	if s.high == allHashes {
		return false
	}
	s.low, s.high = s.high+1, allHashes
	clear(s.last)
	clear(s.whole)
	clear(s.open)
	s.parts = 0
	return true
}
