package broker_test

import (
	"context"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"

	"spoolctl/broker/topic"
)

func statsOptions() topic.StatsOptions { return topic.StatsOptions{Earliest: true} }

// topic finds a topic inside the daemon.
func (d *daemon) topic(name string) *topic.Topic {
	d.t.Helper()
	tp, err := d.Registry().Get(context.Background(), mustTopic(d.t, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return tp
}

func TestStatsCountMessages(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Shared, withResponse, func(o *pulsar.ConsumerOptions) {
		o.ReceiverQueueSize = 100
		o.Properties = map[string]string{"k": "v"}
	})
	send(t, newProducer(t, c, name, batching(10)), "m", 30)
	got := expect(t, x, "m", 0, 30)
	ack(t, x, got[0:10]...) // one batch

	s, err := d.topic(name).Stats(context.Background(), statsOptions())
	if err != nil {
		t.Fatal(err)
	}
	sub := s.Subscriptions["sub"]
	if s.MsgInCounter != 30 || sub.MsgOutCounter != 30 || sub.MsgBacklog != 20 || sub.UnackedMessages != 20 || sub.Type != "Shared" || !sub.IsDurable {
		t.Errorf("stats %+v, subscription %+v", s, sub)
	}
	if len(sub.Consumers) != 1 || sub.Consumers[0].AvgMessagesPerEntry != 10 || sub.Consumers[0].Metadata["k"] != "v" {
		t.Errorf("consumers %+v", sub.Consumers)
	}
	if sub.EarliestMsgPublishTimeInBacklog == nil || s.StorageSize == nil || *s.StorageSize == 0 {
		t.Errorf("absent: %+v", s)
	}
	in, err := d.topic(name).InternalStats(false)
	if err != nil || in.NumberOfEntries != 3 || in.Cursors["sub"] == nil || !in.Cursors["sub"].Active {
		t.Errorf("internal stats %+v, %v", in, err)
	}
}
