package broker_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
)

// subscription finds a subscription inside the daemon.
func (d *daemon) subscription(name, sub string) *topic.Subscription {
	d.t.Helper()
	tp, err := d.Registry().Get(context.Background(), mustTopic(d.t, name))
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := tp.Subscription(sub)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func TestExclusiveRefusesASecondConsumer(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Exclusive)
	_, err := c.Subscribe(pulsar.ConsumerOptions{Topic: name, SubscriptionName: "sub", Type: pulsar.Exclusive})
	if err == nil || !strings.Contains(err.Error(), "ConsumerBusy") {
		t.Fatalf("second exclusive consumer: %v", err)
	}
	_, err = c.Subscribe(pulsar.ConsumerOptions{Topic: name, SubscriptionName: "sub", Type: pulsar.Shared})
	if err == nil || !strings.Contains(err.Error(), "different type") {
		t.Fatalf("consumer of another type: %v", err)
	}
	x.Close()
	subscribe(t, c, name, "sub", pulsar.Shared)
}

func TestSharedSpreadsAndRedelivers(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	small := func(o *pulsar.ConsumerOptions) { o.ReceiverQueueSize = 10 }
	x := subscribe(t, c, name, "sub", pulsar.Shared, small)
	y := subscribe(t, c, name, "sub", pulsar.Shared, small)
	eventually(t, "both ask for messages", func() bool {
		all := d.subscription(name, "sub").Dispatch().Consumers
		return len(all) == 2 && all[0].Permits > 0 && all[1].Permits > 0
	})
	send(t, newProducer(t, c, name), "m", 200)
	seen := map[string]int{}
	perConsumer := [2]int{}
	for len(seen) < 200 {
		select {
		case m := <-x.Chan():
			seen[string(m.Payload())]++
			perConsumer[0]++
			ack(t, x, m)
		case m := <-y.Chan():
			seen[string(m.Payload())]++
			perConsumer[1]++
			ack(t, y, m)
		case <-time.After(patience):
			t.Fatalf("only %d messages", len(seen))
		}
	}
	if perConsumer[0] < 20 || perConsumer[1] < 20 {
		t.Errorf("uneven: %v", perConsumer)
	}
	// What one leaves behind goes to the other.
	send(t, newProducer(t, c, name), "n", 20)
	time.Sleep(20 * time.Millisecond)
	x.Close()
	left := map[string]bool{}
	for range 20 {
		m := receive(t, y)
		left[string(m.Payload())] = true
		ack(t, y, m)
	}
	if len(left) != 20 {
		t.Fatalf("%d of 20 messages after a consumer left", len(left))
	}
}

func TestNackCountsAndDeadLetters(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Shared, func(o *pulsar.ConsumerOptions) {
		o.DLQ = &pulsar.DLQPolicy{MaxDeliveries: 3, DeadLetterTopic: name + "-dlq", InitialSubscriptionName: "kept"}
	})
	send(t, newProducer(t, c, name), "m", 3)
	counts := map[string][]uint32{}
	for range 9 {
		m := receive(t, x)
		counts[string(m.Payload())] = append(counts[string(m.Payload())], m.RedeliveryCount())
		x.Nack(m)
	}
	for m, got := range counts {
		if fmt.Sprint(got) != "[0 1 2]" {
			t.Errorf("%s: redelivery counts %v", m, got)
		}
	}
	dead := subscribe(t, c, name+"-dlq", "kept", pulsar.Shared)
	for range 3 {
		receive(t, dead)
	}
	silent(t, x)
}

