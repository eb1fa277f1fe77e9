package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"pgregory.net/rapid"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func compress(t testing.TB, kind pb.CompressionType, b []byte) []byte {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	switch kind {
	case pb.CompressionType_LZ4:
		// Like every block encoder but pierrec's, store what does not shrink as
		// literals: a block of one sequence without a match.
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, out, nil)
		check(err)
		if n > 0 {
			return out[:n]
		}
		return literalBlock(b)
	case pb.CompressionType_ZLIB:
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		_, err := w.Write(b)
		check(err)
		check(w.Close())
		return out.Bytes()
	case pb.CompressionType_ZSTD:
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
		check(err)
		return w.EncodeAll(b, nil)
	case pb.CompressionType_SNAPPY:
		return snappy.Encode(nil, b)
	}
	return b
}

func literalBlock(b []byte) []byte {
	n := len(b)
	if n < 15 {
		return append([]byte{byte(n << 4)}, b...)
	}
	out := []byte{0xf0}
	for n -= 15; n >= 255; n -= 255 {
		out = append(out, 255)
	}
	return append(append(out, byte(n)), b...)
}

func kinds() []pb.CompressionType {
	return []pb.CompressionType{pb.CompressionType_NONE, pb.CompressionType_LZ4, pb.CompressionType_ZLIB, pb.CompressionType_ZSTD, pb.CompressionType_SNAPPY}
}

func TestDecompress(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				plain := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(r, "plain"), rapid.SampledFrom([]int{1, 3, 2000}).Draw(r, "times"))
				packed := compress(t, kind, plain)
				m := wire.Metadata{Compression: int32(kind), UncompressedSize: uint32(len(plain))}
				got, err := wire.Decompress(&m, packed, len(plain))
				if err != nil || !bytes.Equal(got, plain) {
					r.Fatalf("%d bytes: %v", len(plain), err)
				}
				if kind == pb.CompressionType_NONE {
					return
				}
				for _, off := range []int{-1, 1} {
					m.UncompressedSize = uint32(max(0, len(plain)+off))
					if int(m.UncompressedSize) == len(plain) {
						continue
					}
					if _, err := wire.Decompress(&m, packed, 1<<20); !errors.Is(err, wire.ErrDecompress) {
						r.Fatalf("%d bytes announced as %d: %v", len(plain), m.UncompressedSize, err)
					}
				}
				m.UncompressedSize = uint32(len(plain))
				if len(plain) > 0 {
					if _, err := wire.Decompress(&m, packed, len(plain)-1); !errors.Is(err, wire.ErrDecompress) {
						r.Fatalf("above the limit: %v", err)
					}
				}
			})
		})
	}
}

func TestDecompressErrors(t *testing.T) {
	if _, err := wire.Decompress(&wire.Metadata{Encrypted: true}, nil, 1); !errors.Is(err, wire.ErrEncrypted) {
		t.Errorf("encrypted: %v", err)
	}
	if _, err := wire.Decompress(&wire.Metadata{Compression: 9}, nil, 1); !errors.Is(err, wire.ErrDecompress) {
		t.Errorf("unknown type: %v", err)
	}
	for _, kind := range kinds()[1:] {
		m := wire.Metadata{Compression: int32(kind), UncompressedSize: 100}
		for _, b := range [][]byte{nil, {1}, []byte("not compressed at all"), compress(t, kind, make([]byte, 100))[:3]} {
			if _, err := wire.Decompress(&m, b, 1000); !errors.Is(err, wire.ErrDecompress) {
				t.Errorf("%s of %q: %v", kind, b, err)
			}
		}
	}
}

func FuzzDecompress(f *testing.F) {
	plain := bytes.Repeat([]byte("0123456789"), 5)
	for _, kind := range kinds() {
		f.Add(int32(kind), uint32(len(plain)), compress(f, kind, plain))
		f.Add(int32(kind), uint32(0), compress(f, kind, nil))
	}
	f.Add(int32(99), uint32(1), plain)
	f.Fuzz(func(t *testing.T, kind int32, size uint32, b []byte) {
		const limit = 1 << 16
		m := wire.Metadata{Compression: kind, UncompressedSize: size}
		out, err := wire.Decompress(&m, b, limit)
		if err != nil {
			if !errors.Is(err, wire.ErrDecompress) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if kind != 0 && (len(out) != int(size) || size > limit) {
			t.Fatalf("%d bytes, %d announced", len(out), size)
		}
	})
}
