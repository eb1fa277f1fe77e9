package scrape_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spoolctl/live/scrape"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sample = `# TYPE process_start_time_seconds gauge
process_start_time_seconds 1000
# HELP pulsar_rate_in messages
# TYPE pulsar_rate_in gauge
pulsar_rate_in{cluster="c"} 0
pulsar_rate_in{cluster="c",namespace="public/default",topic="persistent://public/default/a"} 10
pulsar_rate_in{cluster="c",namespace="public/default",topic="persistent://public/default/b",partition="1"} 5
# TYPE pulsar_msg_backlog gauge
pulsar_msg_backlog{cluster="c",namespace="public/default",topic="persistent://public/default/a"} 70
# TYPE pulsar_in_messages_total counter
pulsar_in_messages_total{cluster="c",namespace="public/default",topic="persistent://public/default/a"} 1000
# TYPE pulsar_subscription_back_log gauge
pulsar_subscription_back_log{cluster="c",namespace="public/default",topic="persistent://public/default/a",subscription="s"} 70
# TYPE pulsar_out_messages_total counter
pulsar_out_messages_total{cluster="c",namespace="public/default",topic="persistent://public/default/a",subscription="s"} 930
pulsar_out_messages_total{cluster="c",namespace="public/default",topic="persistent://public/default/a",subscription="s",consumer_name="x",consumer_id="1"} 30
# TYPE pulsar_broker_producers_count gauge
pulsar_broker_producers_count{cluster="c"} 4
# TYPE pulsar_active_connections gauge
pulsar_active_connections{cluster="c",metric="a"} 2
pulsar_active_connections{cluster="c",metric="b"} 3
`

func parse(t *testing.T, text string) *scrape.Snapshot {
	t.Helper()
	s, err := scrape.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func is(t *testing.T, what string, got scrape.Value, want float64) {
	t.Helper()
	if v, ok := got.Get(); !ok || v != want {
		t.Errorf("%s is %v (known %t), want %v", what, v, ok, want)
	}
}

func unknown(t *testing.T, what string, got scrape.Value) {
	t.Helper()
	if v, ok := got.Get(); ok {
		t.Errorf("%s is %v, want unknown", what, v)
	}
}

func TestSorting(t *testing.T) {
	s := parse(t, sample)
	a := s.Topics["persistent://public/default/a"]
	is(t, "rate in", a.RateIn, 10)
	is(t, "backlog", a.Backlog, 70)
	unknown(t, "storage size", a.StorageSize)
	sub := a.Subscriptions["s"]
	is(t, "subscription backlog", sub.Backlog, 70)
	is(t, "subscription out", sub.OutMessages, 930)
	unknown(t, "unacked", sub.Unacked)
	b := s.Topics["persistent://public/default/b-partition-1"]
	is(t, "partition rate in", b.RateIn, 5)
	unknown(t, "partition backlog", b.Backlog)
	total := s.Total()
	is(t, "total rate in", total.RateIn, 15)
	is(t, "total backlog", total.Backlog, 70)
	is(t, "topics", total.Topics, 2)
	is(t, "producers of the broker", total.Producers, 4)
	unknown(t, "total size", total.StorageSize)
	is(t, "connections", s.Gauge("pulsar_active_connections"), 5)
	is(t, "connections b", s.Gauge("pulsar_active_connections", "metric", "b"), 3)
	unknown(t, "other family", s.Gauge("nonsense"))
}

func TestNamespaceLevel(t *testing.T) {
	s := parse(t, `pulsar_rate_in{cluster="c"} 0
