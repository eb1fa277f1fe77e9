package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

const (
	flushBytes = 64 << 10              // gathered before they are written to the socket
	sendAtOnce = 256                   // messages, before the window is asked again
	lagCheck   = 50 * time.Microsecond // between two looks at consumers that are behind
)

// Publish is a run of publishing over one connection.
type Publish struct {
	Addr     string
	Topics   []string // one producer each; messages go round
	Ring     *Ring
	Messages int
	Window   int     // messages without a receipt, at most
	Rate     float64 // messages per second, each stamped with the time it was due; 0 = as fast as the window allows

	Receipts  *atomic.Int64   // counts receipts; nil = nobody looks
	Consumers []*atomic.Int64 // counts of messages received, where a broker drops what a consumer is too slow for
	Lag       int64           // how far the slowest of them may be behind
}

// Published is what a run measured.
type Published struct {
	Start time.Time // of the first message
	Took  time.Duration
}

// Run publishes and waits for every receipt. Making the producers is not part of the time.
func (p Publish) Run(ctx context.Context) (Published, error) {
	c, err := Dial(ctx, p.Addr)
	if err != nil {
		return Published{}, err
	}
	defer c.Close()
	defer c.closeWith(ctx)()
	if err := c.Producers(p.Topics); err != nil {
		return Published{}, err
	}
	w := newWindow(p.Window)
	start := time.Now()
	var writeErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		if writeErr = p.write(ctx, c, w); writeErr != nil {
			c.Close()
		}
	})
	err = p.receipts(c, w)
	took := time.Since(start)
	w.close()
	wg.Wait()
	if writeErr != nil {
		err = writeErr
	}
	return Published{Start: start, Took: took}, err
}

func (p Publish) write(ctx context.Context, c *Conn, w *window) error {
	var buf []byte
	var pacer *Pacer
	if p.Rate > 0 {
		pacer = NewPacer(p.Rate)
	}
	for i := 0; i < p.Messages; {
		n := min(p.Messages-i, sendAtOnce)
		if pacer != nil {
			due, err := pacer.Wait(ctx, i)
			if err != nil {
				return err
			}
			n = min(n, due)
		}
		if err := p.awaitConsumers(ctx, i); err != nil {
			return err
		}
		if n = w.take(n); n == 0 {
			return ctx.Err() // the run is over
		}
		for ; n > 0; n-- {
			entry := p.Ring.Entry(i)
			if pacer != nil {
				payload := p.Ring.Payload(i)
				Stamp(payload, pacer.Due(i))
				entry = Entry(payload, time.Now())
			}
			buf = wire.AppendSend(buf, wire.Send{ProducerID: uint64(i % len(p.Topics)), SequenceID: uint64(i / len(p.Topics)), NumMessages: 1}, entry)
			i++
			if len(buf) >= flushBytes || n == 1 {
				if _, err := c.nc.Write(buf); err != nil {
					return err
				}
				buf = buf[:0]
			}
		}
	}
	return nil
}

// awaitConsumers waits while a consumer is too far behind.
func (p Publish) awaitConsumers(ctx context.Context, sent int) error {
	for _, got := range p.Consumers {
		for int64(sent)-got.Load() > p.Lag {
			if err := ctx.Err(); err != nil {
				return err
			}
			time.Sleep(lagCheck)
		}
	}
	return nil
}

func (p Publish) receipts(c *Conn, w *window) error {
	given := 0
	for got := 0; got < p.Messages; {
		f, err := c.in.Next()
		if err != nil {
			return fmt.Errorf("after %d of %d receipts: %w", got, p.Messages, err)
		}
		typ, _, err := wire.CommandType(f.Command)
		if err != nil {
			return err
		}
		switch typ {
		case pb.BaseCommand_SEND_RECEIPT:
			got++
			if given++; given == sendAtOnce || c.in.Buffered() == 0 {
				w.give(given)
				if p.Receipts != nil {
					p.Receipts.Add(int64(given))
				}
				given = 0
			}
		case pb.BaseCommand_PING:
			if _, err := c.nc.Write(wire.AppendPong(nil)); err != nil {
				return err
			}
		case pb.BaseCommand_SEND_ERROR:
			cmd, err := wire.ParseCommand(f.Command)
			if err != nil {
				return err
			}
			return fmt.Errorf("broker refuses a message: %s: %s", cmd.GetSendError().GetError(), cmd.GetSendError().GetMessage())
		default:
			return fmt.Errorf("publish: broker sent %s", typ)
		}
	}
	return nil
}
