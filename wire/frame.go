package wire

import (
	"bufio"
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
	readBufferSize = 64 << 10
	firstChunk     = 4 << 10
	lastChunk      = 256 << 10
	// keptCommand is the largest command buffer that is kept between frames.
	keptCommand = 64 << 10
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
type FrameReader struct {
	in       *bufio.Reader
	max      int
	command  []byte
	chunk    []byte // the part of the current chunk that is not handed out yet
	nextSize int    // size of the chunk after it
	err      error
}

// NewFrameReader reads frames of at most maxFrame bytes, not counting the size
// field itself. It reads ahead, so r must not be used elsewhere.
func NewFrameReader(r io.Reader, maxFrame int) *FrameReader {
	return &FrameReader{in: bufio.NewReaderSize(r, readBufferSize), max: maxFrame, nextSize: firstChunk}
}

// SetMaxFrame changes the limit from the next frame on: a connection can be held
// to small frames until it has introduced itself.
func (f *FrameReader) SetMaxFrame(n int) { f.max = n }

// Buffered is the number of bytes already read from the stream and not yet
// returned: 0 means that the next call of Next has to wait for the peer.
func (f *FrameReader) Buffered() int { return f.in.Buffered() }

// Next returns the next frame. At the end of the stream it returns io.EOF, inside
// a frame io.ErrUnexpectedEOF. An error of the stream between two frames, such as
// a timeout, loses nothing: Next may be called again. After any other error, which
// may also wrap ErrFrame or ErrFrameTooLarge, the place in the stream is lost and
// every further call returns the same error.
func (f *FrameReader) Next() (Frame, error) {
	if f.err != nil {
		return Frame{}, f.err
	}
	head, err := f.in.Peek(8)
	if len(head) < 4 || len(head) < 8 && f.checkSize(head) == nil {
		if errors.Is(err, io.EOF) && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	frame, err := f.read(head)
	if err != nil {
		f.err = err
		return Frame{}, err
	}
	return frame, nil
}

// read takes one frame from the stream; head is its first bytes, still unread.
func (f *FrameReader) read(head []byte) (Frame, error) {
	if err := f.checkSize(head); err != nil {
		return Frame{}, err
	}
	size, commandSize := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if commandSize > size-4 {
		return Frame{}, fmt.Errorf("%w: a command of %d bytes in a frame of %d", ErrFrame, commandSize, size)
	}
	if _, err := f.in.Discard(8); err != nil {
		return Frame{}, err
	}

	f.command = grow(f.command, int(commandSize))
	if err := f.fill(f.command); err != nil {
		return Frame{}, err
	}
	frame := Frame{Command: f.command}
	if n := int(size - 4 - commandSize); n > 0 {
		frame.Payload = f.carve(n)
		if err := f.fill(frame.Payload); err != nil {
			return Frame{}, err
		}
	}
	return frame, nil
}

// checkSize judges the size in the first four bytes of head.
func (f *FrameReader) checkSize(head []byte) error {
	size := binary.BigEndian.Uint32(head)
	if size < 4 {
		return fmt.Errorf("%w: a frame of %d bytes has no room for a command", ErrFrame, size)
	}
	if int64(size) > int64(f.max) {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrFrameTooLarge, size, f.max)
	}
	return nil
}

func (f *FrameReader) fill(b []byte) error {
	_, err := io.ReadFull(f.in, b)
	if err == io.EOF && len(b) > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// carve returns n bytes that are never handed out again. Chunks grow with use,
// so that an idle connection costs little and a busy one allocates rarely.
func (f *FrameReader) carve(n int) []byte {
	if n > lastChunk/4 {
		return make([]byte, n)
	}
	if n > len(f.chunk) {
		for f.nextSize < lastChunk && f.nextSize/4 < n {
			f.nextSize *= 2
		}
		f.chunk = make([]byte, f.nextSize)
		f.nextSize = min(2*f.nextSize, lastChunk)
	}
	b := f.chunk[:n:n]
	f.chunk = f.chunk[n:]
	return b
}

// grow returns a slice of n bytes, in b's memory when that is large enough and
// not so large that one big command would hold it for ever.
func grow(b []byte, n int) []byte {
	if n <= cap(b) && (cap(b) <= keptCommand || n > keptCommand) {
		return b[:n]
	}
	return make([]byte, n, max(n, 512))
}
