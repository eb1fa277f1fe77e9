package compaction

import (
	"bytes"
	"encoding/binary"

	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"google.golang.org/protobuf/proto"
)

// rebuilder writes batches anew. It keeps its buffers.
type rebuilder struct {
	payload []byte
	zstd    *zstd.Encoder
}

// batch returns the entry with the messages that do not stay marked as compacted out and empty.
func (r *rebuilder) batch(data []byte, d *decoder, stays func(i int) bool) ([]byte, error) {
	meta, err := wire.ParseMetadataFull(d.parts.Metadata)
	if err != nil {
		return nil, err
	}
	r.payload = r.payload[:0]
	for s, err := range wire.Unbatch(&d.meta, d.payload) {
		switch {
		case err != nil:
			return nil, err
		case stays(int(s.Index)):
			r.payload = wire.AppendSingle(r.payload, s.Meta, s.Payload)
		default:
			r.payload = wire.AppendSingle(r.payload, &pb.SingleMessageMetadata{CompactedOut: proto.Bool(true)}, nil)
		}
	}
	meta.UncompressedSize = proto.Uint32(uint32(len(r.payload)))
	payload, err := r.compress(meta.GetCompression(), r.payload)
	if err != nil {
		return nil, err
	}
	if len(payload) == 0 || len(payload) >= len(r.payload) {
		meta.Compression, payload = nil, r.payload
	}
	entry := wire.BuildEntry(meta, payload)
	if d.parts.Broker == nil {
		return entry, nil
	}
	const magicLen = 2
	broker := binary.BigEndian.AppendUint32(bytes.Clone(data[:magicLen]), uint32(len(d.parts.Broker)))
	return append(append(broker, d.parts.Broker...), entry...), nil
}

// compress returns nothing when the payload is better left as it is.
func (r *rebuilder) compress(kind pb.CompressionType, b []byte) ([]byte, error) {
	switch kind {
	case pb.CompressionType_LZ4:
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, out, nil)
		return out[:n], err
	case pb.CompressionType_ZLIB:
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		err := w.Close()
		return out.Bytes(), err
	case pb.CompressionType_ZSTD:
		if r.zstd == nil {
			var err error
			if r.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
				return nil, err
			}
		}
		return r.zstd.EncodeAll(b, nil), nil
	case pb.CompressionType_SNAPPY:
		return snappy.Encode(nil, b), nil
	}
	return nil, nil
}
