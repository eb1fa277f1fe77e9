package archive

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

const magic = "SPOOLARC"

// The types of frames.
const (
	frameHeader   = 'H'
	frameResource = 'R'
	frameSchema   = 'S'
	frameTopic    = 'T'
	frameLedger   = 'L'
	frameEntry    = 'E'
	frameGap      = 'G'
	frameCursor   = 'C'
	frameAcks     = 'A'
	frameProducer = 'P'
	frameTrailer  = 'Z'
)

// Writer writes an archive. It is for one goroutine; the first error sticks.
type Writer struct {
	z      *zstd.Encoder
	w      *bufio.Writer
	buf    []byte
	totals Totals
	err    error
}

// NewWriter begins an archive on w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if _, err := w.Write(append([]byte(magic), Version)); err != nil {
		return nil, fmt.Errorf("begin archive: %w", err)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("begin archive: %w", err)
	}
	out := &Writer{z: z, w: bufio.NewWriterSize(z, 64<<10)}
	return out, out.document(frameHeader, h)
}

// Resource writes a document of the spool.
func (w *Writer) Resource(r Resource) error {
	w.totals.add(&r)
	return w.document(frameResource, r)
}

// Schema writes one version of a schema.
func (w *Writer) Schema(s Schema) error {
	w.totals.add(&s)
	return w.document(frameSchema, s)
}

// Topic begins a topic.
func (w *Writer) Topic(t Topic) error {
	w.totals.add(&t)
	return w.document(frameTopic, t)
}

// Ledger begins a ledger of the topic.
func (w *Writer) Ledger(l Ledger) error {
	w.totals.add(&l)
	return w.document(frameLedger, l)
}

// Entry writes an entry of the ledger.
func (w *Writer) Entry(e Entry) error {
	w.totals.add(&e)
	var head [4 * binary.MaxVarintLen64]byte
	b := binary.AppendUvarint(head[:0], uint64(e.ID))
	b = binary.AppendVarint(b, e.PublishTime)
	b = binary.AppendUvarint(b, uint64(e.Messages))
	b = append(b, e.Checksum)
	return w.frame(frameEntry, b, e.Data)
}

// Gap writes that entries of the ledger are missing.
func (w *Writer) Gap(g Gap) error {
	w.totals.add(&g)
	return w.document(frameGap, g)
}

// Cursor writes a subscription of the topic.
func (w *Writer) Cursor(c Cursor) error {
	w.totals.add(&c)
	return w.document(frameCursor, c)
}

// Acks writes acknowledgements of the cursor.
func (w *Writer) Acks(a Acks) error { return w.document(frameAcks, a) }

// Producer writes what deduplication knows of a producer.
func (w *Writer) Producer(p Producer) error { return w.document(frameProducer, p) }

// Totals are what was written so far.
func (w *Writer) Totals() Totals { return w.totals }

// Close ends the archive; w itself stays open. Without it, a reader says that
// the archive was cut short.
func (w *Writer) Close() error {
	err := w.document(frameTrailer, w.totals)
	if err == nil {
		err = w.w.Flush()
	}
	return errors.Join(err, w.z.Close())
}

// Abort gives up an archive that is not complete.
func (w *Writer) Abort() {
	w.err = errors.New("the archive was given up")
	_ = w.z.Close() // what it writes is of no use
}

func (w *Writer) document(typ byte, v any) error {
	if w.err == nil {
		w.buf, w.err = json.Marshal(v)
	}
	if w.err != nil {
		return w.err
	}
	return w.frame(typ, w.buf, nil)
}

func (w *Writer) frame(typ byte, head, data []byte) error {
	if w.err != nil {
		return w.err
	}
	var start [1 + binary.MaxVarintLen64]byte
	start[0] = typ
	b := binary.AppendUvarint(start[:1], uint64(len(head)+len(data)))
	var end [4]byte
	binary.LittleEndian.PutUint32(end[:], sum(typ, head, data))
	for _, part := range [][]byte{b, head, data, end[:]} {
		if _, err := w.w.Write(part); err != nil {
			w.err = fmt.Errorf("write archive: %w", err)
			return w.err
		}
	}
	return nil
}

// sum is the checksum of a frame.
func sum(typ byte, parts ...[]byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // made once by the library
	c := crc32.Update(0, table, []byte{typ})
	for _, p := range parts {
		c = crc32.Update(c, table, p)
	}
	return c
}
