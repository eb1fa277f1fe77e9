package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker"
	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// keyed gives the i-th message one of n keys.
func keyed(n int) func(int, *pulsar.ProducerMessage) {
	return func(i int, m *pulsar.ProducerMessage) { m.Key = fmt.Sprintf("k%d", i%n) }
}

// compact compacts a topic and waits until that is done.
func (d *daemon) compact(name string) {
	d.t.Helper()
	d.call(put, ofTopic(name)+"compaction", "", 204)
	d.awaitJob(ofTopic(name) + "compaction")
}

// awaitJob waits until work in the background has succeeded.
func (d *daemon) awaitJob(path string) {
	d.t.Helper()
	eventually(d.t, path, func() bool {
		var s topic.JobStatus
		d.decode(path, &s)
		if s.Status == "ERROR" {
			d.t.Fatal(s.LastError)
		}
		return s.Status == "SUCCESS"
	})
}

// decode makes an admin call and decodes what it answers.
func (d *daemon) decode(path string, into any) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(d.call(get, path, "", 200)), into); err != nil {
		d.t.Fatal(err)
	}
}

func compactedReader(t *testing.T, c pulsar.Client, name string, from pulsar.MessageID) pulsar.Reader {
	t.Helper()
	r, err := c.CreateReader(pulsar.ReaderOptions{Topic: name, StartMessageID: from, ReadCompacted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// contents reads all that a reader gets now.
func contents(t *testing.T, r pulsar.Reader) (out []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for r.HasNext() {
		m, err := r.Next(ctx)
		if err != nil {
			t.Fatalf("after %q: %v", out, err)
		}
		out = append(out, m.Key()+"="+string(m.Payload()))
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
}

// TestCompaction: readers of the compacted topic get the last message of each key, others get all; nobody sees compaction's
// cursor as a subscription, which keeps nobody from anything.
func TestCompaction(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Ledger.MaxEntries = 10
	cfg.DeleteInactive, cfg.InactiveCheck = true, 0
	var now clock
	now.config(&cfg)
	d := startWith(t, cfg)
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name)
	plain := subscribe(t, c, name, "plain", pulsar.Exclusive, withResponse)
	send(t, p, "m", 40, keyed(4))
	if s := d.call(get, ofTopic(name)+"compaction", "", 200); s != `{"status":"NOT_RUN","lastError":""}` {
		t.Errorf("status before: %s", s)
	}
	d.compact(name)
	want := []string{"k0=m-36", "k1=m-37", "k2=m-38", "k3=m-39"}
	r := compactedReader(t, c, name, pulsar.EarliestMessageID())
	same(t, "compacted", contents(t, r), want)
	send(t, p, "live", 1, keyed(4))
	same(t, "what came since", contents(t, r), []string{"k0=live-0"})
	same(t, "from the latest on", contents(t, compactedReader(t, c, name, pulsar.LatestMessageID())), nil)

	ack(t, plain, expect(t, plain, "m", 0, 40)...)
	d.checkShown(name)

	// What nobody else needs goes, and stays in the compacted topic.
	eventually(t, "trimming", func() bool {
		d.Registry().CheckCompaction(context.Background()) // readers that are there still pass what they did not get
		var st topic.ManagedLedgerInternalStats
		d.decode(ofTopic(name)+"internalStats", &st)
		return len(st.Ledgers) < 4
	})
	same(t, "trimmed", contents(t, compactedReader(t, c, name, pulsar.EarliestMessageID())), append(want, "k0=live-0"))

	// A deletion as the last message leaves nothing to wait for.
	send(t, p, "", 1, func(_ int, m *pulsar.ProducerMessage) { m.Key, m.Payload = "k3", nil })
	d.compact(name)
	want = []string{"k1=m-37", "k2=m-38", "k0=live-0"}
	same(t, "after a deletion", contents(t, compactedReader(t, c, name, pulsar.EarliestMessageID())), want)
	newProducer(t, c, name, func(o *pulsar.ProducerOptions) { o.Schema = pulsar.NewStringSchema(nil) })
	tv, err := c.CreateTableView(pulsar.TableViewOptions{Topic: name, Schema: pulsar.NewStringSchema(nil), SchemaValueType: reflect.TypeFor[*string]()})
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	for k, v := range tv.Entries() {
		table = append(table, k+"="+*v.(*string))
	}
	slices.Sort(table)
	same(t, "table view", table, []string{"k0=live-0", "k1=m-37", "k2=m-38"})

	tv.Close()
	c.Close()
	d.stop()
	d = startWith(t, cfg)
	c = d.client()
	same(t, "after a restart", contents(t, compactedReader(t, c, name, pulsar.EarliestMessageID())), want)
	d.checkShown(name)
	d.call(del, ofTopic(name)+"subscription/plain?force=true", "", 204)
	c.Close()
	tp, err := d.Registry().Get(context.Background(), mustTopic(t, name))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the readers are gone", func() bool { return len(tp.Subscriptions()) == 0 })
	now.advance(1e15)
	d.Registry().CheckInactive(context.Background())
	d.call(get, ofTopic(name)+"stats", "", 404)
}

// checkShown checks where compaction's cursor is shown and where it is not.
func (d *daemon) checkShown(name string) {
	t := d.t
	t.Helper()
	on := ofTopic(name)
	var subs []string
	if d.decode(on+"subscriptions", &subs); slices.Contains(subs, storage.CompactionCursor) {
		t.Errorf("subscriptions: %v", subs)
	}
	var st topic.TopicStats
	if d.decode(on+"stats", &st); st.Subscriptions[storage.CompactionCursor] != nil {
		t.Error("it is in the statistics")
	}
	if strings.Contains(d.call(get, "/metrics", "", 200), storage.CompactionCursor) {
		t.Error("it is in the metrics")
	}
	var in topic.ManagedLedgerInternalStats
	d.decode(on+"internalStats", &in)
	cursor := in.Cursors[storage.CompactionCursor]
	if cursor == nil || in.CompactedLedger.LedgerID < 0 || in.CompactedLedger.Entries < 3 || cursor.Properties["CompactedTopicLedger"] != in.CompactedLedger.LedgerID {
		t.Errorf("internal statistics: %+v, cursor %+v", in.CompactedLedger, cursor)
	}
	var info struct {
		Cursors map[string]struct{ Properties map[string]int64 }
	}
	if d.decode(on+"internal-info", &info); info.Cursors[storage.CompactionCursor].Properties["CompactedTopicLedger"] != in.CompactedLedger.LedgerID {
		t.Errorf("internal-info: %v", info.Cursors)
	}
	d.call(del, on+"subscription/"+storage.CompactionCursor, "", 404)
	d.call(post, on+"subscription/"+storage.CompactionCursor+"/skip_all", "", 404)
	d.call(put, on+"subscription/"+storage.CompactionCursor, "", 405)
	r := d.raw()
	r.connect()
	r.command(&pb.BaseCommand{Type: pb.BaseCommand_SUBSCRIBE.Enum(), Subscribe: &pb.CommandSubscribe{
		Topic: &name, Subscription: proto.String(storage.CompactionCursor), SubType: pb.CommandSubscribe_Exclusive.Enum(), ConsumerId: proto.Uint64(1), RequestId: proto.Uint64(1),
	}})
	if got := r.read(); got.GetError().GetError() != pb.ServerError_NotAllowedError {
		t.Errorf("a subscription of its name: %v", got)
	}
}

// TestCompactedBatches: of a batch those messages count that compaction left.
func TestCompactedBatches(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name, batching(4))
	send(t, p, "m", 8, keyed(4), func(i int, m *pulsar.ProducerMessage) {
		if i == 7 {
			m.Payload = nil
		}
	})
	d.compact(name)
	for range 2 {
		same(t, "batches", contents(t, compactedReader(t, c, name, pulsar.EarliestMessageID())), []string{"k0=m-4", "k1=m-5", "k2=m-6"})
	}
	var st topic.TopicStats
	d.decode(ofTopic(name)+"stats", &st)
	if x := st.Compaction; x == nil || x.Removed == nil || *x.Removed != 5 || x.Succeeded == 0 || x.Failed != 0 {
		t.Errorf("statistics: %+v", x)
	}
	send(t, p, "", 4, keyed(4), func(_ int, m *pulsar.ProducerMessage) { m.Payload = nil })
	d.compact(name)
	if r := compactedReader(t, c, name, pulsar.EarliestMessageID()); r.HasNext() {
		t.Error("there is something to read where everything was deleted")
	}
}

// TestFailoverReadsCompacted: each active consumer of a subscription gets what it asked for.
func TestFailoverReadsCompacted(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	send(t, newProducer(t, c, name), "m", 6, keyed(2))
	d.compact(name)
	x := subscribe(t, c, name, "sub", pulsar.Failover, func(o *pulsar.ConsumerOptions) { o.ReadCompacted = true })
	expect(t, x, "m", 4, 6)
	y := subscribe(t, d.client(), name, "sub", pulsar.Failover)
	x.Close()
	expect(t, y, "m", 0, 6)
	if _, err := c.Subscribe(pulsar.ConsumerOptions{Topic: name, SubscriptionName: "shared", Type: pulsar.Shared, ReadCompacted: true}); err == nil {
		t.Error("a shared subscription reads compacted")
	}
}

// TestCompactionThreshold: a topic is compacted when as much came as its policy says, and not again before that comes anew.
func TestCompactionThreshold(t *testing.T) {
	d := start(t, func(c *broker.Config) { c.CompactionCheck = 0 })
	c := d.client()
	name := newTopic()
	p := newProducer(t, c, name)
	send(t, p, "m", 20, keyed(2))
	tp, err := d.Registry().Get(context.Background(), mustTopic(t, name))
	if err != nil {
		t.Fatal(err)
	}
	check := func() string { // what it starts is running when it returns
		d.Registry().CheckCompaction(context.Background())
		var s topic.JobStatus
		d.decode(ofTopic(name)+"compaction", &s)
		return s.Status
	}
	if s := check(); s != "NOT_RUN" {
		t.Fatalf("without a policy: %s", s)
	}
	d.call(put, ofNamespace+"compactionThreshold", "1000000", 204)
	if s := check(); s != "NOT_RUN" {
		t.Fatalf("below the threshold: %s", s)
	}
	d.call(post, ofTopic(name)+"compactionThreshold", "1000", 204)
	if s := check(); s == "NOT_RUN" {
		t.Fatal("above the threshold nothing was compacted")
	}
	d.awaitJob(ofTopic(name) + "compaction")
	first := tp.Storage().Compaction()
	if s := check(); s != "SUCCESS" || tp.Storage().Compaction() != first {
		t.Fatalf("compacted again though nothing came: %s", s)
	}
	send(t, p, "n", 20, keyed(2))
	check()
	eventually(t, "the second compaction", func() bool { return tp.Storage().Compaction().Ledger != first.Ledger })
	same(t, "compacted", contents(t, compactedReader(t, c, name, pulsar.EarliestMessageID())), []string{"k0=n-18", "k1=n-19"})
	if effective := d.call(get, "/admin/v2/brokers/configuration/runtime", "", 200); !strings.Contains(effective, `"brokerServiceCompactionThresholdInBytes":"0"`) {
		t.Errorf("settings: %s", effective)
	}
}

// TestCompactionIsOwned: a compaction is refused while one runs, and a topic that is closed ends its own.
func TestCompactionIsOwned(t *testing.T) {
	ctx := context.Background()
	var g gate
	store, err := storage.Open(ctx, storage.Options{Dir: t.TempDir(), FS: errorfs.Wrap(vfs.Default, &g)})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := topic.New(ctx, topic.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		g.open()
		for _, end := range []func(context.Context) error{registry.Close, store.Close} {
			if err := end(ctx); err != nil {
				t.Error(err)
			}
		}
	}()
	topics := map[string]*topic.Topic{}
	for range 2 {
		name := newTopic()
		if topics[name], err = registry.Create(ctx, mustTopic(t, name), nil); err != nil {
			t.Fatal(err)
		}
		entry := wire.BuildEntry(&pb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(0), PublishTime: proto.Uint64(1), PartitionKey: proto.String("k")}, []byte("x"))
		if err := topics[name].Storage().Append(storage.Append{Data: entry, PublishTime: 1, Messages: 1}); err != nil {
			t.Fatal(err)
		}
	}
	g.close()
	status := func(x *topic.Topic) string {
		s, err := x.CompactionStatus()
		if err != nil {
			t.Fatal(err)
		}
		return s.Status
	}
	for _, x := range topics { // one runs, the other waits
		if err := x.Compact(); err != nil {
			t.Fatal(err)
		}
		if err := x.Compact(); !fault.Is(err, fault.Conflict) || status(x) != "RUNNING" {
			t.Fatalf("a second compaction: %v, %s", err, status(x))
		}
	}
	ended := make(chan error, len(topics))
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		go func() { ended <- registry.Unload(ctx, mustTopic(t, name)) }()
	}
	for _, x := range topics {
		eventually(t, "the end of a compaction", func() bool { return status(x) != "RUNNING" })
		if err := x.Compact(); !fault.Is(err, fault.NotReady) {
			t.Errorf("compaction of a topic that is closing: %v", err)
		}
	}
	g.open()
	for range topics {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
