package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker"
	"spoolctl/broker/fault"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// clock is the real time with a leap that a test chooses.
type clock struct{ leap atomic.Int64 }

func (c *clock) now() time.Time            { return time.Now().Add(time.Duration(c.leap.Load())) }
func (c *clock) advance(d time.Duration)   { c.leap.Add(int64(d)) }
func (c *clock) config(cfg *broker.Config) { cfg.Now = c.now }

// call makes an admin call and wants a status; it gives the body.
func (d *daemon) call(method, path, body string, status int) string {
	d.t.Helper()
	req, err := http.NewRequest(method, fmt.Sprintf("http://127.0.0.1:%d%s", d.Endpoint().WebPort, path), strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if resp.StatusCode != status {
		d.t.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, raw, status)
	}
	return string(raw)
}

const (
	ofNamespace = "/admin/v2/namespaces/public/default/"
	get, post   = http.MethodGet, http.MethodPost
	put, del    = http.MethodPut, http.MethodDelete
)

// ofTopic is the path of a topic of the default namespace.
func ofTopic(name string) string {
	return "/admin/v2/persistent/" + strings.TrimPrefix(name, "persistent://") + "/"
}

// backlog counts a subscription's messages.
func (d *daemon) backlog(topic, sub string) int64 {
	d.t.Helper()
	return d.subscription(topic, sub).Cursor().Backlog().Messages
}

func TestMessageTTL(t *testing.T) {
	var now clock
	d := start(t, now.config)
	c := d.client()
	ctx := context.Background()
	short, long := newTopic(), newTopic()
	d.call(post, ofNamespace+"messageTTL", "600", 204)
	for _, name := range []string{short, long} {
		x := subscribe(t, c, name, "sub", pulsar.Shared, withResponse, func(o *pulsar.ConsumerOptions) { o.EnableBatchIndexAcknowledgment = true })
		subscribe(t, c, name, "other", pulsar.Shared)
		p := newProducer(t, c, name, batching(5))
		send(t, p, "m", 20)
		got := expect(t, x, "m", 0, 20)
		ack(t, x, got[7], got[10], got[11]) // holes, and parts of batches
	}
	d.call(post, ofTopic(long)+"messageTTL?messageTTL=7200", "", 204)
	d.Registry().CheckExpiry(ctx)
	if n := d.backlog(short, "sub"); n != 17 {
		t.Fatalf("backlog %d before anything is old, want 17", n)
	}
	now.advance(time.Hour)
	d.Registry().CheckExpiry(ctx)
	for _, name := range []string{short, long} {
		want := []int64{0, 0}
		if name == long {
			want = []int64{17, 20}
		}
		if a, b := d.backlog(name, "sub"), d.backlog(name, "other"); a != want[0] || b != want[1] {
			t.Errorf("%s: backlogs %d and %d after an hour, want %v", name, a, b, want)
		}
	}
	// What comes now is new for the producer's clock, and an hour old for the daemon's.
	send(t, newProducer(t, c, short), "late", 3)
	d.call(del, ofNamespace+"messageTTL", "", 204)
	d.Registry().CheckExpiry(ctx)
	if n := d.backlog(short, "sub"); n != 3 {
		t.Errorf("backlog %d without a policy, want 3", n)
	}
	d.call(post, ofTopic(short)+"all_subscription/expireMessages/60", "", 204)
	if n := d.backlog(short, "sub"); n != 0 {
		t.Errorf("backlog %d after expiring on request, want 0", n)
	}
}

// TestExpiryAtLedgerEdge: what expires ends with a ledger.
func TestExpiryAtLedgerEdge(t *testing.T) {
	var now clock
	d := start(t, now.config)
	name := newTopic()
	r := d.connected()
	r.last(name, "p")
	d.call(put, ofTopic(name)+"subscription/s", "", 204)
	send := func(n uint64, at time.Time) {
		for i := range n {
			r.send(i, i, nil, func(_ *wire.Send, m *pb.MessageMetadata) { m.PublishTime = proto.Uint64(uint64(at.UnixMilli())) })
			r.receipt()
		}
	}
	send(3, now.now())
	if err := d.topic(name).Storage().Roll(context.Background()); err != nil {
		t.Fatal(err)
	}
	now.advance(time.Hour)
	send(2, now.now())
	d.call(post, ofTopic(name)+"subscription/s/expireMessages/600", "", 204)
	if n := d.backlog(name, "s"); n != 2 {
		t.Errorf("backlog %d, want what is new", n)
	}
	stats, err := d.topic(name).Stats(context.Background(), statsOptions())
	if err != nil || stats.Subscriptions["s"].TotalMsgExpired != 3 {
		t.Errorf("expired %+v, %v", stats.Subscriptions["s"], err)
	}
}

