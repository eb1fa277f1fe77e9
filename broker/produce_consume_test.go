package broker_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"

	"spoolctl/broker"
	"spoolctl/wire"
)

func TestProduceConsumeAck(t *testing.T) {
	d := start(t)
	c := d.client()
	topic := newTopic()
	x := subscribe(t, c, topic, "sub", pulsar.Exclusive, withResponse)
	p := newProducer(t, c, topic)
	send(t, p, "m", 100)
	got := expect(t, x, "m", 0, 100)
	ack(t, x, got[:60]...)
	x.Close()

	y := subscribe(t, c, topic, "sub", pulsar.Exclusive)
	expect(t, y, "m", 60, 100)
	silent(t, y)
}

func TestMessagesSurviveRestart(t *testing.T) {
	cfg := config(t, t.TempDir())
	d := startWith(t, cfg)
	c := d.client()
	topic := newTopic()
	x := subscribe(t, c, topic, "sub", pulsar.Shared, withResponse)
	p := newProducer(t, c, topic)
	send(t, p, "m", 50)
	got := expect(t, x, "m", 0, 50)
	for i, m := range got {
		if i%2 == 0 {
			ack(t, x, m)
		}
	}
	c.Close()
	d.stop()

	d = startWith(t, cfg)
	y := subscribe(t, d.client(), topic, "sub", pulsar.Shared)
	for i := 1; i < 50; i += 2 {
		expect(t, y, "m", i, i+1)
	}
	silent(t, y)
}

func TestClientsComeBackAfterRestart(t *testing.T) {
	cfg := config(t, t.TempDir())
	d := startWith(t, cfg)
	cfg.Port = d.Endpoint().Port
	c := d.client()
	topic := newTopic()
	x := subscribe(t, c, topic, "sub", pulsar.Exclusive)
	p := newProducer(t, c, topic)
	send(t, p, "a", 10)
	ack(t, x, expect(t, x, "a", 0, 10)...)
	d.stop()
	d = startWith(t, cfg)
	eventually(t, "the clients come back", func() bool {
		tp := d.Registry().Peek(mustTopic(t, topic))
		return tp != nil && len(tp.Producers()) == 1
	})
	// With a producer of its own: the old one's reconnecting is a data race inside the
	// client when it publishes meanwhile.
	send(t, newProducer(t, d.client(), topic), "b", 10)
	expect(t, x, "b", 0, 10)
	c.Close() // before the second daemon ends
}

func TestBatches(t *testing.T) {
	d := start(t)
	c := d.client()
	topic := newTopic()
	x := subscribe(t, c, topic, "sub", pulsar.Exclusive)
	for _, codec := range []pulsar.CompressionType{pulsar.NoCompression, pulsar.LZ4, pulsar.ZLib, pulsar.ZSTD} {
		p := newProducer(t, c, topic, batching(10), func(o *pulsar.ProducerOptions) { o.CompressionType = codec })
		send(t, p, "m", 35)
		expect(t, x, "m", 0, 35)
	}
}

func TestCumulativeAck(t *testing.T) {
	d := start(t)
	c := d.client()
	topic := newTopic()
	x := subscribe(t, c, topic, "sub", pulsar.Failover, withResponse)
	send(t, newProducer(t, c, topic), "m", 20)
	got := expect(t, x, "m", 0, 20)
	if err := x.AckCumulative(got[12]); err != nil {
		t.Fatal(err)
	}
	x.Close()
	y := subscribe(t, c, topic, "sub", pulsar.Failover)
	expect(t, y, "m", 13, 20)
}

func TestBatchIndexAck(t *testing.T) {
	for _, typ := range []pulsar.SubscriptionType{pulsar.Exclusive, pulsar.Shared} {
		d := start(t)
		c := d.client()
		topic := newTopic()
		indexed := func(o *pulsar.ConsumerOptions) {
			withResponse(o)
			o.EnableBatchIndexAcknowledgment = true
		}
		x := subscribe(t, c, topic, "sub", typ, indexed)
		send(t, newProducer(t, c, topic, batching(10)), "m", 10)
		got := expect(t, x, "m", 0, 10)
		ack(t, x, got[1], got[3], got[9])
		x.Close()

		sub := d.subscription(topic, "sub")
		if b := sub.Cursor().Backlog(); b.Messages != 7 || b.Entries != 1 {
			t.Errorf("backlog %+v, want 7 messages in 1 entry", b)
		}
		y := subscribe(t, c, topic, "sub", typ, indexed)
		for _, i := range []int{0, 2, 4, 5, 6, 7, 8} {
			ack(t, y, expect(t, y, "m", i, i+1)...)
		}
		silent(t, y)
		if b := sub.Cursor().Backlog(); b.Messages != 0 || b.Entries != 0 {
			t.Errorf("backlog %+v, want none", b)
		}
	}
}

