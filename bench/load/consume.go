package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Consume is a run of receiving over one connection.
type Consume struct {
	Addr         string
	Subscription Subscription
	Goal         *Goal // consumers that share one end together
	Permits      int   // messages under way, at most
	AckEvery     int   // 1 = every message, by itself; 2 = every other one; 0 = none

	Latency *hdrhistogram.Histogram // microseconds since the stamp; nil = not measured
	Count   *atomic.Int64           // counts messages; nil = nobody looks
	Ready   func()                  // called when messages can come
}

// Run receives until the goal is reached. It returns when the broker has taken the acknowledgements.
func (r Consume) Run(ctx context.Context) error {
	c, err := Dial(ctx, r.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.closeWith(ctx)()
	go func() { // ends with ctx, which ends with Run
		select {
		case <-r.Goal.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := c.Subscribe(r.Subscription); err != nil {
		return err
	}
	if _, err := c.nc.Write(wire.AppendFlow(nil, 0, uint32(r.Permits))); err != nil {
		return err
	}
	r.Ready()
	switch err := r.receive(c); {
	case r.Goal.reached():
		return nil
	case err != nil:
		return fmt.Errorf("%s: %d messages are missing: %w", r.Subscription.Name, r.Goal.Left(), err)
	}
	r.Goal.at = time.Now()
	err = c.settle()
	close(r.Goal.done)
	return err
}

// receive returns nil only for the consumer that reaches the goal.
func (r Consume) receive(c *Conn) error {
	var out []byte
	taken, n := 0, 0
	for last := false; !last; {
		f, err := c.in.Next()
		if err != nil {
			return err
		}
		typ, body, err := wire.CommandType(f.Command)
		if err != nil {
			return err
		}
		switch typ {
		case pb.BaseCommand_MESSAGE:
			m, err := wire.ParseMessage(body)
			if err != nil {
				return err
			}
			if r.Latency != nil {
				if err := record(r.Latency, f.Payload); err != nil {
					return err
				}
			}
			if n++; r.AckEvery > 0 && n%r.AckEvery == 0 {
				out = appendAck(out, m.Position)
			}
			if taken++; taken >= r.Permits/2 {
				out = wire.AppendFlow(out, 0, uint32(taken))
				taken = 0
			}
			if r.Count != nil {
				r.Count.Add(1)
			}
			last = r.Goal.one()
		case pb.BaseCommand_PING:
			out = wire.AppendPong(out)
		case pb.BaseCommand_ACTIVE_CONSUMER_CHANGE:
		default:
			return fmt.Errorf("consume: broker sent %s", typ)
		}
		if len(out) >= flushBytes || last || len(out) > 0 && c.in.Buffered() == 0 {
			if _, err := c.nc.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	return nil
}

func appendAck(dst []byte, at wire.Position) []byte {
	return wire.AppendAck(dst, &wire.Ack{ValidationError: -1, IDs: []wire.AckID{{Position: at, Partition: -1, Batch: -1}}})
}

func record(h *hdrhistogram.Histogram, entry []byte) error {
	parts, err := wire.SplitEntry(entry)
	if err != nil {
		return err
	}
	return h.RecordValue(max(1, Age(parts.Payload).Microseconds()))
}