func TestSubscriptionExpiry(t *testing.T) {
	var now clock
	d := start(t, now.config)
	c := d.client()
	ctx := context.Background()
	name := newTopic()
	d.call(post, ofNamespace+"subscriptionExpirationTime", "60", 204)
	subscribe(t, c, name, "attached", pulsar.Shared)
	left := subscribe(t, c, name, "left", pulsar.Shared)
	d.call(put, ofTopic(name)+"subscription/never-used", "", 204)
	now.advance(45 * time.Minute)
	left.Close()
	eventually(t, "the consumer is gone", func() bool { return len(d.subscription(name, "left").Consumers()) == 0 })
	now.advance(30 * time.Minute)
	d.Registry().CheckExpiry(ctx)
	if got := d.call(get, ofTopic(name)+"subscriptions", "", 200); got != `["attached","left"]` {
		t.Errorf("subscriptions %s: only the one that nobody used for an hour has to go", got)
	}
	now.advance(31 * time.Minute)
	d.Registry().CheckExpiry(ctx)
	if got := d.call(get, ofTopic(name)+"subscriptions", "", 200); got != `["attached"]` {
		t.Errorf("subscriptions %s, want the attached one", got)
	}
}

func TestInactiveTopics(t *testing.T) {
	var now clock
	d := start(t, now.config)
	c := d.client()
	ctx := context.Background()
	rule := func(mode string) string {
		return fmt.Sprintf(`{"inactiveTopicDeleteMode":%q,"maxInactiveDurationSeconds":600,"deleteWhileInactive":true}`, mode)
	}
	unused, subscribed, consumed, produced, kept := newTopic(), newTopic(), newTopic(), newTopic(), newTopic()
	for _, name := range []string{unused, subscribed, consumed, produced, kept} {
		d.call(put, strings.TrimSuffix(ofTopic(name), "/"), "", 204)
	}
	d.call(post, ofNamespace+"inactiveTopicPolicies", rule("delete_when_no_subscriptions"), 204)
	for _, name := range []string{subscribed, consumed} {
		d.call(put, ofTopic(name)+"subscription/s", `"earliest"`, 204)
	}
	d.call(post, ofTopic(consumed)+"inactiveTopicPolicies", rule("delete_when_subscriptions_caught_up"), 204)
	d.call(post, ofTopic(kept)+"retention", `{"retentionTimeInMinutes":-1,"retentionSizeInMB":-1}`, 204)
	for _, name := range []string{consumed, kept} {
		p := newProducer(t, c, name)
		send(t, p, "m", 1)
		p.Close()
	}
	p := newProducer(t, c, produced)
	exist := func(want ...string) {
		t.Helper()
		for _, name := range []string{unused, subscribed, consumed, produced, kept} {
			is, should := d.Registry().Exists(mustTopic(t, name)), false
			for _, w := range want {
				should = should || w == name
			}
			if is != should {
				t.Errorf("%s exists: %v, want %v", name, is, should)
			}
		}
	}
	eventually(t, "the producers are gone", func() bool { return len(d.topic(kept).Producers())+len(d.topic(consumed).Producers()) == 0 })
	d.Registry().CheckInactive(ctx)
	exist(unused, subscribed, consumed, produced, kept) // not long enough
	now.advance(11 * time.Minute)
	d.Registry().CheckInactive(ctx)
	exist(subscribed, consumed, produced, kept)
	d.call(post, ofTopic(consumed)+"subscription/s/skip_all", "", 204)
	d.Registry().CheckInactive(ctx)
	exist(subscribed, produced, kept)
	p.Close()
	eventually(t, "the last producer is gone", func() bool { return len(d.topic(produced).Producers()) == 0 })
	d.Registry().CheckInactive(ctx)
	exist(subscribed, produced, kept) // used a moment ago
	now.advance(11 * time.Minute)
	d.Registry().CheckInactive(ctx)
	exist(subscribed, kept)
	if got := d.call(get, "/spool/v1/history/topics/"+strings.Trim(strings.TrimPrefix(ofTopic(consumed), "/admin/v2/"), "/"), "", 200); !strings.HasPrefix(got, `[{"changed":`) || !strings.Contains(got, `"value":null`) {
		t.Errorf("history of a deleted topic's policies: %s", got)
	}
}

