package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Consume is a run of receiving over one connection, acknowledging each message by itself.
type Consume struct {
	Addr         string
	Topic        string
	Subscription string
	Type         pb.CommandSubscribe_SubType
	Messages     int
	Permits      int  // messages under way, at most
	Latency      bool // payloads start with the time they were sent (Stamp)
	Ready        func()
}

// Stamp writes the time into a payload, for measuring latency.
func Stamp(payload []byte) { binary.BigEndian.PutUint64(payload, uint64(time.Now().UnixNano())) }

// Run receives and acknowledges; the time counts from the first message.
func (r Consume) Run(ctx context.Context) (Result, error) {
	c, err := Dial(ctx, r.Addr)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := c.Subscribe(r.Topic, r.Subscription, 1, r.Type); err != nil {
		return Result{}, err
	}
	if _, err := c.nc.Write(wire.AppendFlow(nil, 1, uint32(r.Permits))); err != nil {
		return Result{}, err
	}
	if r.Ready != nil {
		r.Ready()
	}
	res := Result{}
	if r.Latency {
		res.Latency = hdrhistogram.New(1, 60_000_000, 3)
	}
	var start time.Time
	var out []byte
	taken := 0
	for res.Messages < r.Messages {
		f, err := c.in.Next()
		if err != nil {
			return res, fmt.Errorf("after %d of %d messages: %w", res.Messages, r.Messages, err)
		}
		typ, body, err := wire.CommandType(f.Command)
		if err != nil {
			return res, err
		}
		switch typ {
		case pb.BaseCommand_MESSAGE:
			m, err := wire.ParseMessage(body)
			if err != nil {
				return res, err
			}
			if res.Messages == 0 {
				start = time.Now()
			}
			res.Messages++
			if r.Latency {
				if err := r.record(res.Latency, f.Payload); err != nil {
					return res, err
				}
			}
			out = wire.AppendAck(out, &wire.Ack{ConsumerID: 1, ValidationError: -1, IDs: []wire.AckID{{Position: m.Position, Partition: -1, Batch: -1}}})
			if taken++; taken >= r.Permits/2 {
				out = wire.AppendFlow(out, 1, uint32(taken))
				taken = 0
			}
		case pb.BaseCommand_PING:
			out = wire.AppendPong(out)
		case pb.BaseCommand_ACTIVE_CONSUMER_CHANGE:
		default:
			return res, fmt.Errorf("consume: broker sent %s", typ)
		}
		if len(out) >= flushBytes || c.in.Buffered() == 0 || res.Messages == r.Messages {
			if _, err := c.nc.Write(out); err != nil {
				return res, err
			}
			out = out[:0]
		}
	}
	res.Took = time.Since(start)
	return res, nil
}

func (r Consume) record(h *hdrhistogram.Histogram, entry []byte) error {
	parts, err := wire.SplitEntry(entry)
	if err != nil {
		return err
	}
	sent := int64(binary.BigEndian.Uint64(parts.Payload))
	return h.RecordValue(max(1, (time.Now().UnixNano()-sent)/1000))
}
