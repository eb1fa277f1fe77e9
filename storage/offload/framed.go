package offload

import (
	"encoding/binary"
	"errors"
	"io"
)

// Framed content goes from process to process: chunks with their length in four bytes before them, big-endian, and an empty
// one at the end. A sender that dies does not leave half an object that looks whole.
const maxFrame = 1 << 20 // bytes of a chunk

// Exit codes of `spoold objects` that are answers of the object store.
const (
	ExitMissing = 10 // there is no such object
	ExitShort   = 11 // the object ends before what was asked for
)

// WriteFramed writes content to w, with the end mark when content returned nil.
func WriteFramed(w io.Writer, content func(io.Writer) error) error {
	if err := content(framer{w}); err != nil {
		return err
	}
	_, err := w.Write(make([]byte, 4))
	return err
}

type framer struct{ w io.Writer }

// Write implements io.Writer.
func (f framer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		chunk := p[:min(len(p), maxFrame)]
		var head [4]byte
		binary.BigEndian.PutUint32(head[:], uint32(len(chunk)))
		if _, err := f.w.Write(head[:]); err != nil {
			return n, err
		}
		m, err := f.w.Write(chunk)
		if n += m; err != nil {
			return n, err
		}
		p = p[len(chunk):]
	}
	return n, nil
}

// ReadFramed reads what WriteFramed wrote. Content without its end mark ends with io.ErrUnexpectedEOF.
func ReadFramed(r io.Reader) io.Reader { return &unframer{r: r} }

type unframer struct {
	r    io.Reader
	left uint32
	end  bool
}

// Read implements io.Reader.
func (f *unframer) Read(p []byte) (int, error) {
	if f.end {
		return 0, io.EOF
	}
	if f.left == 0 {
		var head [4]byte
		if _, err := io.ReadFull(f.r, head[:]); err != nil {
			return 0, cutShort(err)
		}
		f.left = binary.BigEndian.Uint32(head[:])
		if f.end = f.left == 0; f.end {
			return 0, io.EOF
		}
		if f.left > maxFrame {
			return 0, errors.New("not framed content")
		}
	}
	n, err := f.r.Read(p[:min(len(p), int(f.left))])
	f.left -= uint32(n)
	return n, cutShort(err)
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