pulsar_rate_in{cluster="c",namespace="a/b"} 3
pulsar_rate_in{cluster="c",namespace="a/c"} 4
pulsar_msg_backlog{cluster="c",namespace="a/b",remote_cluster="local"} 9
pulsar_msg_backlog{cluster="c",namespace="a/b",remote_cluster="far"} 99
`)
	total := s.Total()
	is(t, "rate in", total.RateIn, 7)
	is(t, "backlog", total.Backlog, 9)
}

func TestClusterOnly(t *testing.T) {
	s := parse(t, "pulsar_rate_in{cluster=\"c\"} 3\n")
	is(t, "rate in", s.Total().RateIn, 3)
}

// TestParserCorpus holds the texts that parsers of this format trip over.
func TestParserCorpus(t *testing.T) {
	const good = "pulsar_a 1\n"
	var many strings.Builder
	many.WriteString("# TYPE pulsar_msg_backlog gauge\n")
	for i := range 13_000 {
		fmt.Fprintf(&many, "pulsar_msg_backlog{namespace=\"n/s\",topic=\"persistent://n/s/t%d\"} %d\n", i, i)
	}
	for _, c := range []struct {
		name, text string
		fails      bool
		keeps      bool // pulsar_a is there
	}{
		{"empty", "", false, false},
		{"CRLF", "# TYPE pulsar_a gauge\r\npulsar_a 1\r\n", false, true},
		{"no final newline", good + "pulsar_b 12", true, true},
		{"cut in a name", good + "pulsar_", true, true},
		{"cut in a label", good + "pulsar_b{topic=\"per", true, true},
		{"bad middle line", good + "this is no metric\npulsar_c 3\n", true, true},
		{"exemplar", good + "pulsar_b_total 1 # {trace_id=\"x\"} 1\n", true, true},
		{"late TYPE", good + "# TYPE pulsar_a gauge\n", true, true},
		{"duplicate TYPE", good + "# TYPE pulsar_b gauge\n# TYPE pulsar_b gauge\n", true, true},
		{"bare name in braces", good + "{A} 0\n", false, true},
		{"empty braces", good + "{}\n", true, true},
		{"UTF-8 name", good + "{\"pulsar.b\",topic=\"日本\"} 2\n", false, true},
		{"timestamp", "pulsar_a 1 1700000000000\n", false, true},
		{"NaN", good + "pulsar_b NaN\n", false, true},
		{"HTML", "<html><body>404</body></html>\n", true, false},
		{"JSON", `{"reason":"no"}`, true, false},
		{"zero bytes", "\x00\x00\x00\n", true, false},
		{"13 000 series", good + many.String(), false, true},
	} {
		s, err := scrape.Parse(strings.NewReader(c.text))
		if (err != nil) != c.fails || s.Partial != c.fails || err != nil && !errors.Is(err, scrape.ErrText) {
			t.Errorf("%s: error is %v", c.name, err)
		}
		if c.keeps {
			is(t, c.name, s.Gauge("pulsar_a"), 1)
		}
	}
}

func TestErrorNamesLine(t *testing.T) {
	_, err := scrape.Parse(strings.NewReader("a 1\nb 2\nc x\n"))
	if err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v", err)
	}
	_, err = scrape.Parse(strings.NewReader(" <!doctype html>"))
	if err == nil || !strings.Contains(err.Error(), "HTML") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("{}\n")
	f.Add("{A} 0")
	f.Add("a{b=\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scrape.Parse(strings.NewReader(text))
		if s == nil || (err != nil) != s.Partial {
			t.Errorf("%v %v", s, err)
		}
		_ = s.Total()
	})
}

func at(s *scrape.Snapshot, second int) *scrape.Snapshot {
	s.At = time.Unix(int64(second), 0)
	return s
}

func text(start, in, out, backlog int) string {
	return fmt.Sprintf(`process_start_time_seconds %d
