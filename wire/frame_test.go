package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"spoolctl/wire"
)

const testMaxFrame = 1 << 20

func frameBytes(command, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(command)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(command)))
	return append(append(b, command...), payload...)
}

func TestFrameReaderRoundTrip(t *testing.T) {
	type pair struct{ command, payload []byte }
	rapid.Check(t, func(t *rapid.T) {
		// Sizes on both sides of the limits of chunks, buffers and kept commands.
		size := rapid.OneOf(rapid.IntRange(0, 300), rapid.SampledFrom([]int{4 << 10, 60 << 10, 64 << 10, 70 << 10, 300 << 10}))
		var want []pair
		var stream []byte
		for range rapid.IntRange(0, 20).Draw(t, "frames") {
			fill := byte(len(want) + 1)
			p := pair{bytes.Repeat([]byte{fill}, size.Draw(t, "command")), bytes.Repeat([]byte{^fill}, size.Draw(t, "payload"))}
			want = append(want, p)
			stream = append(stream, frameBytes(p.command, p.payload)...)
		}
		var in io.Reader = bytes.NewReader(stream)
		if rapid.Bool().Draw(t, "halves") {
			in = iotest.HalfReader(in)
		}
		r := wire.NewFrameReader(in, testMaxFrame)
		var payloads [][]byte
		for i, p := range want {
			frame, err := r.Next()
			if err != nil {
				t.Fatalf("frame %d: %v", i, err)
			}
			if !bytes.Equal(frame.Command, p.command) {
				t.Fatalf("frame %d: wrong command", i)
			}
			// Appending must not reach the neighbour in the chunk.
			_ = append(frame.Payload, 0x55)
			_ = append(frame.Command, 0x55)
			payloads = append(payloads, frame.Payload)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("end: %v", err)
		}
		for i, p := range want {
			if !bytes.Equal(payloads[i], p.payload) {
				t.Fatalf("payload %d changed after it was handed out", i)
			}
		}
	})
}

func TestFrameReaderErrors(t *testing.T) {
	good := frameBytes([]byte("command"), []byte("payload"))
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"empty":               {nil, io.EOF},
		"half a size":         {good[:3], io.ErrUnexpectedEOF},
		"size only":           {good[:4], io.ErrUnexpectedEOF},
		"half a header":       {good[:7], io.ErrUnexpectedEOF},
		"header only":         {good[:8], io.ErrUnexpectedEOF},
		"half a command":      {good[:10], io.ErrUnexpectedEOF},
		"no payload":          {good[:15], io.ErrUnexpectedEOF},
		"half a payload":      {good[:18], io.ErrUnexpectedEOF},
		"no room for command": {[]byte{0, 0, 0, 3, 0, 0, 0, 0}, wire.ErrFrame},
		"command too long":    {[]byte{0, 0, 0, 8, 0, 0, 0, 5, 1, 2, 3, 4, 5}, wire.ErrFrame},
		"command size -1":     {[]byte{0, 0, 0, 8, 255, 255, 255, 255, 1, 2, 3, 4}, wire.ErrFrame},
		"too large":           {[]byte{0, 16, 0, 1, 0, 0, 0, 5}, wire.ErrFrameTooLarge},
		"size -1":             {[]byte{255, 255, 255, 255}, wire.ErrFrameTooLarge},
		"HTTP":                {[]byte("GET / HTTP/1.1\r\n\r\n"), wire.ErrFrameTooLarge},
	} {
		r := wire.NewFrameReader(bytes.NewReader(c.in), testMaxFrame)
		for range 2 {
			if _, err := r.Next(); !errors.Is(err, c.want) || c.want == io.EOF && err != io.EOF {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
		}
	}
}

func TestFrameReaderLimit(t *testing.T) {
	frame := frameBytes(make([]byte, 16), nil)
	r := wire.NewFrameReader(bytes.NewReader(append(frame, frame...)), 19)
	if _, err := r.Next(); !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Fatalf("limit 19: %v", err)
	}
	r = wire.NewFrameReader(bytes.NewReader(append(frame, frame...)), 20)
	if _, err := r.Next(); err != nil {
		t.Fatalf("limit 20: %v", err)
	}
	if r.Buffered() != len(frame) {
		t.Errorf("%d bytes buffered, want %d", r.Buffered(), len(frame))
	}
	r.SetMaxFrame(19)
	if _, err := r.Next(); !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Fatalf("limit lowered to 19: %v", err)
	}
}

// timeoutOnce fails once with a timeout after n bytes, then goes on.
type timeoutOnce struct {
	in   io.Reader
	left int
	done bool
}

func (r *timeoutOnce) Read(b []byte) (int, error) {
	if r.left == 0 && !r.done {
		r.done = true
		return 0, os.ErrDeadlineExceeded
	}
	if !r.done {
		b = b[:min(len(b), r.left)]
	}
	n, err := r.in.Read(b)
	r.left -= min(n, r.left)
	return n, err
}

func TestFrameReaderTimeout(t *testing.T) {
	one := frameBytes([]byte("command"), []byte("payload"))
	for at := range one {
		r := wire.NewFrameReader(&timeoutOnce{in: bytes.NewReader(one), left: at}, testMaxFrame)
		if _, err := r.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("after %d bytes: %v", at, err)
		}
		frame, err := r.Next()
		if err != nil || string(frame.Command) != "command" || string(frame.Payload) != "payload" {
			t.Errorf("after %d bytes: the frame is lost: %v", at, err)
		}
	}
}

// FuzzFrameReader compares with the obvious way to cut a stream into frames.
func FuzzFrameReader(f *testing.F) {
	f.Add(frameBytes([]byte("command"), []byte("payload")))
	f.Add(append(frameBytes(nil, nil), frameBytes([]byte("c"), nil)...))
	f.Add(wire.AppendPing(wire.AppendPong(nil)))
	f.Add([]byte{0, 0, 0, 8, 0, 0, 0, 5})
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 1000
		r := wire.NewFrameReader(bytes.NewReader(stream), limit)
		rest := stream
		for {
			frame, err := r.Next()
			whole := len(rest) >= 8
			var size, commandSize uint32
			if whole {
				size, commandSize = binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
				whole = size >= 4 && size <= limit && commandSize <= size-4 && int(size) <= len(rest)-4
			}
			if (err == nil) != whole {
				t.Fatalf("%d bytes left: error %v, whole frame: %v", len(rest), err, whole)
			}
			if err != nil {
				if (err == io.EOF) != (len(rest) == 0) {
					t.Fatalf("%d bytes left: %v", len(rest), err)
				}
				return
			}
			if !bytes.Equal(frame.Command, rest[8:8+commandSize]) || !bytes.Equal(frame.Payload, rest[8+commandSize:4+size]) {
				t.Fatal("wrong bytes")
			}
			rest = rest[4+size:]
		}
	})
}
