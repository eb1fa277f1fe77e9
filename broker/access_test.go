package broker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"google.golang.org/protobuf/proto"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func TestProducerAccessModes(t *testing.T) {
	d := start(t)
	c := d.client()
	topic := newTopic()
	make := func(mode pulsar.ProducerAccessMode, name string) (pulsar.Producer, error) {
		return c.CreateProducer(pulsar.ProducerOptions{Topic: topic, Name: name, ProducerAccessMode: mode})
	}
	refused := func(mode pulsar.ProducerAccessMode, name, words string) {
		t.Helper()
		if _, err := make(mode, name); err == nil || !strings.Contains(err.Error(), words) {
			t.Fatalf("mode %v: %v, want %s", mode, err, words)
		}
	}
	first, err := make(pulsar.ProducerAccessModeExclusive, "first")
	if err != nil {
		t.Fatal(err)
	}
	send(t, first, "a", 1)
	refused(pulsar.ProducerAccessModeExclusive, "second", "ProducerFenced")
	refused(pulsar.ProducerAccessModeShared, "third", "ProducerBusy")

	got := make2(t, func() (pulsar.Producer, error) { return make(pulsar.ProducerAccessModeWaitForExclusive, "waiting") })
	eventually(t, "a producer waits", func() bool {
		s, err := d.topic(topic).Stats(context.Background(), statsOptions())
		return err == nil && s.WaitingPublishers == 1
	})
	first.Close()
	second := <-got
	send(t, second, "b", 1)
	second.Close()
	shared, err := make(pulsar.ProducerAccessModeShared, "shared")
	if err != nil {
		t.Fatal(err)
	}
	refused(pulsar.ProducerAccessModeExclusive, "fourth", "ProducerFenced")
	refused(pulsar.ProducerAccessModeShared, "shared", "ProducerBusy")
	shared.Close()
}

// make2 makes a producer in the background.
func make2(t *testing.T, f func() (pulsar.Producer, error)) <-chan pulsar.Producer {
	out := make(chan pulsar.Producer, 1)
	go func() {
		p, err := f()
		if err != nil {
			t.Errorf("producer: %v", err)
		}
		out <- p
	}()
	return out
}

func TestUnloadAndDelete(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	x := subscribe(t, c, name, "sub", pulsar.Shared, withResponse)
	p := newProducer(t, c, name)
	send(t, p, "a", 10)
	ack(t, x, expect(t, x, "a", 0, 10)...)

	ctx := context.Background()
	if err := d.Registry().Unload(ctx, mustTopic(t, name)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the producer comes back", func() bool {
		tp := d.Registry().Peek(mustTopic(t, name))
		return tp != nil && len(tp.Producers()) == 1
	})
	send(t, p, "b", 10)
	expect(t, x, "b", 0, 10)

	if err := d.Registry().Delete(ctx, mustTopic(t, name), false); err == nil {
		t.Fatal("a topic in use was deleted")
	}
	if err := d.Registry().Delete(ctx, mustTopic(t, name), true); err != nil {
		t.Fatal(err)
	}
}

func TestTerminate(t *testing.T) {
	d := start(t)
	name := newTopic()
	producer := func(r *raw) *pb.BaseCommand {
		r.command(&pb.BaseCommand{Type: pb.BaseCommand_PRODUCER.Enum(), Producer: &pb.CommandProducer{
			Topic: proto.String(name), ProducerId: proto.Uint64(1), RequestId: proto.Uint64(1),
		}})
		return r.read()
	}
	r := d.raw()
	r.connect()
	if c := producer(r); c.GetType() != pb.BaseCommand_PRODUCER_SUCCESS {
		t.Fatalf("producer: %v", c)
	}
	r.write(wire.AppendSend(nil, wire.Send{ProducerID: 1, NumMessages: 1}, wire.BuildEntry(&pb.MessageMetadata{
		ProducerName: proto.String("p"), SequenceId: proto.Uint64(0), PublishTime: proto.Uint64(1),
	}, []byte("hello"))))
	if c := r.read(); c.GetType() != pb.BaseCommand_SEND_RECEIPT {
		t.Fatalf("send: %v", c)
	}
	last, err := d.topic(name).Terminate(context.Background())
	if err != nil || last.Entry != 0 {
		t.Fatalf("terminate: %v, %v", last, err)
	}
	if c := r.read(); c.GetType() != pb.BaseCommand_CLOSE_PRODUCER {
		t.Fatalf("after termination: %v", c)
	}
	if c := producer(r); c.GetError().GetError() != pb.ServerError_TopicTerminatedError {
		t.Fatalf("producer on a terminated topic: %v", c)
	}
	x := subscribe(t, d.client(), name, "sub", pulsar.Exclusive)
	if m := receive(t, x); string(m.Payload()) != "hello" {
		t.Fatalf("received %s", m.Payload())
	}
}
