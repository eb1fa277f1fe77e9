package compaction_test

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"spoolctl/storage/compaction"
	"spoolctl/storage/record"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"google.golang.org/protobuf/proto"
)

// msg is a message as its producer sees it.
type msg struct {
	key   string // "" = none
	value string // "" = null
	gone  bool   // compacted out before, in a batch
}

// form is how an entry is stored.
type form int

const (
	single form = iota
	batch
	encryptedSingle
	encryptedBatch
	garbage
	marker
	chunkOf
)

// item is an entry of a test's topic.
type item struct {
	form     form
	msgs     []msg // one unless a batch
	compress pb.CompressionType
	broker   bool // the broker put its own metadata in front

	uuid         string // of a chunk
	chunk, total int32
}

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
}

func (it item) encode(t fataler) []byte {
	t.Helper()
	meta := &pb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(1), PublishTime: proto.Uint64(2),
		Properties: []*pb.KeyValue{{Key: proto.String("a"), Value: proto.String("b")}}}
	var payload []byte
	switch it.form {
	case garbage:
		return []byte{0x0e, 0x01, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1}
	case marker:
		meta.MarkerType = proto.Int32(10)
	case batch, encryptedBatch:
		meta.NumMessagesInBatch = proto.Int32(int32(len(it.msgs)))
		for i, m := range it.msgs {
			s := &pb.SingleMessageMetadata{SequenceId: proto.Uint64(uint64(i))}
			if m.gone {
				s.CompactedOut = proto.Bool(true)
			} else if m.key != "" {
				s.PartitionKey = proto.String(m.key)
			}
			if m.value == "" {
				s.NullValue = proto.Bool(len(m.key)%2 == 0) // an empty value deletes as well
			}
			payload = wire.AppendSingle(payload, s, []byte(m.value))
		}
	default:
		m := it.msgs[0]
		if m.key != "" {
			meta.PartitionKey = proto.String(m.key)
		}
		meta.NullValue = proto.Bool(m.value == "" && it.form == encryptedSingle)
		payload = []byte(m.value)
		if it.form == chunkOf {
			meta.Uuid, meta.ChunkId, meta.NumChunksFromMsg = proto.String(it.uuid), proto.Int32(it.chunk), proto.Int32(it.total)
		}
	}
	meta.UncompressedSize = proto.Uint32(uint32(len(payload)))
	if it.form == encryptedSingle || it.form == encryptedBatch {
		meta.EncryptionKeys = []*pb.EncryptionKeys{{Key: proto.String("k"), Value: []byte("v")}}
		payload = append([]byte("secret"), payload...)
	} else if it.compress != pb.CompressionType_NONE {
		meta.Compression = it.compress.Enum()
		payload = compress(t, it.compress, payload)
	}
	entry := wire.BuildEntry(meta, payload)
	if it.broker {
		entry = append([]byte{0x0e, 0x02, 0, 0, 0, 2, 8, 1}, entry...)
	}
	return entry
}

func compress(t fataler, kind pb.CompressionType, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch kind {
	case pb.CompressionType_LZ4:
		dst := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, dst, nil)
		if err != nil {
			t.Fatal(err)
		}
		return dst[:n]
	case pb.CompressionType_SNAPPY:
		return snappy.Encode(nil, b)
	case pb.CompressionType_ZLIB:
		w = zlib.NewWriter(&out)
	case pb.CompressionType_ZSTD:
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// topic is a source of encoded entries, ten a ledger.
type topic [][]byte

func position(i int) wire.Position { return wire.Position{Ledger: int64(i / 10), Entry: int64(i % 10)} }

func (tp topic) read(_ context.Context, from wire.Position, each func(compaction.Entry) error) error {
	for i, data := range tp {
		if p := position(i); !p.Less(from) {
			if err := each(compaction.Entry{Position: p, Header: record.Header{Messages: 1, TotalMessages: int64(i)}, Data: data}); err != nil {
				return fmt.Errorf("at %s: %w", p, err)
			}
		}
	}
	return nil
}

// compact runs a compaction and returns copies of what it emits.
func compact(tp topic, o compaction.Options) (out []compaction.Entry, stats compaction.Stats, err error) {
	o.Emit = func(e compaction.Entry) error {
		e.Data = bytes.Clone(e.Data)
		out = append(out, e)
		return nil
	}
	stats, err = compaction.Run(context.Background(), tp.read, o)
	return out, stats, err
}