// TestPoliciesOfPartitions: partitions have the policies of their topic, also those that are loaded later.
func TestPoliciesOfPartitions(t *testing.T) {
	d := start(t)
	name := newTopic()
	d.call(put, ofTopic(name)+"partitions", "2", 204)
	d.call(post, ofNamespace+"maxProducersPerTopic", "5", 204)
	d.call(post, ofTopic(name)+"maxProducers", "1", 204)
	part := mustTopic(t, name).WithPartition(1)
	if err := d.Registry().Unload(context.Background(), part); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		path, want string
	}{
		{ofTopic(name) + "maxProducers", "1"},
		{ofTopic(name) + "maxProducers?applied=true", "1"},
		{ofTopic(name) + "maxConsumers?applied=true", "0"}, // the broker's
		{ofNamespace + "maxProducersPerTopic", "5"},
	} {
		if got := d.call(get, s.path, "", 200); got != s.want {
			t.Errorf("%s: %s, want %s", s.path, got, s.want)
		}
	}
	d.call(get, ofTopic(part.String())+"maxProducers", "", 405)
	producers := func(want int) {
		t.Helper()
		tp, err := d.Registry().Get(context.Background(), part)
		if err != nil {
			t.Fatal(err)
		}
		if got := tp.Policies().MaxProducers; got != want {
			t.Errorf("at most %d producers, want %d", got, want)
		}
	}
	producers(1)
	d.call(del, ofTopic(name)+"maxProducers", "", 204)
	producers(5)
	d.call(del, ofNamespace+"maxProducersPerTopic", "", 204)
	producers(0)
	d.call(del, ofTopic(name)+"partitions", "", 204)
	d.call(get, ofTopic(name)+"maxProducers", "", 404)
}

// TestLimits: each limit refuses the one that is too many, and a limit that is raised lets it in.
func TestLimits(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	newProducer(t, c, name)
	subscribe(t, c, name, "one", pulsar.Shared)
	tp := d.topic(name)
	for path, try := range map[string]func() error{
		"maxProducers": func() error {
			p, err := c.CreateProducer(pulsar.ProducerOptions{Topic: name})
			if err == nil {
				p.Close()
			}
			return err
		},
		"maxConsumers":                trySubscribe(c, name, "one"),
		"maxConsumersPerSubscription": trySubscribe(c, name, "one"),
		"maxSubscriptionsPerTopic":    trySubscribe(c, name, "two"),
		"maxMessageSize": func() error {
			return publishOnce(d, name, make([]byte, 2000))
		},
	} {
		limit := "1"
		if path == "maxMessageSize" {
			limit = "1000"
		}
		d.call(post, ofTopic(name)+path, limit, 204)
		if try() == nil {
			t.Errorf("%s: nothing was refused", path)
		}
		d.call(post, ofTopic(name)+path, "0", 204)
		if err := try(); err != nil {
			t.Errorf("%s without a limit: %v", path, err)
		}
		eventually(t, "those that were let in are gone", func() bool {
			return len(tp.Producers()) == 1 && len(tp.Subscriptions()[0].Consumers()) == 1
		})
	}
}

func TestSubscriptionTypes(t *testing.T) {
	d := start(t)
	c := d.client()
	name := newTopic()
	d.call(post, ofNamespace+"subscriptionTypesEnabled", `["Shared","Failover"]`, 204)
	d.call(put, ofTopic(name)[:len(ofTopic(name))-1], "", 204)
	try := func(typ pulsar.SubscriptionType) error {
		x, err := c.Subscribe(pulsar.ConsumerOptions{Topic: name, SubscriptionName: "s", Type: typ})
		if err == nil {
			x.Close()
		}
		return err
	}
	if err := try(pulsar.Exclusive); err == nil || !strings.Contains(err.Error(), "NotAllowed") {
		t.Errorf("Exclusive: %v", err)
	}
	if err := try(pulsar.Shared); err != nil {
		t.Errorf("Shared: %v", err)
	}
	d.call(post, ofTopic(name)+"subscriptionTypesEnabled", `["Exclusive"]`, 204)
	eventually(t, "the consumer is gone", func() bool { return len(d.subscription(name, "s").Consumers()) == 0 })
	if err := try(pulsar.Exclusive); err != nil {
		t.Errorf("Exclusive where the topic allows it: %v", err)
	}
}

