package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"spoolctl/wire/pb"
)

// ErrDecompress is wrapped by every error of Decompress that is not about
// encryption.
var ErrDecompress = errors.New("cannot decompress")

// zstdDecoder is shared: DecodeAll is safe for concurrent use and, with the cap
// limit, never writes beyond the memory it is given.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(0))
})

// Decompress returns the payload of an entry as the producer had it before
// compression. It allocates UncompressedSize bytes and refuses when that is more
// than maxSize; a payload that is not compressed is returned as it is. A result
// of another length than announced is an error. The pieces of a chunked message
// are compressed together, so they must be joined before.
func Decompress(m *Metadata, payload []byte, maxSize int) ([]byte, error) {
	if m.Encrypted {
		return nil, ErrEncrypted
	}
	kind := pb.CompressionType(m.Compression)
	if kind == pb.CompressionType_NONE {
		return payload, nil
	}
	if int64(m.UncompressedSize) > int64(maxSize) {
		return nil, fmt.Errorf("%w: %d bytes uncompressed, the limit is %d", ErrDecompress, m.UncompressedSize, maxSize)
	}
	size := int(m.UncompressedSize)
	var (
		n   int
		out []byte
		err error
	)
	switch kind {
	case pb.CompressionType_LZ4:
		out = make([]byte, size)
		n, err = lz4.UncompressBlock(payload, out)
	case pb.CompressionType_ZLIB:
		out = make([]byte, size)
		n, err = unzlib(payload, out)
	case pb.CompressionType_ZSTD:
		n, out, err = unzstd(payload, size)
	case pb.CompressionType_SNAPPY:
		n, out, err = unsnappy(payload, size)
	default:
		return nil, fmt.Errorf("%w: unknown compression type %d", ErrDecompress, m.Compression)
	}
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrDecompress, kind, err)
	}
	if n != size {
		return nil, fmt.Errorf("%w %s: %d bytes announced, %d found", ErrDecompress, kind, size, n)
	}
	return out, nil
}

func unzlib(payload, out []byte) (int, error) {
	r, err := zlib.NewReader(bytes.NewReader(payload))
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r, out)
	if err != nil {
		return n, err
	}
	// Reading on to the end checks zlib's own checksum.
	extra, err := io.CopyN(io.Discard, r, 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	return n + int(extra), r.Close()
}

func unzstd(payload []byte, size int) (int, []byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return 0, nil, err
	}
	out, err := decoder.DecodeAll(payload, make([]byte, 0, size))
	return len(out), out, err
}

func unsnappy(payload []byte, size int) (int, []byte, error) {
	// The length is looked at first: Decode would allocate whatever it says.
	if n, err := snappy.DecodedLen(payload); err != nil || n != size {
		return n, nil, err
	}
	out, err := snappy.Decode(make([]byte, size), payload)
	return len(out), out, err
}
