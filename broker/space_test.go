package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire/pb"
)

// disk is a file system with as much room as a test wants.
type disk struct {
	vfs.FS
	free atomic.Uint64
}

// GetDiskUsage implements vfs.FS.
func (d *disk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

// TestFullDisk: while there is no room, messages are refused so that clients send them again later, and consumers go on.
func TestFullDisk(t *testing.T) {
	fs := &disk{FS: vfs.Default}
	fs.free.Store(1 << 30)
	x := serve(t, storage.Options{FS: fs}, topic.Defaults{AutoCreateTopics: true, AutoCreateSubscriptions: true})
	full := func() bool {
		var e *storage.NoSpaceError
		return errors.As(x.store.Health(), &e)
	}
	d := &daemon{t: t, at: x.address}
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name)
	y := subscribe(t, c, name, "sub", pulsar.Shared, withResponse)
	send(t, p, "m", 3)
	r := x.raw()
	r.connect()
	if err := r.produce(name, "", 1); err != nil {
		t.Fatal(err)
	}

	fs.free.Store(1 << 20)
	eventually(t, "the disk is found full", full)
	r.send(0, 0, []byte("x"))
	if got := r.read(); got.GetType() != pb.BaseCommand_CLOSE_PRODUCER {
		t.Fatalf("a message that was refused: %v", got)
	}
	got := r.tryProduce(name, "", 2).GetError()
	if got.GetError() != pb.ServerError_ServiceNotReady || !strings.Contains(got.GetMessage(), "disk is nearly full") || strings.Contains(got.GetMessage(), x.store.Dir()) {
		t.Errorf("a new producer: %v", got)
	}
	sent := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p.SendAsync(ctx, &pulsar.ProducerMessage{Payload: fmtMessage("m", 3)}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) { sent <- err })
	ack(t, y, expect(t, y, "m", 0, 3)...)
	subscribe(t, c, name, "new", pulsar.Exclusive)
	select {
	case err := <-sent:
		t.Fatalf("a message was stored without room: %v", err)
	default:
	}

	fs.free.Store(1 << 30)
	eventually(t, "there is room again", func() bool { return !full() })
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	expect(t, y, "m", 3, 4)
}

// TestFullDiskIsShown: health, metrics and a producer say that the disk is full; where and how full, only the log does.
func TestFullDiskIsShown(t *testing.T) {
	d := start(t, func(c *broker.Config) { c.MinFreeBytes = 1 << 60 })
	eventually(t, "the disk is found full", func() bool { return d.Store().Health() != nil })
	var health struct{ Status, Reason string }
	if err := json.Unmarshal([]byte(d.call(get, "/spool/v1/health", "", 503)), &health); err != nil || health.Status != "unhealthy" ||
		health.Reason != "the disk is nearly full and messages are refused; make room, or lower min-free-space" {
		t.Errorf("%+v, %v", health, err)
	}
	for _, path := range []string{"health", "ready"} {
		if got := d.call(get, "/admin/v2/brokers/"+path, "", 503); got != fmt.Sprintf(`{"reason":%q}`, health.Reason) {
			t.Errorf("%s: %s", path, got)
		}
	}
	metrics := d.call(get, "/metrics", "", 200)
	for _, want := range []string{`spoold_store_full{cluster="standalone"} 1`, `spoold_store_healthy{cluster="standalone"} 0`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	r := d.raw()
	r.connect()
	name := newTopic()
	r.command(&pb.BaseCommand{Type: pb.BaseCommand_PRODUCER.Enum(), Producer: &pb.CommandProducer{
		Topic: proto.String("non-" + name), ProducerId: proto.Uint64(1), RequestId: proto.Uint64(1),
	}})
	if got := r.read(); got.GetType() != pb.BaseCommand_PRODUCER_SUCCESS {
		t.Errorf("a topic that stores nothing: %v", got)
	}
	if got := r.tryProduce(name, "", 2); got.GetError().GetError() != pb.ServerError_ServiceNotReady {
		t.Errorf("a producer: %v", got)
	}
	// Without limits there is none.
	d = start(t, func(c *broker.Config) { c.MinFreeBytes, c.MinFreeInodes = 0, 0 })
	r = d.raw()
	r.connect()
	if err := r.produce(name, "", 1); err != nil {
		t.Error(err)
	}
	if got := d.call(get, "/metrics", "", 200); !strings.Contains(got, `spoold_store_full{cluster="standalone"} 0`) {
		t.Error("no metric without a full disk")
	}
}