func trySubscribe(c pulsar.Client, topic, name string) func() error {
	return func() error {
		x, err := c.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: name, Type: pulsar.Shared})
		if err == nil {
			x.Close()
		}
		return err
	}
}

// TestRunTimeSettings changes the broker's policies while it runs, over a restart.
func TestRunTimeSettings(t *testing.T) {
	cfg := config(t, t.TempDir())
	d := startWith(t, cfg)
	const base = "/admin/v2/brokers/configuration"
	var names []string
	if err := json.Unmarshal([]byte(d.call(get, base, "", 200)), &names); err != nil || len(names) < 20 {
		t.Fatalf("names %v, %v", names, err)
	}
	open := func() error {
		_, err := d.Registry().PartitionCount(context.Background(), mustTopic(t, newTopic()), true)
		return err
	}
	d.call(post, base+"/allowAutoTopicCreation/false", "", 200)
	if err := open(); !fault.Is(err, fault.TopicNotFound) {
		t.Fatalf("a topic where none may be created: %v", err)
	}
	// As Pulsar: what cannot be used is kept and has no effect.
	odd := `{"key/123":"https://example.com/"}`
	d.call(post, base+"/allowAutoSubscriptionCreation/%7B%22key%2F123%22%3A%22https%3A%2F%2Fexample.com%2F%22%7D", "", 200)
	values := func() (out map[string]string) {
		t.Helper()
		if err := json.Unmarshal([]byte(d.call(get, base+"/values", "", 200)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := values(); got["allowAutoSubscriptionCreation"] != odd || got["allowAutoTopicCreation"] != "false" {
		t.Errorf("values %v", got)
	}
	d.call(post, base+"/clusterName/moon", "", 412)
	d.call(post, base+"/nonsense/1", "", 412)
	d.stop()

	d = startWith(t, cfg)
	if err := open(); !fault.Is(err, fault.TopicNotFound) {
		t.Fatalf("after a restart: %v", err)
	}
	if got := d.call(get, base+"/runtime", "", 200); !strings.Contains(got, `"allowAutoTopicCreation":"false"`) || !strings.Contains(got, `"clusterName":"standalone"`) {
		t.Errorf("runtime %s", got)
	}
	d.call(del, base+"/auto-create-topics", "", 204) // our name for it
	if err := open(); err != nil {
		t.Fatalf("after it was taken back: %v", err)
	}
	var history []struct{ Value map[string]string }
	if err := json.Unmarshal([]byte(d.call(get, "/spool/v1/history/settings", "", 200)), &history); err != nil || len(history) != 3 {
		t.Fatalf("history %v, %v", history, err)
	}
	if len(history[0].Value) != 1 || len(history[1].Value) != 2 {
		t.Errorf("history %v", history)
	}
}

// publishOnce sends one message with a producer of its own and gives what the daemon refuses.
func publishOnce(d *daemon, topic string, payload []byte) error {
	r := d.raw()
	r.connect()
	if err := r.produce(topic, "", 1); err != nil {
		return err
	}
	r.send(0, 0, payload)
	c := r.read()
	r.nc.Close()
	if e := c.GetSendError(); e != nil {
		return fmt.Errorf("%v: %s", e.GetError(), e.GetMessage())
	}
	return nil
}

// TestUnloadedTopicsExpire: messages of topics that nobody has used since the start expire too, their ledgers go, and the
// topics are not kept loaded for it. A topic without such a policy is not touched.
func TestUnloadedTopicsExpire(t *testing.T) {
	var now clock
	cfg := config(t, t.TempDir())
	now.config(&cfg)
	d := startWith(t, cfg)
	ctx := context.Background()
	expires, stays := newTopic(), newTopic()
	for _, name := range []string{expires, stays} {
		d.call(put, ofTopic(name)+"subscription/s", "", 204)
		send(t, newProducer(t, d.client(), name), "m", 10)
	}
	d.call(post, ofTopic(expires)+"messageTTL?messageTTL=600", "", 204)
	d.stop()

	d = startWith(t, cfg)
	now.advance(time.Hour)
	d.Registry().CheckUnloaded(ctx)
	for _, name := range []string{expires, stays} {
		if d.Registry().Peek(mustTopic(t, name)) != nil {
			t.Errorf("%s is loaded", name)
		}
	}
	if a, b := d.backlog(expires, "s"), d.backlog(stays, "s"); a != 0 || b != 10 {
		t.Errorf("backlogs %d and %d, want 0 and 10", a, b)
	}
}
