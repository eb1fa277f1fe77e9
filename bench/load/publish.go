package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Publish is a run of publishing over one connection.
type Publish struct {
	Addr     string
	Topics   []string // one producer each; messages go round
	Payload  []byte
	Messages int
	Window   int     // messages without a receipt, at most
	Rate     float64 // messages per second; 0 = as fast as the window allows
}

// Result is what a run measured.
type Result struct {
	Messages int
	Took     time.Duration
	Latency  *hdrhistogram.Histogram // microseconds; nil when not measured
}

// PerSecond returns messages per second.
func (r Result) PerSecond() float64 { return float64(r.Messages) / r.Took.Seconds() }

// flushBytes is how much is gathered before it is written to the socket.
const flushBytes = 64 << 10

// Run publishes and waits for every receipt.
func (p Publish) Run(ctx context.Context) (Result, error) {
	c, err := Dial(ctx, p.Addr)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	for i, t := range p.Topics {
		if err := c.Producer(t, uint64(i)); err != nil {
			return Result{}, err
		}
	}
	entry := Entry(p.Payload, uint64(time.Now().UnixMilli()))
	w := newWindow(p.Window)
	start := time.Now()
	var writeErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		writeErr = p.write(ctx, c, entry, w)
		if writeErr != nil {
			c.Close()
		}
	})
	err = p.receipts(c, w)
	w.close()
	wg.Wait()
	if writeErr != nil {
		err = writeErr
	}
	return Result{Messages: p.Messages, Took: time.Since(start)}, err
}

func (p Publish) write(ctx context.Context, c *Conn, entry []byte, w *window) error {
	buf := make([]byte, 0, flushBytes+len(entry)+128)
	start := time.Now()
	for i := 0; i < p.Messages; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := w.take(min(p.Messages-i, 256))
		if n == 0 {
			return nil
		}
		if p.Rate > 0 {
			n = p.paced(start, i, n, w)
		}
		for ; n > 0; n-- {
			buf = wire.AppendSend(buf, wire.Send{ProducerID: uint64(i % len(p.Topics)), SequenceID: uint64(i / len(p.Topics)), NumMessages: 1}, entry)
			i++
			if len(buf) >= flushBytes {
				if _, err := c.nc.Write(buf); err != nil {
					return err
				}
				buf = buf[:0]
			}
		}
		if _, err := c.nc.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	return nil
}

// paced waits until the next message is due, gives back what is not due yet and returns how many are.
func (p Publish) paced(start time.Time, sent, n int, w *window) int {
	for {
		due := int(time.Since(start).Seconds()*p.Rate) - sent
		if due > 0 {
			due = min(due, n)
			w.give(n - due)
			return due
		}
		time.Sleep(200 * time.Microsecond)
	}
}

func (p Publish) receipts(c *Conn, w *window) error {
	for got := 0; got < p.Messages; {
		f, err := c.in.Next()
		if err != nil {
			return err
		}
		typ, _, err := wire.CommandType(f.Command)
		if err != nil {
			return err
		}
		switch typ {
		case pb.BaseCommand_SEND_RECEIPT:
			got++
			w.give(1)
		case pb.BaseCommand_PING:
			if _, err := c.nc.Write(wire.AppendPong(nil)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("publish: broker sent %s", typ)
		}
	}
	return nil
}

// window bounds what is under way.
type window struct {
	mu     sync.Mutex
	room   sync.Cond
	free   int
	closed bool
}

func newWindow(n int) *window {
	w := &window{free: n}
	w.room.L = &w.mu
	return w
}

// take waits for room and returns how much of n may go; 0 when the window is closed.
func (w *window) take(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.free == 0 && !w.closed {
		w.room.Wait()
	}
	if w.closed {
		return 0
	}
	n = min(n, w.free)
	w.free -= n
	return n
}

func (w *window) give(n int) {
	w.mu.Lock()
	w.free += n
	w.mu.Unlock()
	w.room.Signal()
}

func (w *window) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.room.Broadcast()
}
