package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"spoolctl/broker"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// produce makes a producer; name "" lets the daemon choose.
func (r *raw) produce(topic, name string, id uint64) error {
	r.t.Helper()
	c := r.tryProduce(topic, name, id)
	if e := c.GetError(); e != nil {
		return fmt.Errorf("%v: %s", e.GetError(), e.GetMessage())
	}
	return nil
}

func (r *raw) tryProduce(topic, name string, id uint64) *pb.BaseCommand {
	r.t.Helper()
	p := &pb.CommandProducer{Topic: proto.String(topic), ProducerId: proto.Uint64(id), RequestId: proto.Uint64(id)}
	if name != "" {
		p.ProducerName, p.UserProvidedProducerName = proto.String(name), proto.Bool(true)
	}
	r.command(&pb.BaseCommand{Type: pb.BaseCommand_PRODUCER.Enum(), Producer: p})
	return r.read()
}

// send publishes messages first..last as one entry, with producer 1.
func (r *raw) send(first, last uint64, payload []byte, change ...func(*wire.Send, *pb.MessageMetadata)) {
	r.t.Helper()
	s := wire.Send{ProducerID: 1, SequenceID: first, NumMessages: 1}
	m := &pb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(first), PublishTime: proto.Uint64(uint64(time.Now().UnixMilli()))}
	if last > first {
		n := int32(last - first + 1)
		s.HighestSequenceID, s.NumMessages = last, n
		m.NumMessagesInBatch, m.HighestSequenceId = &n, &last
	}
	for _, f := range change {
		f(&s, m)
	}
	r.write(wire.AppendSend(nil, s, wire.BuildEntry(m, payload)))
}

// receipt reads the answer to a send.
func (r *raw) receipt() wire.Position {
	r.t.Helper()
	c := r.read()
	id := c.GetSendReceipt().GetMessageId()
	if id == nil {
		r.t.Fatalf("want a receipt, got %v", c)
	}
	return wire.Position{Ledger: int64(id.GetLedgerId()), Entry: int64(id.GetEntryId())}
}

func TestBacklogQuotas(t *testing.T) {
	for _, kind := range []string{"destination_storage", "message_age"} {
		for policy, code := range map[string]pb.ServerError{
			"producer_request_hold":     pb.ServerError_ProducerBlockedQuotaExceededError,
			"producer_exception":        pb.ServerError_ProducerBlockedQuotaExceededException,
			"consumer_backlog_eviction": pb.ServerError_UnknownError,
		} {
			t.Run(kind+"/"+policy, func(t *testing.T) {
				t.Parallel()
				var now clock
				d := start(t, now.config, func(c *broker.Config) { c.QuotaCheck = 0 })
				name := newTopic()
				d.call(put, ofTopic(name)[:len(ofTopic(name))-1], "", 204)
				d.call(put, ofTopic(name)+"subscription/slow", "", 204)
				d.call(put, ofTopic(name)+"subscription/fast", "", 204)
				d.call(post, ofNamespace+"backlogQuota?backlogQuotaType="+kind, fmt.Sprintf(`{"limit":"10240","limitTime":600,"policy":%q}`, policy), 204)
				r := d.raw()
				r.connect()
				if err := r.produce(name, "", 1); err != nil {
					t.Fatal(err)
				}
				const n = 20
				for i := range uint64(n) {
					r.send(i, i, make([]byte, 1000))
					r.receipt()
				}
				d.call(post, ofTopic(name)+"subscription/fast/skip_all", "", 204)
				now.advance(time.Hour)
				d.call(get, "/admin/v2/brokers/backlog-quota-check", "", 204)
				left := d.backlog(name, "slow")
				if policy == "consumer_backlog_eviction" {
					r.send(n, n, nil) // the producer stays
					r.receipt()
					if want := map[string]int64{"destination_storage": 9, "message_age": 0}[kind]; left > want || left < want-2 {
						t.Errorf("%d of %d messages left, want %d or a little less", left, n, want)
					}
					return
				}
				if left != n {
					t.Errorf("%d messages left, want all", left)
				}
				if c := r.read(); c.GetType() != pb.BaseCommand_CLOSE_PRODUCER {
					t.Fatalf("want CLOSE_PRODUCER, got %v", c)
				}
				if c := r.tryProduce(name, "", 1); c.GetError().GetError() != code {
					t.Fatalf("producer on a topic with too much backlog: %v, want %v", c, code)
				}
				d.call(post, ofTopic(name)+"subscription/slow/skip_all", "", 204)
				if err := r.produce(name, "", 1); err != nil {
					t.Fatalf("after the backlog was cleared: %v", err)
				}
			})
		}
	}
}

// TestQuotaOfTopic: a topic's quota takes the place of its namespace's, one kind at a time.
func TestQuotaOfTopic(t *testing.T) {
	d := start(t)
	name := newTopic()
	d.call(put, ofTopic(name)[:len(ofTopic(name))-1], "", 204)
	d.call(post, ofNamespace+"backlogQuota", `{"limitSize":1000,"policy":"producer_exception"}`, 204)
	d.call(post, ofTopic(name)+"backlogQuota?backlogQuotaType=message_age", `{"limitTime":60,"policy":"producer_request_hold"}`, 204)
	for path, want := range map[string]string{
		ofNamespace + "backlogQuotaMap":                `{"destination_storage":{"limit":1000,"limitSize":1000,"limitTime":0,"policy":"producer_exception"}}`,
		ofTopic(name) + "backlogQuotaMap":              `{"message_age":{"limit":0,"limitSize":0,"limitTime":60,"policy":"producer_request_hold"}}`,
		ofTopic(name) + "backlogQuotaMap?applied=true": `{"destination_storage":{"limit":1000,"limitSize":1000,"limitTime":0,"policy":"producer_exception"},"message_age":{"limit":0,"limitSize":0,"limitTime":60,"policy":"producer_request_hold"}}`,
	} {
		if got := d.call(get, path, "", 200); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	d.call(post, ofTopic(name)+"backlogQuota", `{"limitSize":-1,"policy":"producer_exception"}`, 204) // no limit here
	d.call(put, ofTopic(name)+"subscription/s", "", 204)
	if err := publishOnce(d, name, make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	d.Registry().CheckQuotas(context.Background())
	if err := publishOnce(d, name, nil); err != nil {
		t.Errorf("a topic without a quota of its own making: %v", err)
	}
	d.call(del, ofTopic(name)+"backlogQuota", "", 204)
	if err := publishOnce(d, name, nil); err == nil {
		t.Error("the namespace's quota does not hold")
	}
	d.call(post, ofNamespace+"backlogQuota", `{"limitSize":1,"policy":"pray"}`, 400)
	d.call(post, ofNamespace+"backlogQuota?backlogQuotaType=moon", `{"limitSize":1,"policy":"producer_exception"}`, 400)
}
