package inspect_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hamba/avro/v2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"google.golang.org/protobuf/proto"
)

// TestRich runs verbs on a spool with schemas, chunks, compression, delays,
// deduplication and policies. Run with -rewrite to take over what has changed.
func TestRich(t *testing.T) {
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	rich(m)
	m.stop()
	s := open(t, inspect.Options{Dir: "spool", FS: fs})
	datadriven.RunTest(t, "testdata/rich", func(t *testing.T, d *datadriven.TestData) string {
		v := &verbTest{T: t, d: d, s: s}
		if err := v.run(context.Background()); err != nil {
			fmt.Fprintf(&v.out, "error: %v\n", err)
		}
		return v.out.String()
	})
	if p := s.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

const orderAvro = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"what","type":["null","string"]},{"name":"raw","type":"bytes"}]}`

// rich fills a spool with what the rarer verbs have to show.
func rich(m *maker) {
	ctx := context.Background()
	put := func(k storage.Kind, path string, v any) {
		if err := m.PutResource(ctx, k, path, v); err != nil {
			m.Fatal(err)
		}
	}
	put(storage.KindTenant, "public", storage.Tenant{Created: base()})
	put(storage.KindNamespace, "public/default", storage.Namespace{Created: base(), Policies: map[string]json.RawMessage{
		"retention_policies": json.RawMessage(`{"retentionTimeInMinutes":60,"retentionSizeInMB":-1}`), "message_ttl_in_seconds": json.RawMessage(`3600`),
	}})
	put(storage.KindTopicPolicies, "persistent://public/default/orders", map[string]any{"maxProducers": 3})
	put(storage.KindSettings, "broker", map[string]any{"maxTopics": "9"})
	for _, sc := range []record.Schema{
		{Type: int32(pb.Schema_Avro), Name: "orders", Data: []byte(orderAvro), Timestamp: base(), User: "ann"},
		{Type: int32(pb.Schema_Json), Name: "orders", Data: []byte(`{"type":"record","name":"O","fields":[]}`), Timestamp: base()},
		{Type: int32(pb.Schema_Avro), Name: "orders", Data: []byte(`{"type":`), Timestamp: base()},
	} {
		if _, err := m.PutSchema(ctx, "public/default/orders", sc); err != nil {
			m.Fatal(err)
		}
	}

	o := m.topic("orders")
	o.cursor("sub")
	body, err := avro.Marshal(avro.MustParse(orderAvro), map[string]any{"id": int64(7), "what": "tea", "raw": []byte{0, 1}})
	if err != nil {
		m.Fatal(err)
	}
	version := func(v uint64) func(*pb.MessageMetadata) {
		return func(meta *pb.MessageMetadata) { meta.SchemaVersion = binary.BigEndian.AppendUint64(nil, v) }
	}
	o.custom(body, version(0))
	o.custom([]byte(`{"id":8}`), version(1))
	o.custom([]byte(`whatever`), version(2))
	o.custom([]byte(`no version`), nil)
	o.custom([]byte("\xff\x00"), version(9))
	o.custom(nil, func(meta *pb.MessageMetadata) { meta.NullValue = proto.Bool(true) })

	for _, c := range []pb.CompressionType{pb.CompressionType_LZ4, pb.CompressionType_ZLIB, pb.CompressionType_ZSTD, pb.CompressionType_SNAPPY} {
		text := bytes.Repeat([]byte(c.String()+" "), 8)
		m.topic("packed").custom(compress(m, c, text), func(meta *pb.MessageMetadata) {
			meta.Compression, meta.UncompressedSize = &c, proto.Uint32(uint32(len(text)))
		})
	}
	m.topic("packed").custom([]byte("secret"), func(meta *pb.MessageMetadata) {
		meta.EncryptionKeys = []*pb.EncryptionKeys{{Key: proto.String("k"), Value: []byte("v")}}
	})

	large := m.topic("large")
	large.cursor("sub")
	large.chunk("a", 0, 3, "first ")
	large.chunk("b", 0, 2, "lost ")
	large.chunk("a", 1, 3, "second ")
	large.single("between", "")
	large.chunk("a", 1, 3, "second ") // sent again
	large.chunk("a", 2, 3, "third")
	large.chunk("c", 1, 2, "its first chunk was trimmed")

	late := m.topic("late")
	late.cursor("sub")
	late.custom([]byte("now"), nil)
	late.custom([]byte("tomorrow"), func(meta *pb.MessageMetadata) { meta.DeliverAtTime = proto.Int64(now().Add(time.Hour).UnixMilli()) })
	late.custom([]byte("over"), func(meta *pb.MessageMetadata) { meta.DeliverAtTime = proto.Int64(now().Add(-time.Hour).UnixMilli()) })

	d := m.topic("dedup")
	p := d.ProducerState("careful")
	for i := range 3 {
		meta := &pb.MessageMetadata{ProducerName: proto.String("careful"), SequenceId: proto.Uint64(uint64(10 + i)), PublishTime: proto.Uint64(uint64(publishMs(i)))}
		err := d.Append(storage.Append{Data: wire.BuildEntry(meta, []byte("x")), PublishTime: publishMs(i), Messages: 1, Producer: p, Sequence: uint64(10 + i)})
		if err != nil {
			m.Fatal(err)
		}
		d.sent++
	}
	for _, t := range m.tops {
		t.positions()
	}
}

// custom publishes one message with changed metadata.
func (t *topicMaker) custom(payload []byte, change func(*pb.MessageMetadata)) {
	ms := publishMs(t.sent)
	meta := &pb.MessageMetadata{ProducerName: proto.String("p1"), SequenceId: proto.Uint64(uint64(t.sent)), PublishTime: proto.Uint64(uint64(ms))}
	if change != nil {
		change(meta)
	}
	t.append(wire.BuildEntry(meta, payload), ms, 1)
}

// chunk publishes one chunk of a message.
func (t *topicMaker) chunk(uuid string, i, n int32, payload string) {
	t.custom([]byte(payload), func(meta *pb.MessageMetadata) {
		meta.Uuid, meta.ChunkId, meta.NumChunksFromMsg = &uuid, &i, &n
	})
}

func compress(t testing.TB, c pb.CompressionType, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch c {
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
