package load

import (
	"context"
	"fmt"
	"net"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// Conn is one connection to a broker, past the handshake. Reading and writing may go on at the same time.
type Conn struct {
	nc      net.Conn
	in      *wire.FrameReader
	request uint64
}

// Dial connects to host:port and shakes hands.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{nc: nc, in: wire.NewFrameReader(nc, wire.DefaultMaxMessageSize+wire.FramePadding)}
	version, protocol := "spoolctl-bench", int32(20)
	if _, err := c.ask(&pb.BaseCommand{Type: pb.BaseCommand_CONNECT.Enum(), Connect: &pb.CommandConnect{ClientVersion: &version, ProtocolVersion: &protocol}}, pb.BaseCommand_CONNECTED); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.nc.Close() }

// ask sends a command and waits for the answer of a type; ERROR becomes an error.
func (c *Conn) ask(cmd *pb.BaseCommand, want pb.BaseCommand_Type) (*pb.BaseCommand, error) {
	b, err := wire.AppendCommand(nil, cmd)
	if err != nil {
		return nil, err
	}
	if _, err := c.nc.Write(b); err != nil {
		return nil, err
	}
	for {
		f, err := c.in.Next()
		if err != nil {
			return nil, err
		}
		answer, err := wire.ParseCommand(f.Command)
		if err != nil {
			return nil, err
		}
		switch answer.GetType() {
		case want:
			return answer, nil
		case pb.BaseCommand_ERROR:
			return nil, fmt.Errorf("broker: %s: %s", answer.GetError().GetError(), answer.GetError().GetMessage())
		case pb.BaseCommand_PING:
			if _, err := c.nc.Write(wire.AppendPong(nil)); err != nil {
				return nil, err
			}
		}
	}
}

func (c *Conn) next() *uint64 {
	c.request++
	id := c.request
	return &id
}

// Producer makes a producer with the given id.
func (c *Conn) Producer(topic string, id uint64) error {
	_, err := c.ask(&pb.BaseCommand{Type: pb.BaseCommand_PRODUCER.Enum(), Producer: &pb.CommandProducer{Topic: &topic, ProducerId: &id, RequestId: c.next()}}, pb.BaseCommand_PRODUCER_SUCCESS)
	return err
}

// Subscribe attaches a consumer to a durable subscription that starts at the earliest message.
func (c *Conn) Subscribe(topic, subscription string, id uint64, typ pb.CommandSubscribe_SubType) error {
	_, err := c.ask(&pb.BaseCommand{Type: pb.BaseCommand_SUBSCRIBE.Enum(), Subscribe: &pb.CommandSubscribe{
		Topic: &topic, Subscription: &subscription, ConsumerId: &id, RequestId: c.next(), SubType: &typ,
		InitialPosition: pb.CommandSubscribe_Earliest.Enum(),
	}}, pb.BaseCommand_SUCCESS)
	return err
}

// Entry builds what a producer sends as one message of a payload, from the checksum magic on.
func Entry(payload []byte, publishTime uint64) []byte {
	name, seq := "bench", uint64(0)
	return wire.BuildEntry(&pb.MessageMetadata{ProducerName: &name, SequenceId: &seq, PublishTime: &publishTime}, payload)
}
