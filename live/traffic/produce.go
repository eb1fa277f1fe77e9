package traffic

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

// ProduceOptions say what to publish.
type ProduceOptions struct {
	Client pulsar.Client
	Topic  string
	// Count is how many messages; with Lines it is the most, 0 all lines.
	Count int
	// Size is the length of made-up payloads; 0 with neither Payload nor Lines
	// gives "message N".
	Size int
	// Payload is the text of every message. %d becomes the message's number.
	Payload string
	// Lines gives one message for each line.
	Lines io.Reader
	// Key of every message; %d becomes the message's number. Empty is none.
	Key        string
	Properties map[string]string
	// Rate is messages per second; 0 is as fast as the broker takes them.
	Rate float64
	// NoBatch sends each message by itself.
	NoBatch bool
	// BatchMessages is the largest batch; 0 is the library's default.
	BatchMessages uint
	Compression   pulsar.CompressionType
	// Name of the producer; empty lets the broker choose.
	Name string
}

// ProduceResult counts what the broker confirmed.
type ProduceResult struct {
	Sent, Failed int
	Bytes        int64 // payload bytes of Sent
	Took         time.Duration
	First, Last  pulsar.MessageID // nil when nothing was sent
}

// maxLine bounds one line of ProduceOptions.Lines, in bytes.
const maxLine = 5 << 20

// Produce publishes and waits for every confirmation. When some messages fail,
// the result counts them and the error is the first failure. A cancelled ctx
// ends it early with what was confirmed.
func Produce(ctx context.Context, o ProduceOptions) (ProduceResult, error) {
	p, err := o.Client.CreateProducer(pulsar.ProducerOptions{
		Topic: o.Topic, Name: o.Name, DisableBatching: o.NoBatch,
		BatchingMaxMessages: o.BatchMessages, CompressionType: o.Compression,
	})
	if err != nil {
		return ProduceResult{}, err
	}
	defer p.Close()
	run := &production{o: o, producer: p, start: time.Now()}
	err = run.send(ctx)
	if ferr := p.FlushWithCtx(ctx); err == nil {
		err = ferr
	}
	if ctx.Err() == nil {
		run.pending.Wait()
	}
	return run.result(err)
}

// production is one call of Produce. Confirmations come from the library's
// goroutines.
type production struct {
	o        ProduceOptions
	producer pulsar.Producer
	start    time.Time
	pending  sync.WaitGroup

	mu    sync.Mutex
	res   ProduceResult
	first error
}

func (r *production) send(ctx context.Context) error {
	pace := newPacer(r.o.Rate, r.start)
	next := r.payloads()
	for i := 0; r.o.Count <= 0 && r.o.Lines != nil || i < r.o.Count; i++ {
		payload, err := next(i)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := pace.wait(ctx, i); err != nil {
			return err
		}
		m := &pulsar.ProducerMessage{Payload: payload, Properties: r.o.Properties, Key: numbered(r.o.Key, i)}
		r.pending.Add(1)
		r.producer.SendAsync(ctx, m, func(id pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			defer r.pending.Done()
			r.confirmed(id, len(payload), err)
		})
	}
	return ctx.Err()
}

func (r *production) confirmed(id pulsar.MessageID, size int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.res.Failed++
		if r.first == nil {
			r.first = err
		}
		return
	}
	r.res.Sent++
	r.res.Bytes += int64(size)
	if r.res.First == nil {
		r.res.First = id
	}
	r.res.Last = id
}

func (r *production) result(err error) (ProduceResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Took = time.Since(r.start)
	if err == nil {
		err = r.first
	}
	return r.res, err
}

// payloads gives the i-th payload; io.EOF ends the run.
func (r *production) payloads() func(i int) ([]byte, error) {
	switch {
	case r.o.Lines != nil:
		lines := bufio.NewScanner(r.o.Lines)
		lines.Buffer(make([]byte, 64<<10), maxLine)
		return func(int) ([]byte, error) {
			if lines.Scan() {
				return []byte(lines.Text()), nil
			}
			if errors.Is(lines.Err(), bufio.ErrTooLong) {
				return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
			}
			if lines.Err() != nil {
				return nil, lines.Err()
			}
			return nil, io.EOF
		}
	case r.o.Payload != "":
		return func(i int) ([]byte, error) { return []byte(numbered(r.o.Payload, i)), nil }
	case r.o.Size > 0:
		pattern := []byte(strings.Repeat("0123456789abcdef", r.o.Size/16+1))[:r.o.Size]
		return func(int) ([]byte, error) { return pattern, nil }
	}
	return func(i int) ([]byte, error) { return []byte("message " + strconv.Itoa(i)), nil }
}

func numbered(text string, i int) string { return strings.ReplaceAll(text, "%d", strconv.Itoa(i)) }

// pacer spreads messages evenly: the i-th is due at start + i/rate.
type pacer struct {
	start time.Time
	every float64 // nanoseconds; 0 is no pace
}

func newPacer(rate float64, start time.Time) pacer {
	if rate <= 0 {
		return pacer{}
	}
	return pacer{start: start, every: float64(time.Second) / rate}
}

func (p pacer) wait(ctx context.Context, i int) error {
	if p.every == 0 {
		return ctx.Err()
	}
	left := time.Until(p.start.Add(time.Duration(float64(i) * p.every)))
	if left <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
