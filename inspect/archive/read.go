package archive

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// ErrFormat is wrapped by the error about a stream that is not an archive, or
// one of a newer version.
var ErrFormat = errors.New("not an archive that this program reads")

// ErrDamaged is wrapped by the error about an archive that was changed or cut
// short.
var ErrDamaged = errors.New("the archive is damaged")

const (
	maxFrame  = 512 << 20 // above the largest entry
	maxWindow = 64 << 20  // of memory for the decompressor
	readStep  = 1 << 20   // a frame's memory grows with what is there of it
)

// Reader reads an archive. It is for one goroutine.
type Reader struct {
	z      *zstd.Decoder
	r      *bufio.Reader
	header Header
	buf    []byte
	totals Totals
	frames int64
	err    error
}

// NewReader begins to read an archive. Close releases it. Errors wrap
// ErrFormat, ErrDamaged.
func NewReader(r io.Reader) (*Reader, error) {
	start := make([]byte, len(magic)+1)
	if _, err := io.ReadFull(r, start); err != nil || string(start[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrFormat)
	}
	if v := start[len(magic)]; v == 0 || v > Version {
		return nil, fmt.Errorf("%w: version %d, known is %d", ErrFormat, v, Version)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	out := &Reader{z: z, r: bufio.NewReaderSize(z, 64<<10)}
	first, err := out.Next()
	if err == nil {
		h, ok := first.(*Header)
		if ok {
			out.header = *h
			return out, nil
		}
		err = fmt.Errorf("%w: it has no header", ErrDamaged)
	}
	z.Close()
	return nil, err
}

// Header says where the archive comes from.
func (r *Reader) Header() Header { return r.header }

// Close releases the reader.
func (r *Reader) Close() { r.z.Close() }

// Next returns the next part: *Resource, *Schema, *Topic, *Ledger, *Entry,
// *Gap, *Cursor, *Acks or *Producer. At the end, when all was there, it returns
// io.EOF. Other errors wrap ErrDamaged.
func (r *Reader) Next() (any, error) {
	if r.err != nil {
		return nil, r.err
	}
	v, err := r.next()
	if err != nil {
		r.err = err
		return nil, err
	}
	r.totals.add(v)
	return v, nil
}

// Totals are what was read so far; after io.EOF they are the archive's.
func (r *Reader) Totals() Totals { return r.totals }

func (r *Reader) next() (any, error) {
	typ, err := r.frame()
	if err != nil {
		return nil, fmt.Errorf("%w: frame %d: %w", ErrDamaged, r.frames, err)
	}
	r.frames++
	var v any
	switch typ {
	case frameHeader:
		v = &Header{}
	case frameResource:
		v = &Resource{}
	case frameSchema:
		v = &Schema{}
	case frameTopic:
		v = &Topic{}
	case frameLedger:
		v = &Ledger{}
	case frameEntry:
		return r.entry()
	case frameGap:
		v = &Gap{}
	case frameCursor:
		v = &Cursor{}
	case frameAcks:
		v = &Acks{}
	case frameProducer:
		v = &Producer{}
	case frameTrailer:
		v = &Totals{}
	default:
		return nil, fmt.Errorf("%w: frame %d is of the unknown type %q", ErrDamaged, r.frames, typ)
	}
	if err := json.Unmarshal(r.buf, v); err != nil {
		return nil, fmt.Errorf("%w: frame %d: %w", ErrDamaged, r.frames, err)
	}
	switch v := v.(type) {
	case *Gap:
		if err := v.check(); err != nil {
			return nil, fmt.Errorf("%w: frame %d: %w", ErrDamaged, r.frames, err)
		}
	case *Totals:
		if *v != r.totals {
			return nil, fmt.Errorf("%w: it says %+v, and holds %+v", ErrDamaged, *v, r.totals)
		}
		if _, err := r.r.ReadByte(); !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: something follows its end", ErrDamaged)
		}
		return nil, io.EOF
	}
	return v, nil
}

func (r *Reader) entry() (*Entry, error) {
	b, bad := r.buf, false
	uint := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			bad = true
			return 0
		}
		b = b[n:]
		return v
	}
	e := &Entry{ID: int64(uint())}
	ms, n := binary.Varint(b)
	if n <= 0 {
		return nil, fmt.Errorf("%w: frame %d: no entry", ErrDamaged, r.frames)
	}
	b = b[n:]
	messages := uint()
	if bad || e.ID < 0 || messages > 1<<31-1 || len(b) == 0 {
		return nil, fmt.Errorf("%w: frame %d: no entry", ErrDamaged, r.frames)
	}
	e.PublishTime, e.Messages, e.Checksum, e.Data = ms, int32(messages), b[0], b[1:]
	return e, nil
}

// frame reads a frame's content into buf.
func (r *Reader) frame() (typ byte, err error) {
	if typ, err = r.r.ReadByte(); err != nil {
		return 0, cutShort(err)
	}
	n, err := binary.ReadUvarint(r.r)
	if err != nil {
		return 0, cutShort(err)
	}
	if n > maxFrame {
		return 0, fmt.Errorf("a frame of %d bytes", n)
	}
	r.buf = r.buf[:0]
	for left := int(n); left > 0; {
		step := min(left, readStep)
		at := len(r.buf)
		if cap(r.buf)-at < step {
			grown := make([]byte, at, 2*cap(r.buf)+step)
			copy(grown, r.buf)
			r.buf = grown
		}
		r.buf = r.buf[:at+step]
		if _, err := io.ReadFull(r.r, r.buf[at:]); err != nil {
			return 0, cutShort(err)
		}
		left -= step
	}
	var end [4]byte
	if _, err := io.ReadFull(r.r, end[:]); err != nil {
		return 0, cutShort(err)
	}
	if sum(typ, r.buf) != binary.LittleEndian.Uint32(end[:]) {
		return 0, errors.New("the checksum does not match")
	}
	return typ, nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}
