package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"spoolctl/bench/load"
	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

const (
	batchMessages = 128
	inFlight      = 8
	socketWrite   = 64 << 10
	entryPrefix   = 'e'
)

// Pebble is the bare storage engine with the spool's own options: the most that it gives.
type Pebble struct {
	db  *pebble.DB
	dir string
}

// OpenPebble makes an empty database in dir.
func OpenPebble(dir string) (*Pebble, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	db, err := pebble.Open(dir, storage.EngineOptions())
	return &Pebble{db, dir}, err
}

// Close closes the database and removes it.
func (p *Pebble) Close() error { return errors.Join(p.db.Close(), os.RemoveAll(p.dir)) }

// Publish commits messages in fsynced batches, several in flight, and returns messages per second.
func (p *Pebble) Publish(ring *load.Ring, messages int) (float64, error) {
	waiting := make(chan *pebble.Batch, inFlight)
	synced := make(chan error, 1)
	go func() {
		var first error
		for b := range waiting {
			first = errors.Join(first, b.SyncWait(), b.Close())
		}
		synced <- first
	}()
	start := time.Now()
	err := p.apply(ring, messages, waiting)
	close(waiting)
	err = errors.Join(err, <-synced)
	return float64(messages) / time.Since(start).Seconds(), err
}

func (p *Pebble) apply(ring *load.Ring, messages int, waiting chan<- *pebble.Batch) error {
	for i := 0; i < messages; {
		b := p.db.NewBatch(pebble.WithMaxRetainedSizeBytes(4 << 20))
		for n := 0; n < batchMessages && i < messages; n++ {
			entry := ring.Entry(i)
			d := b.SetDeferred(9, len(entry))
			d.Key[0] = entryPrefix
			binary.BigEndian.PutUint64(d.Key[1:], uint64(i))
			copy(d.Value, entry)
			if err := d.Finish(); err != nil {
				return err
			}
			i++
		}
		if err := p.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
			return err
		}
		waiting <- b
	}
	return nil
}

// Drain iterates over all messages and writes the frames that a consumer would get to a socket; it returns messages per
// second up to the last frame read at the other end.
func (p *Pebble) Drain(ctx context.Context, messages int) (float64, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	written := make(chan error, 1)
	go func() { written <- p.serve(l) }()
	start := time.Now()
	err = receive(ctx, l.Addr().String(), messages)
	took := time.Since(start)
	err = errors.Join(err, l.Close(), <-written)
	return float64(messages) / took.Seconds(), err
}

func receive(ctx context.Context, addr string, messages int) error {
	nc, done, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer done()
	in := wire.NewFrameReader(nc, wire.DefaultMaxMessageSize+wire.FramePadding)
	for range messages {
		f, err := in.Next()
		if err != nil {
			return err
		}
		_, body, err := wire.CommandType(f.Command)
		if err != nil {
			return err
		}
		if _, err := wire.ParseMessage(body); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pebble) serve(l net.Listener) error {
	nc, err := l.Accept()
	if err != nil {
		return err
	}
	it, err := p.db.NewIter(nil)
	if err != nil {
		return errors.Join(err, nc.Close())
	}
	return errors.Join(frames(it, nc), it.Close(), nc.Close())
}

func frames(it *pebble.Iterator, to io.Writer) error {
	var out []byte
	for ok := it.First(); ok; ok = it.Next() {
		v := it.Value()
		m := wire.Message{Position: wire.Position{Ledger: 1, Entry: int64(binary.BigEndian.Uint64(it.Key()[1:]))}, Partition: -1}
		out = append(wire.AppendMessageHeader(out, m, len(v)), v...)
		if len(out) >= socketWrite {
			if _, err := to.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	_, err := to.Write(out)
	return errors.Join(it.Error(), err)
}