// Two processes number their consumers alike; they must not get into each other's way.
// TestSubscribeAtOnce lets several connections make one subscription at the same moment: all of them are attached.
func TestSubscribeAtOnce(t *testing.T) {
	d := start(t)
	name := newTopic()
	clients := []pulsar.Client{d.client(), d.client(), d.client(), d.client()}
	newProducer(t, clients[0], name)
	for round := range 10 {
		var wg sync.WaitGroup
		sub := fmt.Sprint("sub-", round)
		for _, c := range clients {
			wg.Go(func() {
				x, err := c.Subscribe(pulsar.ConsumerOptions{Topic: name, SubscriptionName: sub, Type: pulsar.Shared})
				if err != nil {
					t.Errorf("%s: %v", sub, err)
					return
				}
				t.Cleanup(x.Close)
			})
		}
		wg.Wait()
		if got := len(d.subscription(name, sub).Consumers()); got != len(clients) {
			t.Errorf("%s has %d consumers", sub, got)
		}
	}
}

func TestEqualConsumerIDsOnOneSharedSubscription(t *testing.T) {
	d := start(t)
	name := newTopic()
	var xs []pulsar.Consumer
	for range 2 {
		xs = append(xs, subscribe(t, d.client(), name, "sub", pulsar.Shared, withResponse, func(o *pulsar.ConsumerOptions) { o.ReceiverQueueSize = 5 }))
	}
	consumers := d.subscription(name, "sub").Consumers()
	if len(consumers) != 2 || consumers[0].ID != consumers[1].ID {
		t.Fatalf("want two consumers with one id, have %d", len(consumers))
	}
	send(t, newProducer(t, d.client(), name), "m", 100)
	seen := map[string]int{}
	for len(seen) < 100 {
		var x pulsar.Consumer
		var m pulsar.ConsumerMessage
		select {
		case m = <-xs[0].Chan():
			x = xs[0]
		case m = <-xs[1].Chan():
			x = xs[1]
		case <-time.After(patience):
			t.Fatalf("only %d messages", len(seen))
		}
		seen[string(m.Payload())]++
		ack(t, x, m)
	}
	for m, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", m, n)
		}
	}
	if b := d.subscription(name, "sub").Cursor().Backlog(); b.Messages != 0 {
		t.Errorf("backlog %+v", b)
	}
}

func TestKeySharedKeepsKeysInOrder(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name)
	type got struct{ consumer, value int }
	var mu sync.Mutex
	byKey := map[string][]got{}
	total := 0
	done := make(chan struct{})
	const n = 600
	ctx, cancel := context.WithCancel(context.Background())
	var consumers sync.WaitGroup
	defer consumers.Wait()
	defer cancel()
	consume := func(who int, x pulsar.Consumer) {
		for {
			m, err := x.Receive(ctx)
			if err != nil {
				return
			}
			mu.Lock()
			var v int
			fmt.Sscan(string(m.Payload()), &v)
			byKey[m.Key()] = append(byKey[m.Key()], got{who, v})
			total++
			if total == n {
				close(done)
			}
			mu.Unlock()
			if err := x.Ack(m); err != nil {
				t.Errorf("ack: %v", err)
			}
		}
	}
	few := func(o *pulsar.ConsumerOptions) { o.ReceiverQueueSize = 20 }
	for who := range 2 {
		x := subscribe(t, c, name, "sub", pulsar.KeyShared, few)
		consumers.Go(func() { consume(who, x) })
	}
	for i := range n {
		if i == n/2 {
			x := subscribe(t, c, name, "sub", pulsar.KeyShared, few)
			consumers.Go(func() { consume(2, x) })
		}
		p.SendAsync(context.Background(), &pulsar.ProducerMessage{Payload: fmt.Append(nil, i), Key: fmt.Sprintf("k%d", i%30)},
			func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
				if err != nil {
					t.Errorf("send: %v", err)
				}
			})
	}
	select {
	case <-done:
	case <-time.After(patience):
		mu.Lock()
		t.Fatalf("only %d of %d messages", total, n)
	}
	used := map[int]bool{}
	for key, list := range byKey {
		for i := range list {
			used[list[i].consumer] = true
			if i > 0 && list[i].value <= list[i-1].value {
				t.Errorf("key %s: %d after %d", key, list[i].value, list[i-1].value)
			}
		}
	}
	if len(used) < 2 {
		t.Errorf("only %d consumers were used", len(used))
	}
}