func TestChunkedMessage(t *testing.T) {
	for _, typ := range []pulsar.SubscriptionType{pulsar.Exclusive, pulsar.Shared} {
		d := start(t, func(cfg *broker.Config) { cfg.MaxMessageSize = 64 << 10 })
		c := d.client()
		topic := newTopic()
		x := subscribe(t, c, topic, "sub", typ)
		y := x
		if typ == pulsar.Shared {
			y = subscribe(t, c, topic, "sub", typ)
		}
		p := newProducer(t, c, topic, func(o *pulsar.ProducerOptions) { o.EnableChunking = true })
		big := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
		for range 4 {
			if _, err := p.Send(context.Background(), &pulsar.ProducerMessage{Payload: big}); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			var m pulsar.ConsumerMessage
			select {
			case m = <-x.Chan():
			case m = <-y.Chan():
			case <-time.After(patience):
				t.Fatal("no message")
			}
			if !bytes.Equal(m.Payload(), big) {
				t.Fatalf("a chunked message of %d bytes came back as %d other bytes", len(big), len(m.Payload()))
			}
		}
	}
}

func TestManyProducersOneOrderEach(t *testing.T) {
	d := start(t)
	c := d.client()
	topic := newTopic()
	x := subscribe(t, c, topic, "sub", pulsar.Exclusive)
	const producers, each = 8, 200
	for i := range producers {
		p := newProducer(t, c, topic)
		go func() {
			for n := range each {
				p.SendAsync(context.Background(), &pulsar.ProducerMessage{
					Payload: fmt.Append(nil, n), Properties: map[string]string{"p": fmt.Sprint(i)},
				}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
					if err != nil {
						t.Errorf("send: %v", err)
					}
				})
			}
		}()
	}
	next := make(map[string]int)
	for range producers * each {
		m := receive(t, x)
		who := m.Properties()["p"]
		if string(m.Payload()) != fmt.Sprint(next[who]) {
			t.Fatalf("producer %s: got %s, want %d", who, m.Payload(), next[who])
		}
		next[who]++
	}
}

func TestPartitionedTopic(t *testing.T) {
	d := start(t)
	c := d.client()
	topic := newTopic()
	if err := d.Registry().CreatePartitioned(context.Background(), mustTopic(t, topic), 4, nil); err != nil {
		t.Fatal(err)
	}
	parts, err := c.TopicPartitions(topic)
	if err != nil || len(parts) != 4 {
		t.Fatalf("partitions %v, %v", parts, err)
	}
	x := subscribe(t, c, topic, "sub", pulsar.Shared)
	send(t, newProducer(t, c, topic), "m", 40)
	seen := make(map[string]bool)
	for range 40 {
		m := receive(t, x)
		seen[string(m.Payload())] = true
		ack(t, x, m)
	}
	if len(seen) != 40 {
		t.Fatalf("%d different messages", len(seen))
	}
}

func TestRegexConsumerAndTopicsOfNamespace(t *testing.T) {
	d := start(t)
	c := d.client()
	for _, n := range []string{"rx-a", "rx-b", "other"} {
		send(t, newProducer(t, c, "persistent://public/default/"+n), n, 1)
	}
	x := subscribe(t, c, "", "sub", pulsar.Shared, func(o *pulsar.ConsumerOptions) {
		o.TopicsPattern = "public/default/rx-.*"
	})
	got := map[string]bool{}
	for range 2 {
		got[string(receive(t, x).Payload())] = true
	}
	if !got["rx-a-0"] || !got["rx-b-0"] {
		t.Fatalf("received %v", got)
	}
	silent(t, x)
}

func TestRefusalsInWords(t *testing.T) {
	d := start(t, func(cfg *broker.Config) { cfg.AutoCreateTopics = false })
	c := d.client()
	for name, words := range map[string]string{
		"persistent://public/default/none":   "TopicNotFound",
		"persistent://public/nowhere/t":      "MetadataError",
		"persistent://nobody/nowhere/t":      "MetadataError",
		"non-persistent://public/default/no": "TopicNotFound",
	} {
		_, err := c.CreateProducer(pulsar.ProducerOptions{Topic: name})
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("producer on %s: %v, want %q", name, err, words)
		}
	}
}

func mustTopic(t *testing.T, name string) wire.TopicName {
	t.Helper()
	n, err := wire.ParseTopic(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
