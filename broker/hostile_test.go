package broker_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// raw is a client that says what a test wants.
type raw struct {
	t      *testing.T
	nc     net.Conn
	frames *wire.FrameReader
}

func (d *daemon) raw() *raw {
	d.t.Helper()
	nc, err := net.Dial("tcp", d.address())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		d.t.Fatal(err)
	}
	return &raw{d.t, nc, wire.NewFrameReader(nc, 10<<20)}
}

func (r *raw) write(b []byte) {
	r.t.Helper()
	if _, err := r.nc.Write(b); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) command(c *pb.BaseCommand) {
	r.t.Helper()
	b, err := wire.AppendCommand(nil, c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(b)
}

func (r *raw) read() *pb.BaseCommand {
	r.t.Helper()
	f, err := r.frames.Next()
	if err != nil {
		r.t.Fatalf("read: %v", err)
	}
	c, err := wire.ParseCommand(f.Command)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *raw) connect() {
	r.t.Helper()
	r.command(&pb.BaseCommand{
		Type:    pb.BaseCommand_CONNECT.Enum(),
		Connect: &pb.CommandConnect{ClientVersion: proto.String("raw"), ProtocolVersion: proto.Int32(20)},
	})
	if c := r.read(); c.GetType() != pb.BaseCommand_CONNECTED {
		r.t.Fatalf("connect: %v", c)
	}
}

// ended checks that the daemon closes the connection.
func (r *raw) ended() {
	r.t.Helper()
	for {
		_, err := r.frames.Next()
		if err == nil {
			continue
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			r.t.Fatal("the connection was not closed")
		}
		return
	}
}

// Whatever one client sends, it ends that client only.
func TestGarbageEndsOneConnection(t *testing.T) {
	d := start(t, func(c *broker.Config) { c.MaxMessageSize = 1 << 20 })
	topic := newTopic()
	c := d.client()
	x := subscribe(t, c, topic, "sub", pulsar.Exclusive)
	p := newProducer(t, c, topic)

	size := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for name, bytes := range map[string][]byte{
		"text":              []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"noise":             bytes.Repeat([]byte{0xde, 0xad, 0xbe, 0xef}, 1000),
		"oversize":          append(size(1<<31), size(4)...),
		"too large":         append(size(2<<20), size(4)...),
		"command too large": append(size(100), size(1000)...),
		"empty":             append(size(0), size(0)...),
		"no command":        append(size(4), size(0)...),
		"not protobuf":      append(append(size(8), size(4)...), 0xff, 0xff, 0xff, 0xff),
	} {
		for _, shaken := range []bool{false, true} {
			r := d.raw()
			if shaken {
				r.connect()
			}
			r.write(bytes)
			// What is too short to be wrong is ended by the client's end of stream.
			if tcp, ok := r.nc.(*net.TCPConn); ok {
				if err := tcp.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
					t.Logf("%s: %v", name, err)
				}
			}
			r.ended()
		}
	}
	// Half a frame, then nothing more.
	r := d.raw()
	r.connect()
	r.write(append(size(1000), size(500)...))
	r.nc.Close()

	// A command before CONNECT.
	r = d.raw()
	r.command(&pb.BaseCommand{Type: pb.BaseCommand_PING.Enum(), Ping: &pb.CommandPing{}})
	r.ended()

	send(t, p, "m", 10)
	expect(t, x, "m", 0, 10)
}

func TestEveryRequestIsAnswered(t *testing.T) {
	d := start(t)
	r := d.raw()
	r.connect()
	for name, c := range map[string]*pb.BaseCommand{
		"transaction": {Type: pb.BaseCommand_NEW_TXN.Enum(), NewTxn: &pb.CommandNewTxn{RequestId: proto.Uint64(77)}},
		"watch": {Type: pb.BaseCommand_WATCH_TOPIC_LIST.Enum(), WatchTopicList: &pb.CommandWatchTopicList{
			RequestId: proto.Uint64(77), WatcherId: proto.Uint64(1), Namespace: proto.String("public/default"), TopicsPattern: proto.String("x"),
		}},
		"bad topic": {Type: pb.BaseCommand_PRODUCER.Enum(), Producer: &pb.CommandProducer{
			RequestId: proto.Uint64(77), ProducerId: proto.Uint64(1), Topic: proto.String("persistent://"),
		}},
		"no consumer": {Type: pb.BaseCommand_SEEK.Enum(), Seek: &pb.CommandSeek{RequestId: proto.Uint64(77), ConsumerId: proto.Uint64(9)}},
	} {
		r.command(c)
		got := r.read()
		if got.GetType() != pb.BaseCommand_ERROR || got.GetError().GetRequestId() != 77 || got.GetError().GetMessage() == "" {
			t.Errorf("%s: answered %v", name, got)
		}
	}
	// A command from the future: type 75, its field 1 the request id.
	future := []byte{0x08, 75, 0xda, 0x04, 2, 0x08, 77}
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(future)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(future)))
	r.write(append(frame, future...))
	if got := r.read(); got.GetError().GetRequestId() != 77 || got.GetError().GetError() != pb.ServerError_UnsupportedVersionError {
		t.Errorf("a command from the future: answered %v", got)
	}
	// The connection is still good.
	r.command(&pb.BaseCommand{Type: pb.BaseCommand_PING.Enum(), Ping: &pb.CommandPing{}})
	if got := r.read(); got.GetType() != pb.BaseCommand_PONG {
		t.Errorf("ping: %v", got)
	}
}

func TestDamagedMessageIsRefused(t *testing.T) {
	d := start(t)
	topic := newTopic()
	r := d.raw()
	r.connect()
	r.command(&pb.BaseCommand{Type: pb.BaseCommand_PRODUCER.Enum(), Producer: &pb.CommandProducer{
		Topic: proto.String(topic), ProducerId: proto.Uint64(1), RequestId: proto.Uint64(1),
	}})
	if c := r.read(); c.GetType() != pb.BaseCommand_PRODUCER_SUCCESS {
		t.Fatalf("producer: %v", c)
	}
	entry := wire.BuildEntry(&pb.MessageMetadata{
		ProducerName: proto.String("p"), SequenceId: proto.Uint64(0), PublishTime: proto.Uint64(1),
	}, []byte("hello"))
	entry[len(entry)-1]++
	r.write(wire.AppendSend(nil, wire.Send{ProducerID: 1, NumMessages: 1}, entry))
	if c := r.read(); c.GetSendError().GetError() != pb.ServerError_ChecksumError {
		t.Fatalf("a damaged message: answered %v", c)
	}
	entry[len(entry)-1]--
	r.write(wire.AppendSend(nil, wire.Send{ProducerID: 1, SequenceID: 1, NumMessages: 1}, entry))
	if c := r.read(); c.GetSendReceipt().GetSequenceId() != 1 {
		t.Fatalf("a sound message: answered %v", c)
	}
}

// A client that is silent and does not finish its handshake is cut off.
func TestSilentClientIsCutOff(t *testing.T) {
	d := start(t, func(c *broker.Config) { c.KeepAlive = 100 * time.Millisecond })
	r := d.raw()
	if _, err := r.nc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("without a handshake: %v", err)
	}
	r = d.raw()
	r.connect()
	if c := r.read(); c.GetType() != pb.BaseCommand_PING {
		t.Fatalf("want a ping, got %v", c)
	}
	r.ended()
}