func TestKeySharedStickyRanges(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	sticky := func(ranges ...int) func(*pulsar.ConsumerOptions) {
		return func(o *pulsar.ConsumerOptions) {
			p, err := pulsar.NewKeySharedPolicySticky(ranges)
			if err != nil {
				t.Fatal(err)
			}
			o.KeySharedPolicy = p
		}
	}
	subscribe(t, c, name, "sub", pulsar.KeyShared, sticky(0, 32767))
	o := pulsar.ConsumerOptions{Topic: name, SubscriptionName: "sub", Type: pulsar.KeyShared}
	sticky(30000, 65535)(&o)
	if _, err := c.Subscribe(o); err == nil || !strings.Contains(err.Error(), "ConsumerAssignError") {
		t.Fatalf("overlapping ranges: %v", err)
	}
	subscribe(t, c, name, "sub", pulsar.KeyShared, sticky(32768, 65535))
}

// activity records what a failover consumer is told.
type activity struct {
	name   string
	events chan string
}

func (a *activity) BecameActive(pulsar.Consumer, string, int32) { a.events <- a.name + " active" }

func (a *activity) BecameInactive(pulsar.Consumer, string, int32) {
	a.events <- a.name + " inactive"
}

func TestFailover(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	events := make(chan string, 10)
	with := func(who string) func(*pulsar.ConsumerOptions) {
		return func(o *pulsar.ConsumerOptions) {
			o.Name = who
			o.EventListener = &activity{name: who, events: events}
		}
	}
	told := func(want string) {
		t.Helper()
		select {
		case got := <-events:
			if got != want {
				t.Fatalf("told %q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("nobody was told %q", want)
		}
	}
	x := subscribe(t, c, name, "sub", pulsar.Failover, with("x"), withResponse)
	told("x active")
	y := subscribe(t, d.client(), name, "sub", pulsar.Failover, with("y"))
	told("y inactive")
	send(t, newProducer(t, c, name), "m", 10)
	ack(t, x, expect(t, x, "m", 0, 10)[:4]...)
	silent(t, y)
	x.Close()
	told("y active")
	expect(t, y, "m", 4, 10)
}

func TestNonPersistent(t *testing.T) {
	d := start(t)
	c := d.client()
	name := "non-persistent://public/default/np"
	x := subscribe(t, c, name, "a", pulsar.Exclusive)
	y := subscribe(t, c, name, "b", pulsar.Shared)
	p := newProducer(t, c, name)
	before := d.Store().Stats()
	send(t, p, "m", 100)
	ack(t, x, expect(t, x, "m", 0, 100)...)
	ack(t, y, expect(t, y, "m", 0, 100)...)
	if after := d.Store().Stats(); after.Operations != before.Operations {
		t.Errorf("a non-persistent topic made %d operations on the store", after.Operations-before.Operations)
	}
	x.Close()
	send(t, p, "lost", 10)
	x = subscribe(t, c, name, "a", pulsar.Exclusive)
	silent(t, x)
}

func TestDelayedDelivery(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Shared)
	begin := time.Now()
	send(t, newProducer(t, c, name), "late", 3, func(_ int, m *pulsar.ProducerMessage) { m.DeliverAfter = 300 * time.Millisecond })
	send(t, newProducer(t, c, name), "soon", 3)
	expect(t, x, "soon", 0, 3)
	expect(t, x, "late", 0, 3)
	if took := time.Since(begin); took < 300*time.Millisecond {
		t.Errorf("delayed messages came after %v", took)
	}
}

func TestUnsubscribe(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Shared)
	y := subscribe(t, c, name, "sub", pulsar.Shared)
	if err := d.subscription(name, "sub").Delete(context.Background(), false); !fault.Is(err, fault.Precondition) {
		t.Fatalf("deleted although consumers are attached: %v", err)
	}
	y.Close()
	if err := x.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	tp, err := d.Registry().Get(context.Background(), mustTopic(t, name))
	if err != nil || len(tp.Subscriptions()) != 0 {
		t.Fatalf("subscriptions left: %v, %v", tp.Subscriptions(), err)
	}
}
