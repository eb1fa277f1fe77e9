package record

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Partial is what is left of a batch of which some messages are acknowledged.
type Partial struct {
	Size  int32    // messages in the batch
	Words []uint64 // bit i of word i/64 set = message i is not yet acknowledged (Java's BitSet order)
}

// Left counts the messages not yet acknowledged.
func (p Partial) Left() int32 {
	n := 0
	for _, w := range p.Words {
		n += bits.OnesCount64(w)
	}
	return int32(n)
}

// Holes are the acknowledged entries of one ledger above a cursor's mark-delete position.
type Holes struct {
	Acked    *roaring.Bitmap    // wholly acknowledged entry ids
	Partials map[uint32]Partial // partly acknowledged batches by entry id; none of them is in Acked
}

const (
	holesVersion = 1
	// maxPartialWords bounds a batch-index set when decoding: 16 M messages in a batch, far above what fits in one entry.
	maxPartialWords = 1 << 18
)

// Append adds the encoding of h to dst: version, length and bytes of the roaring bitmap, then the number of partial
// batches and for each, by rising entry id: entry id, batch size, number of words, words.
func (h *Holes) Append(dst []byte) ([]byte, error) {
	dst = append(dst, holesVersion)
	b, err := h.Acked.ToBytes()
	if err != nil {
		return dst, fmt.Errorf("encode acknowledged entries: %w", err)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	dst = append(dst, b...)
	dst = binary.AppendUvarint(dst, uint64(len(h.Partials)))
	ids := make([]uint32, 0, len(h.Partials))
	for id := range h.Partials {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		p := h.Partials[id]
		dst = binary.AppendUvarint(dst, uint64(id))
		dst = binary.AppendUvarint(dst, uint64(p.Size))
		dst = binary.AppendUvarint(dst, uint64(len(p.Words)))
		for _, w := range p.Words {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	}
	return dst, nil
}

// ParseHoles decodes the acknowledged entries of one ledger. The result shares no memory with b.
func ParseHoles(b []byte) (*Holes, error) {
	if len(b) == 0 || b[0] != holesVersion {
		return nil, fmt.Errorf("%w: acknowledged entries have an unknown version", ErrMalformed)
	}
	b = b[1:]
	n, b, err := uvarint(b, uint64(len(b)))
	if err != nil {
		return nil, err
	}
	h := &Holes{Acked: roaring.New()}
	if n > uint64(len(b)) {
		return nil, cut()
	}
	if err := parseBitmap(h.Acked, b[:n]); err != nil {
		return nil, err
	}
	count, b, err := uvarint(b[n:], uint64(len(b)))
	if err != nil || count == 0 {
		return h, err
	}
	h.Partials = make(map[uint32]Partial, count)
	for range count {
		var id, size, words uint64
		if id, b, err = uvarint(b, 1<<32-1); err != nil {
			return nil, err
		}
		if size, b, err = uvarint(b, 64*maxPartialWords); err != nil {
			return nil, err
		}
		if words, b, err = uvarint(b, maxPartialWords); err != nil {
			return nil, err
		}
		if uint64(len(b)) < 8*words || words != (size+63)/64 {
			return nil, cut()
		}
		p := Partial{Size: int32(size), Words: make([]uint64, words)}
		for i := range p.Words {
			p.Words[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		b = b[8*words:]
		h.Partials[uint32(id)] = p
	}
	return h, nil
}

// parseBitmap decodes and checks a roaring bitmap; the library may panic on bytes that no encoder wrote.
func parseBitmap(into *roaring.Bitmap, b []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: acknowledged entries: %v", ErrMalformed, r)
		}
	}()
	if err := into.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("%w: acknowledged entries: %w", ErrMalformed, err)
	}
	if err := into.Validate(); err != nil && !into.IsEmpty() {
		return fmt.Errorf("%w: acknowledged entries: %w", ErrMalformed, err)
	}
	return nil
}

func uvarint(b []byte, limit uint64) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > limit {
		return 0, nil, cut()
	}
	return v, b[n:], nil
}

func cut() error { return fmt.Errorf("%w: acknowledged entries are cut short", ErrMalformed) }
