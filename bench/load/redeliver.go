package load

import (
	"context"
	"fmt"
	"time"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// Redeliver receives a number of messages, asks for all of them again and again without acknowledging one, and
// returns how long the repetitions took.
func Redeliver(ctx context.Context, addr string, sub Subscription, messages, times int) (time.Duration, error) {
	c, err := Dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	defer c.closeWith(ctx)()
	if err := c.Subscribe(sub); err != nil {
		return 0, err
	}
	id := uint64(0)
	again, err := wire.AppendCommand(nil, &pb.BaseCommand{
		Type: pb.BaseCommand_REDELIVER_UNACKNOWLEDGED_MESSAGES.Enum(), RedeliverUnacknowledgedMessages: &pb.CommandRedeliverUnacknowledgedMessages{ConsumerId: &id},
	})
	if err != nil {
		return 0, err
	}
	flow := wire.AppendFlow(nil, id, uint32(messages))
	if _, err := c.nc.Write(flow); err != nil {
		return 0, err
	}
	if err := c.receive(messages, nil); err != nil {
		return 0, err
	}
	start := time.Now()
	for range times {
		if _, err := c.nc.Write(append(flow, again...)); err != nil {
			return 0, err
		}
		if err := c.receive(messages, nil); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// receive takes n messages and shows the position of each.
func (c *Conn) receive(n int, each func(wire.Position)) error {
	for got := 0; got < n; {
		f, err := c.in.Next()
		if err != nil {
			return fmt.Errorf("after %d of %d messages: %w", got, n, err)
		}
		typ, body, err := wire.CommandType(f.Command)
		if err != nil {
			return err
		}
		switch typ {
		case pb.BaseCommand_MESSAGE:
			got++
			m, err := wire.ParseMessage(body)
			if err != nil {
				return err
			}
			if each != nil {
				each(m.Position)
			}
		case pb.BaseCommand_PING:
			if _, err := c.nc.Write(wire.AppendPong(nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// AckOne attaches to a subscription, receives one message, calls before, and acknowledges the message.
func AckOne(ctx context.Context, addr string, sub Subscription, before func() error) error {
	c, err := Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	defer c.closeWith(ctx)()
	if err := c.Subscribe(sub); err != nil {
		return err
	}
	if _, err := c.nc.Write(wire.AppendFlow(nil, 0, 1)); err != nil {
		return err
	}
	var out []byte
	if err := c.receive(1, func(at wire.Position) { out = appendAck(nil, at) }); err != nil {
		return err
	}
	if err := before(); err != nil {
		return err
	}
	if _, err := c.nc.Write(out); err != nil {
		return err
	}
	return c.settle()
}
