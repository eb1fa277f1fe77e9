package dispatch

import "spoolctl/wire"

// hashSpace is the number of key hashes of Key_Shared.
const hashSpace = 1 << 16

// traits is what dispatching needs to know of a stored entry.
type traits struct {
	deliverAt int64  // ms since 1970 at which it may go, 0 = at once
	hash      uint16 // of the key
	uuid      []byte // of a chunked message; aliases the entry
	chunk     int32
	chunks    int32 // 0 or 1 = not chunked
}

// traitsOf reads them from an entry. One that cannot be read is sent like an
// ordinary message: the client is the one to report it.
func traitsOf(data []byte) traits {
	parts, err := wire.SplitEntry(data)
	if err != nil {
		return traits{}
	}
	m, err := wire.ParseMetadata(parts.Metadata)
	if err != nil {
		return traits{}
	}
	return traits{
		deliverAt: dueAt(m.DeliverAt), hash: uint16(wire.KeyHash(&m) % hashSpace),
		uuid: m.UUID, chunk: m.ChunkID, chunks: m.NumChunks,
	}
}

// dueAt is when an entry may go that its producer wants delivered at a time: a millisecond later, because producers cut
// the time to whole milliseconds and nobody may get it early.
func dueAt(deliverAt int64) int64 {
	if deliverAt <= 0 {
		return 0
	}
	return deliverAt + 1
}
