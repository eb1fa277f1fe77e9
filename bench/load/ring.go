package load

import (
	"crypto/rand"
	"time"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

const (
	ringBytes = 4 << 20 // far more than a compressor of blocks of a database looks back
	ringLeast = 16      // messages
)

// Ring is random messages, built once: no two within some MiB are alike, so that nothing compresses, and sending one costs
// nothing but a copy.
type Ring struct{ payloads, entries [][]byte }

// NewRing makes messages of a size in bytes.
func NewRing(size int) *Ring {
	n := max(ringLeast, ringBytes/size)
	r := &Ring{payloads: make([][]byte, n), entries: make([][]byte, n)}
	now := time.Now()
	for i := range n {
		r.payloads[i] = make([]byte, size)
		rand.Read(r.payloads[i]) // never fails
		r.entries[i] = Entry(r.payloads[i], now)
	}
	return r
}

// Payload is the payload of message i.
func (r *Ring) Payload(i int) []byte { return r.payloads[i%len(r.payloads)] }

// Entry is message i as a producer sends it, from the checksum magic on.
func (r *Ring) Entry(i int) []byte { return r.entries[i%len(r.entries)] }

// Size is the payload of one message, in bytes.
func (r *Ring) Size() int { return len(r.payloads[0]) }

// Entry builds what a producer sends as one message of a payload.
func Entry(payload []byte, published time.Time) []byte {
	name, sequence, at := "bench", uint64(0), uint64(published.UnixMilli())
	return wire.BuildEntry(&pb.MessageMetadata{ProducerName: &name, SequenceId: &sequence, PublishTime: &at}, payload)
}
