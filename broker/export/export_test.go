package export_test

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker/export"
	"spoolctl/broker/topic"
	"spoolctl/live/scrape"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a store with a registry and the page over it, on a clock of its own.
type bench struct {
	tb       testing.TB
	registry *topic.Registry
	handler  http.Handler
	now      time.Time
}

func newBench(tb testing.TB) *bench {
	tb.Helper()
	ctx := context.Background()
	b := &bench{tb: tb, now: time.Unix(1_700_000_040, 0)}
	store, err := storage.Open(ctx, storage.Options{Dir: tb.TempDir(), Sync: storage.SyncNone})
	if err != nil {
		tb.Fatal(err)
	}
	b.registry, err = topic.New(ctx, topic.Options{Store: store, Now: func() time.Time { return b.now }, Defaults: topic.Defaults{AutoCreateTopics: true}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.registry.Close(ctx); err != nil {
			tb.Error(err)
		}
		if err := store.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	b.handler = export.New(export.Options{
		Registry: b.registry, Store: store, Cluster: `clu"ster`, Version: `v"1\`, Started: b.now, Now: func() time.Time { return b.now },
		Logger:      slog.New(slog.DiscardHandler),
		Connections: func() export.Connections { return export.Connections{Active: 2, Created: 5, Rejected: 1} },
	})
	return b
}

func (b *bench) topic(name string, subscriptions ...string) *topic.Topic {
	b.tb.Helper()
	n, err := wire.ParseTopic(name)
	if err != nil {
		b.tb.Fatal(err)
	}
	t, err := b.registry.Create(context.Background(), n, nil)
	if err != nil {
		b.tb.Fatal(err)
	}
	for _, s := range subscriptions {
		if err := t.CreateSubscription(context.Background(), topic.NewSubscription{Name: s, Durable: true, At: wire.Earliest()}); err != nil {
			b.tb.Fatal(err)
		}
	}
	return t
}

// publish stores one entry of n messages and waits until it is counted.
func (b *bench) publish(t *topic.Topic, n int32, payload int) int {
	b.tb.Helper()
	meta := &pb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(0), PublishTime: proto.Uint64(uint64(b.now.UnixMilli())), NumMessagesInBatch: proto.Int32(n)}
	entry := wire.BuildEntry(meta, make([]byte, payload))
	before := t.In.Messages()
	if err := t.Storage().Append(storage.Append{Data: entry, PublishTime: b.now.UnixMilli(), Messages: n}); err != nil {
		b.tb.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); t.In.Messages() == before; {
		if time.Now().After(deadline) {
			b.tb.Fatal("the entry was not committed")
		}
		time.Sleep(time.Millisecond)
	}
	return len(entry)
}

func (b *bench) page(header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return families
}

// value finds the sample that has the labels (name, value, …), and no others but the cluster's.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		if len(m.GetLabel()) != 1+len(labels)/2 {
			continue
		}
		found := 0
		for _, l := range m.GetLabel() {
			for i := 0; i < len(labels); i += 2 {
				if l.GetName() == labels[i] && l.GetValue() == labels[i+1] {
					found++
				}
			}
		}
		if found == len(labels)/2 {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Errorf("%s%v is not there", name, labels)
	return math.NaN()
}

// hard are names that break a page that does not escape.
const (
	hardTopic = `persistent://public/default/注文 "q" \ 😀`
	hardSub   = "s\n\"x\" \\ é"
	hardNS    = "public/default"
)

// TestPageIsWellFormed reads the page as Prometheus does, and checks what its parser lets pass.
func TestPageIsWellFormed(t *testing.T) {
	b := newBench(t)
	empty := b.page().Body.String()
	checkLines(t, empty, parse(t, empty))
	b.topic(hardTopic, "plain", hardSub)
	b.topic("persistent://public/default/t", "plain")
	b.topic("non-persistent://public/default/t")
	text := b.page().Body.String()
	families := parse(t, text)
	checkLines(t, text, families)
	labels := []string{"namespace", hardNS, "topic", hardTopic, "subscription", hardSub}
	if v := value(t, families, "pulsar_subscription_back_log", labels...); v != 0 {
		t.Errorf("backlog %v", v)
	}
	if v := value(t, families, "pulsar_version_info", "version", `v"1\`); v != 1 {
		t.Errorf("version_info %v", v)
	}
	if v := value(t, families, "pulsar_topics_count", "namespace", hardNS); v != 3 {
		t.Errorf("topics_count %v", v)
	}
	if v := value(t, families, "pulsar_topics_count"); v != 0 {
		t.Errorf("the cluster's own row must not be part of the sum: %v", v)
	}
	for _, m := range families["pulsar_storage_size"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "topic" && strings.HasPrefix(l.GetValue(), "non-persistent") {
				t.Error("a non-persistent topic shows a storage size")
			}
		}
	}
}

// checkLines wants HELP and TYPE once for each family, its samples behind them, and each series once.
func checkLines(t *testing.T, text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	help, typ, series := map[string]int{}, map[string]int{}, map[string]bool{}
	current := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch words := strings.SplitN(line, " ", 4); {
		case strings.HasPrefix(line, "# HELP "):
			help[words[2]]++
			if len(words) < 4 || words[3] == "" {
				t.Errorf("%s has no help text", words[2])
			}
		case strings.HasPrefix(line, "# TYPE "):
			typ[words[2]]++
			current = words[2]
		default:
			id := line[:strings.LastIndexByte(line, ' ')]
			if series[id] {
				t.Errorf("series twice: %s", id)
			}
			series[id] = true
			if !strings.HasPrefix(id, current) {
				t.Errorf("%s stands under %s", id, current)
			}
			if (strings.HasPrefix(id, "pulsar_") || strings.HasPrefix(id, "spoold_")) && !strings.Contains(id, `{cluster="clu\"ster"`) {
				t.Errorf("no cluster: %s", id)
			}
		}
	}
	for name, f := range families {
		if help[name] != 1 || typ[name] != 1 {
			t.Errorf("%s: %d HELP, %d TYPE", name, help[name], typ[name])
		}
		if len(f.GetMetric()) == 0 && f.GetType() == dto.MetricType_UNTYPED {
			t.Errorf("%s is untyped", name)
		}
	}
}

// TestNumbers publishes and compares every number that follows from it.
func TestNumbers(t *testing.T) {
	b := newBench(t)
	tp := b.topic("persistent://public/default/t", "a", "b")
	small := b.publish(tp, 3, 10)
	large := b.publish(tp, 1, 2<<20)
	b.now = b.now.Add(time.Minute)
	families := parse(t, b.page().Body.String())
	of := []string{"namespace", "public/default", "topic", "persistent://public/default/t"}
	total := float64(small + large)
	for name, want := range map[string]float64{
		"pulsar_in_messages_total": 4, "pulsar_in_bytes_total": total, "pulsar_storage_size": total, "pulsar_storage_logical_size": total,
		"spoold_topic_entries": 2, "spoold_topic_messages": 4, "pulsar_subscriptions_count": 2, "pulsar_msg_backlog": 8,
		"pulsar_storage_backlog_size": total, "pulsar_out_messages_total": 0, "pulsar_storage_offloaded_size": 0,
		"pulsar_entry_size_le_128": 1, "pulsar_entry_size_le_512": 0, "pulsar_entry_size_le_1_mb": 0, "pulsar_entry_size_le_overflow": 1,
		"pulsar_entry_size_overflow": 1, "pulsar_entry_size_count": 2, "pulsar_entry_size_sum": total,
		"pulsar_storage_write_latency_count": 2,
	} {
		if v := value(t, families, name, of...); v != want {
			t.Errorf("%s = %v, want %v", name, v, want)
		}
	}
	sum := 0.0
	for _, class := range []string{"le_0_5", "le_1", "le_5", "le_10", "le_20", "le_50", "le_100", "le_200", "le_1000", "overflow"} {
		sum += value(t, families, "pulsar_storage_write_latency_"+class, of...)
	}
	if sum != 2 {
		t.Errorf("the classes of latency hold %v entries, want 2", sum)
	}
	for name, want := range map[string]float64{"pulsar_subscription_back_log": 4, "spoold_subscription_backlog_entries": 2, "spoold_subscription_backlog_bytes": total, "spoold_subscription_holes": 0, "pulsar_subscription_total_msg_expired": 0} {
		if v := value(t, families, name, append(of, "subscription", "b")...); v != want {
			t.Errorf("%s = %v, want %v", name, v, want)
		}
	}
	for name, want := range map[string]float64{"pulsar_broker_topics_count": 1, "pulsar_broker_subscriptions_count": 2, "pulsar_broker_msg_backlog": 8, "pulsar_active_connections": 2, "pulsar_connection_created_total_count": 5, "spoold_connections_rejected_total": 1, "spoold_store_healthy": 1, "spoold_store_quarantined_entries_total": 0} {
		if v := value(t, families, name); v != want {
			t.Errorf("%s = %v, want %v", name, v, want)
		}
	}
	// The dashboard's own reader gets the same out of it.
	snap, err := scrape.Parse(strings.NewReader(b.page().Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got := snap.Total(); got.Backlog.Or(-1) != 8 || got.Topics.Or(-1) != 1 || got.StorageSize.Or(-1) != total {
		t.Errorf("scraped %+v", got)
	}
	if s := snap.Topics["persistent://public/default/t"].Subscriptions["a"]; s.Backlog.Or(-1) != 4 {
		t.Errorf("scraped %+v", s)
	}
}

// TestSeriesGoWithTheTopic: what is deleted is not shown any more.
func TestSeriesGoWithTheTopic(t *testing.T) {
	b := newBench(t)
	tp := b.topic("persistent://public/default/gone", "s")
	if !strings.Contains(b.page().Body.String(), "default/gone") {
		t.Fatal("the topic is not there")
	}
	if err := b.registry.Delete(t.Context(), tp.Name(), true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.page().Body.String(), "default/gone") {
		t.Error("a deleted topic is still shown")
	}
}

func TestGzip(t *testing.T) {
	b := newBench(t)
	b.topic("persistent://public/default/t", "s")
	for accept, zipped := range map[string]bool{"gzip": true, "deflate, gzip;q=1.0, *;q=0.5": true, "": false, "identity": false, "gzip;q=0": false} {
		w := b.page("Accept-Encoding", accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != zipped {
			t.Errorf("%q: gzip %t", accept, got)
			continue
		}
		body := io.Reader(w.Body)
		if zipped {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		if parse(t, string(text))["pulsar_version_info"] == nil || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
			t.Errorf("%q: %v", accept, w.Header())
		}
	}
}

// BenchmarkPage is a scrape of 10 000 topics with two subscriptions each.
func BenchmarkPage(b *testing.B) {
	k := newBench(b)
	for i := range 10_000 {
		k.topic("persistent://public/default/topic-"+strconv.Itoa(i), "a", "b")
	}
	b.ReportAllocs()
	var n int64
	for b.Loop() {
		w := &discard{header: http.Header{}}
		k.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		n = w.n
	}
	b.ReportMetric(float64(n)/1e6, "MB/page")
}

type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	return len(p), nil
}
