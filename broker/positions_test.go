package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"

	"spoolctl/broker/topic"
	"spoolctl/wire"
)

func TestSeekToStartEndAndID(t *testing.T) {
	d := start(t)
	c := d.client()
	for _, batch := range []bool{false, true} {
		name := newTopic()
		x := subscribe(t, c, name, "sub", pulsar.Exclusive, withResponse, func(o *pulsar.ConsumerOptions) { o.StartMessageIDInclusive = true })
		p := newProducer(t, c, name)
		if batch {
			p = newProducer(t, c, name, batching(5))
		}
		ids := send(t, p, "m", 30)
		ack(t, x, expect(t, x, "m", 0, 30)...)
		if err := x.SeekByTime(time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		expect(t, x, "m", 0, 30)
		if err := d.subscription(name, "sub").Seek(context.Background(), topic.SeekTarget{Position: wire.Latest()}); err != nil {
			t.Fatal(err)
		}
		silent(t, x)
		send(t, newProducer(t, c, name), "new", 3)
		expect(t, x, "new", 0, 3)
		// Last: the client goes on dropping what lies before an id that it once sought.
		if err := x.Seek(ids[12]); err != nil {
			t.Fatal(err)
		}
		expect(t, x, "m", 12, 30)
	}
}

func TestSeekByTime(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Shared, withResponse)
	p := newProducer(t, c, name)
	send(t, p, "old", 10)
	time.Sleep(5 * time.Millisecond)
	between := time.Now()
	time.Sleep(5 * time.Millisecond)
	send(t, p, "new", 10)
	ack(t, x, expect(t, x, "old", 0, 10)...)
	ack(t, x, expect(t, x, "new", 0, 10)...)
	if err := x.SeekByTime(between); err != nil {
		t.Fatal(err)
	}
	expect(t, x, "new", 0, 10)
	silent(t, x)
}

func TestReader(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name)
	ids := send(t, p, "m", 20)
	read := func(from pulsar.MessageID, inclusive bool, want int) {
		t.Helper()
		r, err := c.CreateReader(pulsar.ReaderOptions{Topic: name, StartMessageID: from, StartMessageIDInclusive: inclusive})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for i := want; r.HasNext(); i++ {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			m, err := r.Next(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			if got, expected := string(m.Payload()), string(fmtMessage("m", i)); got != expected {
				t.Fatalf("read %s, want %s", got, expected)
			}
			want = i + 1
		}
		if want != 20 {
			t.Fatalf("the reader stopped at %d", want)
		}
	}
	read(pulsar.EarliestMessageID(), false, 0)
	read(ids[7], false, 8)
	read(ids[7], true, 7)
	read(pulsar.LatestMessageID(), true, 19)
	read(pulsar.LatestMessageID(), false, 20)

	eventually(t, "the readers' subscriptions end", func() bool {
		tp, err := d.Registry().Get(context.Background(), mustTopic(t, name))
		return err == nil && len(tp.Subscriptions()) == 0
	})
}

func TestReaderSeeksAndFollows(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name, batching(10))
	send(t, p, "m", 30)
	r, err := c.CreateReader(pulsar.ReaderOptions{Topic: name, StartMessageID: pulsar.EarliestMessageID()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next := func() pulsar.Message {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		m, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for i := range 30 {
		if got := string(next().Payload()); got != string(fmtMessage("m", i)) {
			t.Fatalf("read %s, want m-%d", got, i)
		}
	}
	if err := r.SeekByTime(time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if got := string(next().Payload()); got != "m-0" {
		t.Fatalf("after seek: %s", got)
	}
}

func TestLastMessageID(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Exclusive)
	send(t, newProducer(t, c, name), "m", 2)
	ids := send(t, newProducer(t, c, name, batching(10)), "m", 7)
	last, err := x.GetLastMessageIDs()
	if err != nil || len(last) != 1 {
		t.Fatalf("%v, %v", last, err)
	}
	want := ids[6]
	if last[0].LedgerID() != want.LedgerID() || last[0].EntryID() != want.EntryID() || last[0].BatchIdx() != 6 {
		t.Fatalf("last message id %v, want %v", last[0], want)
	}
}
