package traffic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"

	"spoolctl/live/traffic"
)

// fakeClient is a broker in memory: one topic, one subscription.
type fakeClient struct {
	pulsar.Client
	log   []*pulsar.ProducerMessage
	fail  int // every fail-th message is refused
	acked []string
}

type fakeProducer struct {
	pulsar.Producer
	c *fakeClient
	n int
}

func (c *fakeClient) CreateProducer(pulsar.ProducerOptions) (pulsar.Producer, error) {
	return &fakeProducer{c: c}, nil
}

var errRefused = errors.New("refused")

func (p *fakeProducer) SendAsync(_ context.Context, m *pulsar.ProducerMessage, done func(pulsar.MessageID, *pulsar.ProducerMessage, error)) {
	p.n++
	if p.c.fail > 0 && p.n%p.c.fail == 0 {
		done(nil, m, errRefused)
		return
	}
	p.c.log = append(p.c.log, m)
	done(pulsar.NewMessageID(1, int64(len(p.c.log)-1), -1, -1), m, nil)
}

func (p *fakeProducer) FlushWithCtx(context.Context) error { return nil }
func (p *fakeProducer) Close()                             {}

type fakeConsumer struct {
	pulsar.Consumer
	c    *fakeClient
	next int
}

type fakeMessage struct {
	pulsar.Message
	payload string
}

func (m fakeMessage) Payload() []byte { return []byte(m.payload) }

func (c *fakeClient) Subscribe(pulsar.ConsumerOptions) (pulsar.Consumer, error) {
	return &fakeConsumer{c: c}, nil
}

func (f *fakeConsumer) Receive(ctx context.Context) (pulsar.Message, error) {
	if f.next < len(f.c.log) {
		f.next++
		return fakeMessage{payload: string(f.c.log[f.next-1].Payload)}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (f *fakeConsumer) Ack(m pulsar.Message) error {
	f.c.acked = append(f.c.acked, string(m.Payload()))
	return nil
}

func (f *fakeConsumer) Close() {}

func payloads(c *fakeClient) string {
	var all []string
	for _, m := range c.log {
		all = append(all, string(m.Payload))
	}
	return strings.Join(all, " ")
}

func TestProduce(t *testing.T) {
	for _, k := range []struct {
		o    traffic.ProduceOptions
		want string
	}{
		{traffic.ProduceOptions{Count: 2}, "message 0 message 1"},
		{traffic.ProduceOptions{Count: 2, Payload: "x%d"}, "x0 x1"},
		{traffic.ProduceOptions{Count: 1, Size: 18}, "0123456789abcdef01"},
		{traffic.ProduceOptions{Lines: strings.NewReader("a\nb\nc")}, "a b c"},
		{traffic.ProduceOptions{Lines: strings.NewReader("a\nb\nc"), Count: 2}, "a b"},
		{traffic.ProduceOptions{Count: 3, Payload: "p", Rate: 1e6}, "p p p"},
	} {
		c := &fakeClient{}
		k.o.Client = c
		res, err := traffic.Produce(t.Context(), k.o)
		if err != nil || payloads(c) != k.want || res.Sent != len(c.log) || res.Failed != 0 || res.First.EntryID() != 0 {
			t.Errorf("%q %+v %v", payloads(c), res, err)
		}
	}
}

func TestProduceFailures(t *testing.T) {
	c := &fakeClient{fail: 3}
	res, err := traffic.Produce(t.Context(), traffic.ProduceOptions{Client: c, Count: 9, Key: "k%d"})
	if !errors.Is(err, errRefused) || res.Sent != 6 || res.Failed != 3 || c.log[0].Key != "k0" {
		t.Errorf("%+v %v", res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := traffic.Produce(ctx, traffic.ProduceOptions{Client: &fakeClient{}, Count: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	long := strings.NewReader(strings.Repeat("x", 6<<20))
	if _, err := traffic.Produce(t.Context(), traffic.ProduceOptions{Client: &fakeClient{}, Lines: long}); err == nil {
		t.Error("an endless line is accepted")
	}
}

func TestConsume(t *testing.T) {
	c := &fakeClient{}
	if _, err := traffic.Produce(t.Context(), traffic.ProduceOptions{Client: c, Count: 5, Payload: "m%d"}); err != nil {
		t.Fatal(err)
	}
	collect := func(o traffic.ConsumeOptions, stopAfter int) (got []string, err error) {
		o.Client = c
		c.acked = nil
		for m, e := range traffic.Consume(t.Context(), o) {
			if e != nil {
				return got, e
			}
			// The message is acknowledged only after this body.
			if len(c.acked) != len(got) && !o.KeepBacklog {
				t.Errorf("%d acknowledged before %d were handled", len(c.acked), len(got))
			}
			got = append(got, string(m.Payload()))
			if len(got) == stopAfter {
				break
			}
		}
		return got, nil
	}
	if got, err := collect(traffic.ConsumeOptions{Count: 3}, 0); err != nil || fmt.Sprint(got) != "[m0 m1 m2]" || len(c.acked) != 3 {
		t.Errorf("count: %v %v", got, err)
	}
	if got, err := collect(traffic.ConsumeOptions{}, 2); err != nil || len(got) != 2 || len(c.acked) != 1 {
		t.Errorf("break: %v %v %v", got, c.acked, err)
	}
	if got, err := collect(traffic.ConsumeOptions{Wait: 10 * time.Millisecond}, 0); !errors.Is(err, traffic.ErrQuiet) || len(got) != 5 {
		t.Errorf("quiet: %v %v", got, err)
	}
	if got, err := collect(traffic.ConsumeOptions{Count: 2, KeepBacklog: true}, 0); err != nil || len(got) != 2 || len(c.acked) != 0 {
		t.Errorf("no ack: %v %v", got, err)
	}
}

func TestDialErrors(t *testing.T) {
	var unreachable *traffic.UnreachableError
	if _, err := traffic.Dial(t.Context(), traffic.DialOptions{URL: "pulsar://127.0.0.1:1", Timeout: time.Second}); !errors.As(err, &unreachable) {
		t.Errorf("closed port: %v", err)
	}
	if _, err := traffic.Dial(t.Context(), traffic.DialOptions{URL: "nonsense"}); err == nil || errors.As(err, &unreachable) {
		t.Errorf("no URL: %v", err)
	}
}
