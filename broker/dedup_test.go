package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// duplicate is the position in the receipt of what was stored before.
func duplicate() wire.Position { return wire.Position{Ledger: -1, Entry: -1} }

// last makes a producer and gives the last sequence id that the daemon knows of it.
func (r *raw) last(topic, name string) int64 {
	r.t.Helper()
	c := r.tryProduce(topic, name, 1)
	if c.GetProducerSuccess() == nil {
		r.t.Fatalf("producer: %v", c)
	}
	return c.GetProducerSuccess().GetLastSequenceId()
}

// sends publishes single messages one after another and wants each to be stored, or to be a duplicate.
func (r *raw) sends(from, to uint64, stored bool) {
	r.t.Helper()
	for i := from; i < to; i++ {
		r.send(i, i, []byte("x"))
		if got := r.receipt(); (got != duplicate()) != stored {
			r.t.Errorf("message %d: receipt %v, stored should be %v", i, got, stored)
		}
	}
}

func (d *daemon) connected() *raw {
	r := d.raw()
	r.connect()
	return r
}

// gone waits until no producer is attached.
func (d *daemon) gone(topic string) {
	d.t.Helper()
	eventually(d.t, "the producers are gone", func() bool { return len(d.topic(topic).Producers()) == 0 })
}

func TestDeduplication(t *testing.T) {
	var now clock
	cfg := config(t, t.TempDir())
	now.config(&cfg)
	d := startWith(t, cfg)
	name := newTopic()
	d.call(post, ofNamespace+"deduplication", "true", 204)
	r := d.connected()
	if got := r.last(name, "p"); got != -1 {
		t.Fatalf("last sequence id of a new producer: %d", got)
	}
	r.sends(0, 5, true)
	r.sends(2, 5, false)
	r.send(5, 9, nil) // a batch
	if r.receipt() == duplicate() {
		t.Error("a new batch counts as a duplicate")
	}
	r.send(5, 9, nil)
	if r.receipt() != duplicate() {
		t.Error("a batch was stored twice")
	}
	chunk := func(i int32) func(*wire.Send, *pb.MessageMetadata) {
		return func(s *wire.Send, m *pb.MessageMetadata) {
			s.IsChunk, m.NumChunksFromMsg, m.ChunkId, m.Uuid = true, proto.Int32(3), proto.Int32(i), proto.String("u")
			m.TotalChunkMsgSize = proto.Int32(3)
		}
	}
	for _, i := range []int32{0, 1, 0, 1, 2, 2} { // broken off after the second chunk, begun anew, the last one twice
		r.send(10, 10, []byte("c"), chunk(i))
	}
	var stored int
	for range 6 {
		if r.receipt() != duplicate() {
			stored++
		}
	}
	if stored != 3 {
		t.Errorf("%d chunks of a message of 3 were stored", stored)
	}
	stats, err := d.topic(name).Stats(context.Background(), statsOptions())
	if err != nil || stats.MsgInCounter != 13 || stats.DeduplicationStatus != "Enabled" {
		t.Errorf("published %d (want 13), %s, %v", stats.MsgInCounter, stats.DeduplicationStatus, err)
	}
	r.nc.Close()
	d.stop()

	d = startWith(t, cfg)
	r = d.connected()
	if got := r.last(name, "p"); got != 10 {
		t.Errorf("last sequence id after a restart: %d, want 10", got)
	}
	r.sends(10, 11, false)
	r.sends(11, 12, true)

	// Off for the topic: the producer is made anew, and what was known of it is out of date.
	d.call(post, ofTopic(name)+"deduplicationEnabled", "false", 204)
	if c := r.read(); c.GetType() != pb.BaseCommand_CLOSE_PRODUCER {
		t.Fatalf("want CLOSE_PRODUCER, got %v", c)
	}
	if got := r.last(name, "p"); got != -1 {
		t.Errorf("last sequence id without deduplication: %d", got)
	}
	r.sends(0, 3, true)
	d.call(del, ofTopic(name)+"deduplicationEnabled", "", 204)
	if c := r.read(); c.GetType() != pb.BaseCommand_CLOSE_PRODUCER {
		t.Fatalf("want CLOSE_PRODUCER, got %v", c)
	}
	if got := r.last(name, "p"); got != -1 {
		t.Errorf("last sequence id of what was published without deduplication: %d", got)
	}
	r.sends(0, 3, true)
	r.sends(0, 3, false)
	r.nc.Close()
	d.gone(name)

	// Producers that stored nothing for long are forgotten, those that are attached are not.
	other := d.connected()
	other.last(name, "attached")
	other.sends(0, 1, true)
	now.advance(cfg.ProducerMemory + time.Minute)
	d.Registry().CheckExpiry(context.Background())
	known := fmt.Sprint(len(d.topic(name).Storage().ProducerStates()))
	if known != "1" {
		t.Errorf("%s producers known, want the attached one", known)
	}
	other.sends(0, 1, false)
	if got := d.connected().last(name, "p"); got != -1 {
		t.Errorf("last sequence id of a forgotten producer: %d", got)
	}
}