pulsar_in_messages_total{namespace="n/s",topic="t"} %d
pulsar_out_messages_total{namespace="n/s",topic="t",subscription="s"} %d
pulsar_msg_backlog{namespace="n/s",topic="t"} %d
`, start, in, out, backlog)
}

func TestRates(t *testing.T) {
	one := at(parse(t, text(1, 100, 50, 50)), 0)
	two := at(parse(t, text(1, 300, 350, 30)), 10)
	r := scrape.RatesBetween(one, two)
	is(t, "in", r.Topics["t"].MsgIn, 20)
	is(t, "out", r.Topics["t"].MsgOut, 30)
	is(t, "backlog", r.Topics["t"].Backlog, -2)
	is(t, "total in", r.Total.MsgIn, 20)
	unknown(t, "bytes", r.Topics["t"].BytesIn)
	if r.Reset {
		t.Error("no reset happened")
	}
	if d, never, known := scrape.Drain(two.Topics["t"].Backlog, r.Topics["t"].Backlog); d != 15*time.Second || never || !known {
		t.Errorf("drain %v %t %t", d, never, known)
	}
}

func TestCounterReset(t *testing.T) {
	before := at(parse(t, text(1, 100, 50, 0)), 0)
	// The counter is lower: it began again.
	r := scrape.RatesBetween(before, at(parse(t, text(1, 40, 60, 0)), 10))
	is(t, "in after a fall", r.Topics["t"].MsgIn, 4)
	is(t, "out without a fall", r.Topics["t"].MsgOut, 1)
	// The broker restarted and its counter already passed the old one.
	r = scrape.RatesBetween(before, at(parse(t, text(2, 400, 60, 0)), 10))
	is(t, "in after a restart", r.Topics["t"].MsgIn, 40)
	if !r.Reset {
		t.Error("the restart is not seen")
	}
}

func TestHistoryGap(t *testing.T) {
	h := scrape.NewHistory(3)
	in := func(p scrape.Point) scrape.Value { return p.Rates.Total.MsgIn }
	h.Add(time.Unix(0, 0), at(parse(t, text(1, 0, 0, 0)), 0), nil)
	h.Add(time.Unix(10, 0), nil, errors.New("down"))
	p := h.Add(time.Unix(20, 0), at(parse(t, text(1, 200, 0, 0)), 20), nil)
	is(t, "rate over the gap", p.Rates.Total.MsgIn, 10)
	series := h.Series(in)
	unknown(t, "first", series[0])
	unknown(t, "gap", series[1])
	is(t, "after the gap", series[2], 10)
	h.Add(time.Unix(30, 0), at(parse(t, text(1, 200, 0, 0)), 30), nil)
	if len(h.Points()) != 3 || h.Points()[0].Err == nil {
		t.Error("the oldest point must go first")
	}
	is(t, "standing still", h.Series(in)[2], 0)
}

func TestRatesOfNewAndGoneTopics(t *testing.T) {
	one := at(parse(t, text(1, 100, 0, 0)), 0)
	two := at(parse(t, strings.ReplaceAll(text(1, 5000, 0, 0), `"t"`, `"new"`)), 10)
	r := scrape.RatesBetween(one, two)
	if len(r.Topics) != 0 {
		t.Errorf("%v", r.Topics)
	}
	unknown(t, "total", r.Total.MsgIn)
	if r := scrape.RatesBetween(nil, two); r.Total.MsgIn.Known() {
		t.Error("a first scrape has no rates")
	}
	if r := scrape.RatesBetween(two, two); r.Total.MsgIn.Known() {
		t.Error("no time has passed")
	}
}

func TestDrain(t *testing.T) {
	k := scrape.Known
	for _, c := range []struct {
		backlog, change scrape.Value
		never, known    bool
	}{
		{k(0), scrape.Value{}, false, true},
		{k(5), scrape.Value{}, false, false},
		{scrape.Value{}, k(-1), false, false},
		{k(5), k(0), true, true},
		{k(5), k(3), true, true},
		{k(1e30), k(-1e-9), true, true},
	} {
		if _, never, known := scrape.Drain(c.backlog, c.change); never != c.never || known != c.known {
			t.Errorf("%+v: %t %t", c, never, known)
		}
	}
}

func TestValueJSON(t *testing.T) {
	b, err := json.Marshal([]scrape.Value{{}, scrape.Known(0), scrape.Known(1.5)})
	if err != nil || string(b) != "[null,0,1.5]" {
		t.Errorf("%s %v", b, err)
	}
	var back []scrape.Value
	if err := json.Unmarshal(b, &back); err != nil || back[0].Known() || !back[1].Known() {
		t.Errorf("%v %v", back, err)
	}
}

func scraper(t *testing.T, h http.HandlerFunc, o scrape.Options) *scrape.Scraper {
	t.Helper()
	s := httptest.NewServer(h)
	transport := &http.Transport{}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); transport.CloseIdleConnections() })
	o.URL, o.HTTP = s.URL+"/metrics", transport
	sc, err := scrape.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func TestScrape(t *testing.T) {
	sc := scraper(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, sample)
	}, scrape.Options{Token: func() (string, error) { return "x", nil }})
	s, err := sc.Scrape(t.Context())
	if err != nil || len(s.Topics) != 2 || s.At.IsZero() || s.Partial {
		t.Fatalf("%+v %v", s, err)
	}
}

func TestScrapeFailures(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, sample)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	sc := scraper(t, hang, scrape.Options{Timeout: 200 * time.Millisecond})
	s, err := sc.Scrape(t.Context())
	var failure *scrape.ScrapeError
	if !errors.As(err, &failure) || s == nil || !s.Partial || len(s.Topics) != 2 {
		t.Errorf("hanging body: %v %v", s, err)
	}
	s, err = scraper(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, scrape.Options{}).Scrape(t.Context())
	if !errors.As(err, &failure) || failure.Status != http.StatusForbidden || s != nil {
		t.Errorf("403: %v %v", s, err)
	}
	s, err = scraper(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, sample) }, scrape.Options{MaxBytes: 400}).Scrape(t.Context())
	if !errors.As(err, &failure) || s == nil || !s.Partial {
		t.Errorf("too large: %v %v", s, err)
	}
	s, err = scraper(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, scrape.Options{}).Scrape(t.Context())
	if !errors.Is(err, scrape.ErrText) || s != nil {
		t.Errorf("HTML: %v %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sc.Scrape(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
