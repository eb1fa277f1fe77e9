package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	plog "github.com/apache/pulsar-client-go/pulsar/log"
	"go.uber.org/goleak"

	"spoolctl/broker"
)

func TestMain(m *testing.M) {
	// The client leaves these behind when producers and consumers are closed.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.(*partitionProducer).runEventsLoop.func1"),
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.(*partitionConsumer).dispatcher"),
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.(*partitionConsumer).runEventsLoop"),
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.(*partitionConsumer).grabConn.func1"),
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.newAckGroupingTracker.func1"),
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.(*partitionProducer).failTimeoutMessages"),
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.(*chunkedMsgCtxMap).discardChunkIfExpire"),
		goleak.IgnoreAnyFunction("github.com/apache/pulsar-client-go/pulsar.(*TableViewImpl).periodicPartitionUpdateCheck"))
}

// patience is how long a test waits for something that must happen.
const patience = 20 * time.Second

// testLog writes the daemon's log to the test.
type testLog struct{ t *testing.T }

func (w testLog) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}

// daemon is a broker of one test.
type daemon struct {
	*broker.Broker
	t  *testing.T
	at string // of the binary port, when there is no Broker
}

// config is what tests start a daemon with.
func config(t *testing.T, dir string) broker.Config {
	cfg := broker.DefaultConfig()
	cfg.Spool, cfg.Port, cfg.WebPort = dir, 0, 0
	cfg.FailoverDelay = 0
	cfg.Logger = slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return cfg
}

// start starts a daemon that stops with the test.
func start(t *testing.T, change ...func(*broker.Config)) *daemon {
	t.Helper()
	cfg := config(t, t.TempDir())
	for _, f := range change {
		f(&cfg)
	}
	return startWith(t, cfg)
}

func startWith(t *testing.T, cfg broker.Config) *daemon {
	t.Helper()
	b, err := broker.Start(context.Background(), cfg)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	d := &daemon{Broker: b, t: t}
	t.Cleanup(d.stop)
	return d
}

// stop stops the daemon once.
func (d *daemon) stop() {
	if d.Broker == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := d.Stop(ctx); err != nil {
		d.t.Errorf("stop: %v", err)
	}
	d.Broker = nil
}

func (d *daemon) address() string {
	if d.at != "" {
		return d.at
	}
	return fmt.Sprintf("127.0.0.1:%d", d.Endpoint().Port)
}

// client makes an official client that is closed before the daemon.
func (d *daemon) client() pulsar.Client {
	d.t.Helper()
	c, err := pulsar.NewClient(pulsar.ClientOptions{
		URL: "pulsar://" + d.address(), OperationTimeout: patience,
		Logger: plog.NewLoggerWithSlog(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		d.t.Fatalf("client: %v", err)
	}
	d.t.Cleanup(c.Close)
	return c
}

var topicCount atomic.Int64 // makes topic names of one test binary different

// newTopic makes a topic name.
func newTopic() string { return fmt.Sprintf("persistent://public/default/t%d", topicCount.Add(1)) }

func newProducer(t *testing.T, c pulsar.Client, topic string, change ...func(*pulsar.ProducerOptions)) pulsar.Producer {
	t.Helper()
	o := pulsar.ProducerOptions{Topic: topic, DisableBatching: true}
	for _, f := range change {
		f(&o)
	}
	p, err := c.CreateProducer(o)
	if err != nil {
		t.Fatalf("producer on %s: %v", topic, err)
	}
	t.Cleanup(p.Close)
	return p
}

func batching(n uint) func(*pulsar.ProducerOptions) {
	return func(o *pulsar.ProducerOptions) {
		o.DisableBatching = false
		o.BatchingMaxMessages = n
		o.BatchingMaxPublishDelay = time.Hour
	}
}

func subscribe(t *testing.T, c pulsar.Client, topic, name string, typ pulsar.SubscriptionType, change ...func(*pulsar.ConsumerOptions)) pulsar.Consumer {
	t.Helper()
	o := pulsar.ConsumerOptions{
		Topic: topic, SubscriptionName: name, Type: typ, SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
		NackRedeliveryDelay: 50 * time.Millisecond,
	}
	for _, f := range change {
		f(&o)
	}
	x, err := c.Subscribe(o)
	if err != nil {
		t.Fatalf("subscribe to %s: %v", topic, err)
	}
	t.Cleanup(x.Close)
	return x
}

// send publishes n messages "PREFIX-0".. one by one or, with a batching producer, as batches.
func send(t *testing.T, p pulsar.Producer, prefix string, n int, change ...func(i int, m *pulsar.ProducerMessage)) []pulsar.MessageID {
	t.Helper()
	ids := make([]pulsar.MessageID, n)
	errs := make(chan error, n)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range n {
		m := &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "%s-%d", prefix, i)}
		for _, f := range change {
			f(i, m)
		}
		p.SendAsync(ctx, m, func(id pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			ids[i] = id
			errs <- err
		})
	}
	if err := p.FlushWithCtx(ctx); err != nil {
		t.Fatalf("flush: %v", err)
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatalf("send: %v", err)
		}
	}
	return ids
}

type receiver interface {
	Receive(context.Context) (pulsar.Message, error)
}

func receive(t *testing.T, x receiver) pulsar.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m, err := x.Receive(ctx)
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	return m
}

// expect receives messages "PREFIX-from".."PREFIX-(to-1)" in order.
func expect(t *testing.T, x receiver, prefix string, from, to int) []pulsar.Message {
	t.Helper()
	var out []pulsar.Message
	for i := from; i < to; i++ {
		m := receive(t, x)
		if want := fmt.Sprintf("%s-%d", prefix, i); string(m.Payload()) != want {
			t.Fatalf("received %q (%v), want %q", m.Payload(), m.ID(), want)
		}
		out = append(out, m)
	}
	return out
}

// silent checks that nothing comes for a moment.
func silent(t *testing.T, x receiver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	if m, err := x.Receive(ctx); err == nil {
		t.Fatalf("received %q (%v), want nothing", m.Payload(), m.ID())
	}
}

func ack(t *testing.T, x pulsar.Consumer, ms ...pulsar.Message) {
	t.Helper()
	for _, m := range ms {
		if err := x.Ack(m); err != nil {
			t.Fatalf("ack: %v", err)
		}
	}
}

// withResponse makes acknowledgements wait until they are durable.
func withResponse(o *pulsar.ConsumerOptions) {
	o.AckWithResponse = true
	o.AckGroupingOptions = &pulsar.AckGroupingOptions{MaxSize: 1}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func fmtMessage(prefix string, i int) []byte { return fmt.Appendf(nil, "%s-%d", prefix, i) }
