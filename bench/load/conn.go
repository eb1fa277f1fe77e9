package load

import (
	"context"
	"fmt"
	"io"
	"net"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// askAtOnce is how many requests wait for their answers together.
const askAtOnce = 256

// Conn is one connection to a broker, past the handshake. Reading and writing may go on at the same time.
type Conn struct {
	nc      io.ReadWriteCloser
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
	hello := &pb.BaseCommand{Type: pb.BaseCommand_CONNECT.Enum(), Connect: &pb.CommandConnect{ClientVersion: &version, ProtocolVersion: &protocol}}
	if err := c.ask(1, func(int) *pb.BaseCommand { return hello }, pb.BaseCommand_CONNECTED); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() { c.nc.Close() }

// closeWith closes the connection when ctx ends, which ends waiting for the broker; call the result when done.
func (c *Conn) closeWith(ctx context.Context) (done func() bool) {
	return context.AfterFunc(ctx, c.Close)
}

// ask sends n commands and waits for as many answers of a type; ERROR becomes an error.
func (c *Conn) ask(n int, command func(i int) *pb.BaseCommand, want pb.BaseCommand_Type) error {
	var out []byte
	for i := 0; i < n; {
		out = out[:0]
		asked := 0
		for ; asked < askAtOnce && i < n; asked++ {
			var err error
			if out, err = wire.AppendCommand(out, command(i)); err != nil {
				return err
			}
			i++
		}
		if _, err := c.nc.Write(out); err != nil {
			return err
		}
		for ; asked > 0; asked-- {
			if err := c.answer(want); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Conn) answer(want pb.BaseCommand_Type) error {
	for {
		f, err := c.in.Next()
		if err != nil {
			return err
		}
		answer, err := wire.ParseCommand(f.Command)
		if err != nil {
			return err
		}
		switch answer.GetType() {
		case want:
			return nil
		case pb.BaseCommand_ERROR:
			return fmt.Errorf("broker: %s: %s", answer.GetError().GetError(), answer.GetError().GetMessage())
		case pb.BaseCommand_PING:
			if _, err := c.nc.Write(wire.AppendPong(nil)); err != nil {
				return err
			}
		}
	}
}

// settle waits until the broker has worked through everything that was sent on this connection.
func (c *Conn) settle() error {
	ping := &pb.BaseCommand{Type: pb.BaseCommand_PING.Enum(), Ping: &pb.CommandPing{}}
	return c.ask(1, func(int) *pb.BaseCommand { return ping }, pb.BaseCommand_PONG)
}

func (c *Conn) next() *uint64 {
	c.request++
	id := c.request
	return &id
}

// Producers makes a producer for each topic; the place in the list is its id.
func (c *Conn) Producers(topics []string) error {
	return c.ask(len(topics), func(i int) *pb.BaseCommand {
		id := uint64(i)
		return &pb.BaseCommand{Type: pb.BaseCommand_PRODUCER.Enum(), Producer: &pb.CommandProducer{Topic: &topics[i], ProducerId: &id, RequestId: c.next()}}
	}, pb.BaseCommand_PRODUCER_SUCCESS)
}

// Subscription names what a consumer attaches to.
type Subscription struct {
	Topic, Name string
	Type        pb.CommandSubscribe_SubType
}

// Subscribe attaches a consumer to each subscription, all durable and from the earliest message on; the place in the list
// is the consumer's id.
func (c *Conn) Subscribe(subs ...Subscription) error {
	return c.ask(len(subs), func(i int) *pb.BaseCommand {
		id := uint64(i)
		return &pb.BaseCommand{Type: pb.BaseCommand_SUBSCRIBE.Enum(), Subscribe: &pb.CommandSubscribe{
			Topic: &subs[i].Topic, Subscription: &subs[i].Name, ConsumerId: &id, RequestId: c.next(), SubType: &subs[i].Type,
			InitialPosition: pb.CommandSubscribe_Earliest.Enum(),
		}}
	}, pb.BaseCommand_SUCCESS)
}

// CreateSubscriptions makes subscriptions that nobody is attached to.
func CreateSubscriptions(ctx context.Context, addr string, subs ...Subscription) error {
	c, err := Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	defer c.closeWith(ctx)()
	return c.Subscribe(subs...)
}