// TestDeduplicationAfterOff: what was known before deduplication was off does not come back, also over restarts.
func TestDeduplicationAfterOff(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Deduplicate = true
	d := startWith(t, cfg)
	name := newTopic()
	r := d.connected()
	r.last(name, "p")
	r.sends(0, 9, true)
	d.stop()
	for _, on := range []bool{false, true} {
		cfg.Deduplicate = on
		d = startWith(t, cfg)
		r = d.connected()
		if got := r.last(name, "p"); got != -1 {
			t.Errorf("deduplication %v: last sequence id %d, want none", on, got)
		}
		r.sends(0, 2, true)
		d.stop()
	}
}

// fsyncs counts the log's.
func (d *daemon) fsyncs() uint64 {
	d.t.Helper()
	var m dto.Metric
	if err := d.Store().Pebble().LogWriter.FsyncLatency.Write(&m); err != nil {
		d.t.Fatal(err)
	}
	return m.GetHistogram().GetSampleCount()
}

// TestSyncModes counts the fsyncs of messages that are sent one by one; the last one may be counted after its receipt.
func TestSyncModes(t *testing.T) {
	d := start(t, func(c *broker.Config) { c.CursorFlushInterval = time.Hour })
	name := newTopic()
	r := d.connected()
	r.last(name, "p")
	const n = 40
	next := uint64(0)
	syncs := func(change ...func(*wire.Send, *pb.MessageMetadata)) uint64 {
		t.Helper()
		before := d.fsyncs()
		for range n {
			r.send(next, next, []byte("x"), change...)
			r.receipt()
			next++
		}
		return d.fsyncs() - before
	}
	force := func(_ *wire.Send, m *pb.MessageMetadata) {
		m.Properties = append(m.Properties, &pb.KeyValue{Key: proto.String("a"), Value: proto.String("true")},
			&pb.KeyValue{Key: proto.String("spool-force-sync"), Value: proto.String("true")})
	}
	if got := syncs(); got < n-1 {
		t.Errorf("sync batch: %d fsyncs for %d messages", got, n)
	}
	d.call(post, "/spool/v1/namespaces/public/default/sync", `"none"`, 204)
	if got := syncs(); got >= n/2 {
		t.Errorf("sync none: %d fsyncs for %d messages", got, n)
	}
	if got := syncs(force); got < n-1 {
		t.Errorf("sync none, forced: %d fsyncs for %d messages", got, n)
	}
	d.call(post, "/spool/v1"+ofTopic(name)[len("/admin/v2"):]+"sync", `"batch"`, 204)
	if got := syncs(); got < n-1 {
		t.Errorf("sync batch for the topic: %d fsyncs for %d messages", got, n)
	}
	d.call(post, "/spool/v1/namespaces/public/default/sync", `"maybe"`, 400)
}
