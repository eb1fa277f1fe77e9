package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"spoolctl/live/scrape"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/google/go-cmp/cmp"
)

// counts are what three places say about one subscription.
type counts struct{ Messages, Bytes, Ranges int64 }

// holding is what they say about one topic. The admin API has no count of the stored messages.
type holding struct{ Entries, Messages, Bytes int64 }

// TestThreePlacesAgree makes traffic of several kinds with the official client, asks the admin API and /metrics, stops the
// broker and asks the inspector: all must say the same. Then it lists what each subscription would get next, restarts the
// broker and receives: it must be exactly that, in that order.
func TestThreePlacesAgree(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	b := startBroker(t, spool)
	makeTraffic(t, b)
	live, scraped := fromAdmin(t, b), fromMetrics(t, b)
	if diff := cmp.Diff(live, scraped); diff != "" {
		t.Errorf("admin API and metrics differ:\n%s", diff)
	}
	topics := storedByMetrics(t, b)
	for name, s := range topics {
		var internal struct{ NumberOfEntries, TotalSize int64 }
		getJSON(t, b, name+"/internalStats", &internal)
		if internal.NumberOfEntries != s.Entries || internal.TotalSize != s.Bytes {
			t.Errorf("%s: the admin API says %+v, metrics say %+v", name, internal, s)
		}
	}
	b.end(syscall.SIGTERM)
	if diff := cmp.Diff(topics, storedByInspector(t, spool)); diff != "" {
		t.Errorf("metrics and inspector differ about what is stored:\n%s", diff)
	}

	if diff := cmp.Diff(live, fromInspector(t, spool)); diff != "" {
		t.Errorf("admin API and inspector differ:\n%s", diff)
	}
	pending := map[string][]string{}
	for _, k := range kinds() {
		pending[k.topic+"/"+k.sub] = pendingOf(t, spool, k.topic, k.sub)
		if len(pending[k.topic+"/"+k.sub]) == 0 {
			t.Errorf("%s/%s: the inspector lists nothing pending", k.topic, k.sub)
		}
	}
	ctl(t, exitOK, "inspect", "verify", "--spool", spool)

	b = startBroker(t, spool)
	for _, k := range kinds() {
		want := pending[k.topic+"/"+k.sub]
		if diff := cmp.Diff(want, receive(t, b, k, len(want))); diff != "" {
			t.Errorf("%s/%s: the inspector's list and what came differ:\n%s", k.topic, k.sub, diff)
		}
	}
}

// kind is one subscription of the traffic.
type kind struct {
	topic, sub string
	typ        pulsar.SubscriptionType
	batch      bool
}

func kinds() []kind {
	return []kind{
		{"single", "shared", pulsar.Shared, false}, {"single", "exclusive", pulsar.Exclusive, false},
		{"single", "failover", pulsar.Failover, false}, {"single", "keys", pulsar.KeyShared, false},
		{"batched", "shared", pulsar.Shared, true}, {"batched", "exclusive", pulsar.Exclusive, true},
	}
}

func (k kind) consumer(t *testing.T, c pulsar.Client) pulsar.Consumer {
	t.Helper()
	cons, err := c.Subscribe(pulsar.ConsumerOptions{
		Topic: k.topic, SubscriptionName: k.sub, Type: k.typ, SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
		AckWithResponse: true, EnableBatchIndexAcknowledgment: true, ReceiverQueueSize: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return cons
}

const agreeMessages = 200

// makeTraffic publishes to both topics and acknowledges in patterns: every third on shared subscriptions, everything up to
// a point on exclusive ones.
func makeTraffic(t *testing.T, b *broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client := b.client()
	defer client.Close()
	for _, k := range kinds() {
		k.consumer(t, client).Close()
	}
	for _, topic := range []string{"single", "batched"} {
		p, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic, DisableBatching: topic == "single", BatchingMaxMessages: 10, BatchingMaxPublishDelay: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for i := range agreeMessages {
			p.SendAsync(ctx, &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "%s-%d", topic, i), Key: fmt.Sprint("k", i%7)}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
				if err != nil {
					t.Errorf("publish: %v", err)
				}
			})
		}
		if err := p.FlushWithCtx(ctx); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	for _, k := range kinds() {
		cons := k.consumer(t, client)
		var ids []pulsar.MessageID
		for range agreeMessages {
			m, err := cons.Receive(ctx)
			if err != nil {
				t.Fatalf("%s/%s: %v", k.topic, k.sub, err)
			}
			ids = append(ids, m.ID())
		}
		if k.typ == pulsar.Shared || k.typ == pulsar.KeyShared {
			for i := 0; i < len(ids); i += 3 {
				if err := cons.AckID(ids[i]); err != nil {
					t.Fatalf("%s/%s: ack: %v", k.topic, k.sub, err)
				}
			}
		} else if err := cons.AckIDCumulative(ids[123]); err != nil {
			t.Fatalf("%s/%s: ack: %v", k.topic, k.sub, err)
		}
		cons.Close()
	}
}

