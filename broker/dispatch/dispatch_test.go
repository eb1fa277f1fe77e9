package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func TestPermitsCountMessages(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Exclusive, l)
	c := add(t, d, s.consumer(1))
	for range 5 {
		l.publish(message{batch: 10})
	}
	c.Flow(15)
	s.want(1, 0, 1) // the second batch overdraws: batches are not split
	if p := d.Snapshot().Consumers[0].Permits; p != -5 {
		t.Fatalf("permits %d, want -5", p)
	}
	c.Flow(5)
	s.want(1, 0, 1)
	c.Flow(1)
	s.want(1, 0, 1, 2)
}

func TestNothingIsReadForConsumersThatCannotTake(t *testing.T) {
	for _, typ := range []pb.CommandSubscribe_SubType{pb.CommandSubscribe_Exclusive, pb.CommandSubscribe_Shared, pb.CommandSubscribe_Key_Shared} {
		l, s := newLog(), newSink(t)
		d := newDispatcher(t, typ, l)
		c := add(t, d, s.consumer(1))
		l.publish(keys("a", "b")...)
		d.Data()
		d.Wake()
		s.setStuck(true)
		c.Flow(10)
		d.Data()
		d.Close() // waits for passes
		if l.reads != 0 {
			t.Errorf("%v: %d reads", typ, l.reads)
		}
	}
}

func TestFullConnectionGetsTheRestLater(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Shared, l)
	c := add(t, d, s.consumer(1))
	s.setStuck(true)
	c.Flow(10)
	l.publish(keys("a", "b")...)
	d.Data()
	s.setStuck(false)
	c.Wake()
	s.want(1, 0, 1)
}

func TestSharedPrefersPriority(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Shared, l)
	low := add(t, d, s.consumer(1, priority(5)))
	high := add(t, d, s.consumer(2, priority(0)))
	low.Flow(100)
	high.Flow(3)
	l.publish(make([]message, 5)...)
	d.Data()
	s.want(2, 0, 1, 2)
	s.want(1, 3, 4)
}

func TestUnackedBudgets(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Shared, l, func(o *dispatch.Options) {
		o.UnackedPerConsumer, o.UnackedPerSubscription = 4, 6
	})
	a, b := add(t, d, s.consumer(1)), add(t, d, s.consumer(2))
	l.publish(make([]message, 50)...)
	a.Flow(100)
	s.want(1, 0, 1, 2, 3)
	b.Flow(100)
	s.want(2, 4, 5)
	if snap := d.Snapshot(); !snap.Blocked || snap.Unacked != 6 {
		t.Fatalf("snapshot %+v", snap)
	}
	l.ack(d, a, 0, 1, 2) // half of the subscription's budget is free again
	s.count(9)
}

func TestRedeliveryCountsAndOrder(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Shared, l)
	a := add(t, d, s.consumer(1))
	a.Flow(100)
	l.publish(make([]message, 4)...)
	d.Data()
	s.want(1, 0, 1, 2, 3)
	l.ack(d, a, 1)
	d.Redeliver(a, []wire.Position{{Ledger: 1, Entry: 2}, {Ledger: 1, Entry: 0}, {Ledger: 1, Entry: 1}}, 0, false)
	s.count(6)
	b := add(t, d, s.consumer(2))
	b.Flow(100)
	d.Remove(a)
	s.want(2, 0, 2, 3)
	if got := []uint32{s.got[2][0].RedeliveryCount, s.got[2][1].RedeliveryCount, s.got[2][2].RedeliveryCount}; fmt.Sprint(got) != "[2 2 1]" {
		t.Errorf("redelivery counts %v", got)
	}
}

func TestFailoverChoice(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Failover, l, func(o *dispatch.Options) { o.Partition = 3 })
	for id := range uint64(3) {
		add(t, d, s.consumer(id, priority(1)))
	}
	// Partition 3 of three consumers: the first by name.
	if a := d.Snapshot().Active; a != "c0" {
		t.Errorf("active %s, want c0", a)
	}
	boss := add(t, d, s.consumer(9, priority(0)))
	if a := d.Snapshot().Active; a != "c9" {
		t.Errorf("active %s, want c9", a)
	}
	d.Remove(boss)
	if a := d.Snapshot().Active; a != "c0" {
		t.Errorf("active %s, want c0", a)
	}
}

func TestExclusiveIsExclusive(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Exclusive, l)
	add(t, d, s.consumer(1))
	if err := d.Add(s.consumer(2)); !fault.Is(err, fault.ConsumerBusy) {
		t.Fatalf("second consumer: %v", err)
	}
}

func TestDelayedEntriesWait(t *testing.T) {
	l, s := newLog(), newSink(t)
	d := newDispatcher(t, pb.CommandSubscribe_Shared, l)
	c := add(t, d, s.consumer(1))
	at := time.Now().Add(60 * time.Millisecond)
	l.publish(message{at: at.Add(40 * time.Millisecond)}, message{at: at}, message{})
	c.Flow(10)
	s.want(1, 2, 1, 0)
	if time.Now().Before(at) {
		t.Error("sent before its time")
	}
}

func TestDirectDropsOnlyForLackOfPermits(t *testing.T) {
	s := newSink(t)
	m := new(dispatch.Meters)
	d := dispatch.NewDirect(dispatch.Options{Type: pb.CommandSubscribe_Shared, Meters: m, Partition: -1})
	defer d.Close()
	a, b := add(t, d, s.consumer(1)), add(t, d, s.consumer(2))
	a.Flow(2)
	b.Flow(1)
	d.Publish(make([]dispatch.Fresh, 0))
	d.Publish([]dispatch.Fresh{{Messages: 1}, {Messages: 1}, {Messages: 1}, {Messages: 5}})
	s.count(3)
	if n := m.Dropped.Messages(); n != 5 {
		t.Errorf("%d messages dropped, want 5", n)
	}
}
