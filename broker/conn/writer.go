package conn

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/topic"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

const (
	chunkSize = 64 << 10
	// byReference is the size from which an entry is written from where it is instead
	// of being copied.
	byReference = 8 << 10
	// Above highWater bytes no more messages are dispatched to the connection, until it
	// fell to lowWater; above readStop the client is not read, above overload messages
	// that nobody can read again are dropped.
	highWater = 4 << 20
	lowWater  = 1 << 20
	readStop  = 16 << 20
	overload  = 64 << 20
	lastFlush = 2 * time.Second // for what is queued when the connection ends
)

// writer gathers frames and writes them in one go per wake-up.
type writer struct {
	nc     net.Conn
	chunks *sync.Pool

	mu     sync.Mutex
	queue  net.Buffers // complete segments
	owned  []*[]byte   // chunks to give back when the segments are written
	tail   *[]byte     // the chunk being filled; nil when none
	closed bool

	size    atomic.Int64 // bytes queued or being written
	starved atomic.Bool  // somebody asked for room and found none
	wake    chan struct{}
	room    chan struct{} // told when size fell to lowWater
	spare   net.Buffers
	spareOw []*[]byte
}

func newWriter(nc net.Conn, chunks *sync.Pool) *writer {
	return &writer{nc: nc, chunks: chunks, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// writable says whether more messages may be queued.
func (w *writer) writable() bool {
	if w.size.Load() < highWater {
		return true
	}
	w.starved.Store(true)
	return w.size.Load() < highWater
}

// space gives the chunk to append n bytes to; the caller holds mu.
func (w *writer) space(n int) *[]byte {
	if w.tail != nil && cap(*w.tail)-len(*w.tail) < n && len(*w.tail) > 0 {
		w.seal()
	}
	if w.tail == nil {
		w.tail = w.chunks.Get().(*[]byte)
	}
	return w.tail
}

// seal makes the chunk being filled a segment; the caller holds mu.
func (w *writer) seal() {
	if w.tail == nil || len(*w.tail) == 0 {
		return
	}
	w.queue = append(w.queue, *w.tail)
	w.owned = append(w.owned, w.tail)
	w.tail = nil
}

// frame queues what add appends, about n bytes; the caller holds mu.
func (w *writer) frame(n int, add func(dst []byte) []byte) {
	b := w.space(n)
	before := len(*b)
	*b = add(*b)
	w.size.Add(int64(len(*b) - before))
}

// signal wakes the writing goroutine.
func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// command queues a control command. It cannot fail: all required fields are set by the
// callers, which a test checks.
func (w *writer) command(cmd *pb.BaseCommand) {
	w.mu.Lock()
	if !w.closed {
		w.frame(512, func(dst []byte) []byte {
			out, err := wire.AppendCommand(dst, cmd)
			if err != nil {
				return dst
			}
			return out
		})
	}
	w.mu.Unlock()
	w.signal()
}

// small queues a short frame.
func (w *writer) small(add func(dst []byte) []byte) {
	w.mu.Lock()
	if !w.closed {
		w.frame(64, add)
	}
	w.mu.Unlock()
	w.signal()
}

// receipts queues receipts.
func (w *writer) receipts(rs []topic.Receipt) {
	w.mu.Lock()
	if !w.closed {
		for i := range rs {
			r := &rs[i]
			b := w.space(64)
			before := len(*b)
			*b = wire.AppendSendReceipt(*b, r.ProducerID, r.Sequence, r.Highest, r.Position)
			w.size.Add(int64(len(*b) - before))
		}
	}
	w.mu.Unlock()
	w.signal()
}

// messages queues messages with their entries.
func (w *writer) messages(batch []dispatch.Delivery) {
	w.mu.Lock()
	if !w.closed {
		for i := range batch {
			d := &batch[i]
			n := 128 + 10*len(d.AckSet)
			if len(d.Data) < byReference {
				n += len(d.Data)
			}
			b := w.space(n)
			before := len(*b)
			*b = wire.AppendMessageHeader(*b, d.Message, len(d.Data))
			if len(d.Data) < byReference {
				*b = append(*b, d.Data...)
				w.size.Add(int64(len(*b) - before))
				continue
			}
			w.size.Add(int64(len(*b) - before + len(d.Data)))
			w.seal()
			w.queue = append(w.queue, d.Data)
		}
	}
	w.mu.Unlock()
	w.signal()
}

// flush writes what is queued until nothing is. timeout bounds each write.
func (w *writer) flush(timeout time.Duration) error {
	for {
		w.mu.Lock()
		w.seal()
		if len(w.queue) == 0 {
			w.mu.Unlock()
			return nil
		}
		queue, owned := w.queue, w.owned
		w.queue, w.owned = w.spare, w.spareOw
		w.mu.Unlock()
		if err := w.nc.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		segments := queue // WriteTo eats its receiver
		n, err := segments.WriteTo(w.nc)
		clear(queue)
		for i, c := range owned {
			if cap(*c) == chunkSize {
				*c = (*c)[:0]
				w.chunks.Put(c)
			}
			owned[i] = nil
		}
		w.spare, w.spareOw = queue[:0], owned[:0]
		if left := w.size.Add(-n); left <= lowWater {
			select {
			case w.room <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return err
		}
	}
}

// relieved says, once, that there is room again for somebody who found none.
func (w *writer) relieved() bool {
	return w.size.Load() <= lowWater && w.starved.CompareAndSwap(true, false)
}

// close drops what comes from now on.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
}