func fromAdmin(t *testing.T, b *broker) map[string]counts {
	t.Helper()
	out := map[string]counts{}
	for _, topic := range []string{"single", "batched"} {
		var stats struct {
			Subscriptions map[string]struct {
				MsgBacklog, BacklogSize            int64
				NonContiguousDeletedMessagesRanges int64
			}
		}
		getJSON(t, b, topic+"/stats?subscriptionBacklogSize=true&getPreciseBacklog=true", &stats)
		for name, s := range stats.Subscriptions {
			out[topic+"/"+name] = counts{s.MsgBacklog, s.BacklogSize, s.NonContiguousDeletedMessagesRanges}
		}
	}
	return out
}

// getJSON asks the admin API about a topic of the default namespace.
func getJSON(t *testing.T, b *broker, path string, into any) {
	t.Helper()
	resp, err := http.Get(b.web() + "/admin/v2/persistent/public/default/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func metrics(t *testing.T, b *broker) *scrape.Snapshot {
	t.Helper()
	s, err := scrape.New(scrape.Options{URL: b.web() + "/metrics"})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Scrape(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// whole is a metric that must be known.
func whole(t *testing.T, v scrape.Value) int64 {
	t.Helper()
	f, known := v.Get()
	if !known {
		t.Error("a metric is missing")
	}
	return int64(f)
}

func storedByMetrics(t *testing.T, b *broker) map[string]holding {
	t.Helper()
	out := map[string]holding{}
	for _, topic := range metrics(t, b).Topics {
		out[strings.TrimPrefix(topic.Name, "persistent://public/default/")] = holding{whole(t, topic.Entries), whole(t, topic.Messages), whole(t, topic.StorageSize)}
	}
	return out
}

func storedByInspector(t *testing.T, spool string) map[string]holding {
	t.Helper()
	var list struct {
		Items []struct {
			Name                     string
			Entries, Messages, Bytes int64
		}
	}
	if err := json.Unmarshal([]byte(ctl(t, exitOK, "inspect", "topics", "--spool", spool, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]holding{}
	for _, i := range list.Items {
		out[strings.TrimPrefix(i.Name, "persistent://public/default/")] = holding{i.Entries, i.Messages, i.Bytes}
	}
	return out
}

func fromMetrics(t *testing.T, b *broker) map[string]counts {
	t.Helper()
	out := map[string]counts{}
	for _, topic := range metrics(t, b).Topics {
		for name, sub := range topic.Subscriptions {
			short := strings.TrimPrefix(topic.Name, "persistent://public/default/")
			out[short+"/"+name] = counts{Messages: whole(t, sub.Backlog), Ranges: whole(t, sub.Holes), Bytes: whole(t, sub.BacklogBytes)}
		}
	}
	return out
}

func fromInspector(t *testing.T, spool string) map[string]counts {
	t.Helper()
	var list struct {
		Items []struct {
			Topic, Subscription string
			Messages, Bytes     int64
		}
	}
	if err := json.Unmarshal([]byte(ctl(t, exitOK, "inspect", "backlog", "--spool", spool, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	var cursors struct {
		Items []struct {
			Topic, Subscription string
			Ranges              int64
		}
	}
	if err := json.Unmarshal([]byte(ctl(t, exitOK, "inspect", "cursors", "--spool", spool, "-o", "json")), &cursors); err != nil {
		t.Fatal(err)
	}
	out := map[string]counts{}
	for _, i := range list.Items {
		out[strings.TrimPrefix(i.Topic, "persistent://public/default/")+"/"+i.Subscription] = counts{Messages: i.Messages, Bytes: i.Bytes}
	}
	for _, i := range cursors.Items {
		name := strings.TrimPrefix(i.Topic, "persistent://public/default/") + "/" + i.Subscription
		c := out[name]
		c.Ranges = i.Ranges
		out[name] = c
	}
	return out
}

// pendingOf lists payloads as the inspector says they come next.
func pendingOf(t *testing.T, spool, topic, sub string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(ctl(t, exitOK, "inspect", "messages", topic, "--spool", spool, "--pending", sub, "--payload", "base64", "-o", "ndjson")) {
		var m struct{ Payload string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		b, err := base64.StdEncoding.DecodeString(m.Payload)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, string(b))
	}
	return out
}

// receive takes n messages as a single new consumer, and checks that no more come.
func receive(t *testing.T, b *broker, k kind, n int) (out []string) {
	t.Helper()
	client := b.client()
	defer client.Close()
	cons := k.consumer(t, client)
	defer cons.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for range n {
		m, err := cons.Receive(ctx)
		if err != nil {
			t.Errorf("%s/%s: after %d of %d: %v", k.topic, k.sub, len(out), n, err)
			return out
		}
		out = append(out, string(m.Payload()))
	}
	quiet, done := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer done()
	if m, err := cons.Receive(quiet); err == nil {
		t.Errorf("%s/%s: %s came beyond what the inspector lists", k.topic, k.sub, m.Payload())
	}
	return out
}

// TestKilledBrokerKeepsWhatItAcknowledged kills the broker with SIGKILL while the official client publishes and
// acknowledges, several times on one spool. What had a receipt must be there once and in order, what was acknowledged with
// a response must not come again.
func TestKilledBrokerKeepsWhatItAcknowledged(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	var kept []string          // with a receipt, in order
	acked := map[string]bool{} // with a response
	for round := range rounds {
		b := startBroker(t, spool)
		k := kind{"killed", "sub", pulsar.Shared, false}
		sent, done := loadUntilKilled(t, b, k, round)
		kept = append(kept, sent...)
		for _, p := range done {
			acked[p] = true
		}
	}
	b := startBroker(t, spool)
	b.end(syscall.SIGTERM)
	ctl(t, exitOK, "inspect", "verify", "--spool", spool)
	var all []string
	for line := range strings.Lines(ctl(t, exitOK, "inspect", "messages", "killed", "--spool", spool, "--payload", "base64", "-o", "ndjson")) {
		var m struct{ Payload string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		p, _ := base64.StdEncoding.DecodeString(m.Payload)
		all = append(all, string(p))
	}
	at := 0
	for _, p := range kept {
		i := slices.Index(all[at:], p)
		if i < 0 {
			t.Fatalf("%s had a receipt and is not there, or not in order", p)
		}
		at += i + 1
	}
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	if n := len(all) - len(slices.Compact(sorted)); n > 0 {
		t.Errorf("%d messages are stored twice", n)
	}
	for _, p := range pendingOf(t, spool, "killed", "sub") {
		if acked[p] {
			t.Errorf("%s was acknowledged with a response and would come again", p)
		}
	}
	t.Logf("%d kills: %d messages with a receipt, %d stored, %d acknowledged with a response", rounds, len(kept), len(all), len(acked))
	if len(kept) < 100 || len(acked) < 20 {
		t.Errorf("too little traffic to prove anything")
	}
}

// loadUntilKilled publishes and acknowledges until some of both is confirmed, kills the broker and returns what was
// confirmed.
func loadUntilKilled(t *testing.T, b *broker, k kind, round int) (sent, acked []string) {
	t.Helper()
	client := b.clientWithin(time.Second) // closing it waits for the killed broker as long
	defer client.Close()
	keep := kind{k.topic, "keep", pulsar.Exclusive, false} // so that nothing is trimmed
	keep.consumer(t, client).Close()
	cons := k.consumer(t, client)
	p, err := client.CreateProducer(pulsar.ProducerOptions{Topic: k.topic, DisableBatching: true, MaxPendingMessages: 200, SendTimeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	receipts := make(chan string, 100_000)
	published := make(chan struct{})
	go func() {
		defer close(published)
		for i := 0; ctx.Err() == nil; i++ {
			payload := fmt.Sprintf("%d-%06d", round, i)
			p.SendAsync(ctx, &pulsar.ProducerMessage{Payload: []byte(payload)}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
				if err == nil && ctx.Err() == nil {
					receipts <- payload
				}
			})
		}
	}()
	for len(acked) < 40 {
		m, err := cons.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Payload())%2 == 0 || len(acked)%3 == 0 {
			if err := cons.Ack(m); err != nil {
				t.Fatal(err)
			}
			acked = append(acked, string(m.Payload()))
		}
	}
	b.end(syscall.SIGKILL)
	cancel() // before the client could reconnect and send again
	for len(receipts) > 0 {
		sent = append(sent, <-receipts)
	}
	<-published
	return sent, acked
}
