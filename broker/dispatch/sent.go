package dispatch

import (
	"sort"

	"spoolctl/wire"
)

// maxSent bounds how many of the entries that were sent last are remembered.
const maxSent = 16 << 10

// sentEntry is an entry's size as its header has it.
type sentEntry struct {
	pos      wire.Position
	messages int32
	bytes    int32
}

// sent remembers the entries that were sent last, in order. What falls out is not lost:
// the store looks its size up.
type sent struct{ items []sentEntry }

func (s *sent) add(p wire.Position, messages int32, bytes int) {
	if len(s.items) == maxSent {
		n := copy(s.items, s.items[maxSent/2:])
		s.items = s.items[:n]
	}
	s.items = append(s.items, sentEntry{p, messages, int32(bytes)})
}

func (s *sent) find(p wire.Position) (sentEntry, bool) {
	i := sort.Search(len(s.items), func(i int) bool { return !s.items[i].pos.Less(p) })
	if i < len(s.items) && s.items[i].pos == p {
		return s.items[i], true
	}
	return sentEntry{}, false
}

func (s *sent) clear() { s.items = s.items[:0] }
