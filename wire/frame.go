package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxMessageSize is Pulsar's default limit for one entry, in bytes.
const DefaultMaxMessageSize = 5 << 20

// FramePadding is what a frame may hold beyond the largest message, in bytes: a
// broker that takes messages of n bytes takes frames of n+FramePadding.
const FramePadding = 10 << 10

const (
	firstChunk = 4 << 10
	lastChunk  = 256 << 10
)

var (
	// ErrFrame is wrapped by the error for a frame whose sizes contradict each other.
	ErrFrame = errors.New("malformed frame")
	// ErrFrameTooLarge is wrapped by the error for a frame above the reader's limit.
	ErrFrameTooLarge = errors.New("frame too large")
)

// Frame is one unit of the protocol.
type Frame struct {
	// Command is a serialized BaseCommand. It is valid until the next call of Next.
	Command []byte
	// Payload is what follows the command: for SEND and MESSAGE an entry from
	// its checksum magic on, nil when nothing follows. It belongs to the caller,
	// who may keep it. Small payloads share a chunk of up to 256 KiB, so one that
	// is kept keeps its neighbours in memory.
	Payload []byte
}

// FrameReader cuts a stream into frames. It is not safe for concurrent use.
//
// The stream is read into chunks, and frames are handed out where they lie: nothing is
// copied but the beginning of a frame that its chunk has no room for.
type FrameReader struct {
	in       io.Reader
	max      int
	chunk    []byte // what was read of the stream, with its capacity for more
	at       int    // start of the next frame in it
	lent     bool   // a payload of the chunk was handed out
	nextSize int    // of the chunk after it
	err      error
}

// NewFrameReader reads frames of at most maxFrame bytes, not counting the size
// field itself. It reads ahead, so r must not be used elsewhere.
func NewFrameReader(r io.Reader, maxFrame int) *FrameReader {
	return &FrameReader{in: r, max: maxFrame, nextSize: firstChunk}
}

// SetMaxFrame changes the limit from the next frame on: a connection can be held
// to small frames until it has introduced itself.
func (f *FrameReader) SetMaxFrame(n int) { f.max = n }

// Buffered is the number of bytes already read from the stream and not yet
// returned: 0 means that the next call of Next has to wait for the peer.
func (f *FrameReader) Buffered() int { return len(f.chunk) - f.at }

// Next returns the next frame. At the end of the stream it returns io.EOF, inside
// a frame io.ErrUnexpectedEOF. Any other error of the stream, such as a timeout,
// loses nothing: Next may be called again. After an error that wraps ErrFrame or
// ErrFrameTooLarge the place in the stream is lost, and every further call returns
// the same error.
func (f *FrameReader) Next() (Frame, error) {
	if f.err != nil {
		return Frame{}, f.err
	}
	if err := f.fill(4); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(f.chunk[f.at:])
	if f.err = f.checkSize(size); f.err != nil {
		return Frame{}, f.err
	}
	if err := f.fill(8); err != nil {
		return Frame{}, err
	}
	command := binary.BigEndian.Uint32(f.chunk[f.at+4:])
	if command > size-4 {
		f.err = fmt.Errorf("%w: a command of %d bytes in a frame of %d", ErrFrame, command, size)
		return Frame{}, f.err
	}
	if err := f.fill(4 + int(size)); err != nil {
		return Frame{}, err
	}
	from, end := f.at+8, f.at+4+int(size)
	body := from + int(command)
	f.at = end
	frame := Frame{Command: f.chunk[from:body:body]}
	if body < end {
		frame.Payload = f.chunk[body:end:end]
		f.lent = true
	}
	return frame, nil
}

func (f *FrameReader) checkSize(size uint32) error {
	if size < 4 {
		return fmt.Errorf("%w: a frame of %d bytes has no room for a command", ErrFrame, size)
	}
	if int64(size) > int64(f.max) {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrFrameTooLarge, size, f.max)
	}
	return nil
}

// fill reads until n bytes of the next frame are there, and what more comes with them.
func (f *FrameReader) fill(n int) error {
	for empty := 0; f.Buffered() < n; {
		f.makeRoom(n)
		got, err := f.in.Read(f.chunk[len(f.chunk):cap(f.chunk)])
		f.chunk = f.chunk[:len(f.chunk)+got]
		switch {
		case got > 0:
			empty = 0 // an error comes again
		case errors.Is(err, io.EOF) && f.Buffered() > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		default:
			if empty++; empty == maxEmptyReads {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

// maxEmptyReads bounds the reads in a row that bring neither bytes nor an error.
const maxEmptyReads = 100

// makeRoom sees to it that a frame of n bytes fits into what is left of the chunk, and that something can be read. A chunk
// of which nothing was handed out is used again. Chunks grow with use, so that an idle connection costs little and a busy
// one allocates rarely.
func (f *FrameReader) makeRoom(n int) {
	if cap(f.chunk)-f.at >= n && len(f.chunk) < cap(f.chunk) {
		return
	}
	rest := f.chunk[f.at:]
	switch {
	case !f.lent && n <= cap(f.chunk) && cap(f.chunk) <= lastChunk && f.at > 0:
		f.chunk = f.chunk[:copy(f.chunk, rest)]
	default:
		f.chunk = append(make([]byte, 0, max(n, f.nextSize)), rest...)
		f.nextSize = min(2*f.nextSize, lastChunk)
		f.lent = false
	}
	f.at = 0
}
