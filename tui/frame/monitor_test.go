package frame_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"spoolctl/live/scrape"
	"spoolctl/tui/frame"
)

// fake is a broker whose answers a test chooses.
type fake struct {
	url     string
	now     *time.Time
	started float64
	in      float64 // messages published to topic t
	backlog float64
	more    string // further text
	err     error
}

func (f *fake) URL() string { return f.url }

func (f *fake) Scrape(context.Context) (*scrape.Snapshot, error) {
	if f.err != nil {
		return nil, f.err
	}
	const of = `{cluster="c",namespace="public/default",topic="persistent://public/default/t"`
	text := fmt.Sprintf(`process_start_time_seconds %v
pulsar_in_messages_total%s} %v
pulsar_msg_backlog%s} %v
pulsar_storage_size%s} 100
pulsar_subscription_back_log%s,subscription="s"} %v
pulsar_subscription_consumers_count%s,subscription="s"} 1
pulsar_subscription_blocked_on_unacked_messages%s,subscription="s"} 1
%s`, f.started, of, f.in, of, f.backlog, of, of, f.backlog, of, of, f.more)
	s, err := scrape.Parse(strings.NewReader(text))
	if s != nil {
		s.At = *f.now
	}
	return s, err
}

// watch makes a monitor of some fakes on one clock that a test turns.
func watch(interval time.Duration, urls ...string) (m *frame.Monitor, now *time.Time, brokers []*fake) {
	at := time.Unix(1_700_000_000, 0)
	now = &at
	var sources []frame.Source
	for _, u := range urls {
		f := &fake{url: u, now: now, started: 1, backlog: 10}
		brokers = append(brokers, f)
		sources = append(sources, f)
	}
	return frame.NewMonitor(frame.Options{Sources: sources, Interval: interval, Now: func() time.Time { return *now }}), now, brokers
}

func collect(m *frame.Monitor, now *time.Time, step time.Duration) frame.Frame {
	*now = now.Add(step)
	m.Collect(context.Background())
	return m.Frame()
}

func show[T any](v *T) any {
	if v == nil {
		return "unknown"
	}
	return *v
}

func TestFirstFrameKnowsNoRates(t *testing.T) {
	m, now, _ := watch(time.Second, "a")
	if f := m.Frame(); f.Brokers[0].State != frame.StateWaiting || f.Total.Backlog != nil || len(f.Total.SeriesIn) != 0 {
		t.Errorf("before any scrape: %+v", f)
	}
	f := collect(m, now, time.Second)
	if f.Brokers[0].State != frame.StateLive || f.Topics[0].RateIn != nil || show(f.Topics[0].Backlog) != int64(10) || f.Topics[0].Drain != nil {
		t.Errorf("%+v", f)
	}
	if b := f.Subscriptions[0].Blocked; b == nil || !*b || show(f.Subscriptions[0].Consumers) != int64(1) || f.Subscriptions[0].Holes != nil {
		t.Errorf("%+v", f.Subscriptions[0])
	}
}

func TestRatesDrainAndReset(t *testing.T) {
	m, now, b := watch(time.Second, "a")
	collect(m, now, time.Second)
	b[0].in, b[0].backlog = 200, 6
	f := collect(m, now, 2*time.Second)
	if show(f.Topics[0].RateIn) != 100.0 || show(f.Total.RateIn) != 100.0 || show(f.Topics[0].BacklogChange) != -2.0 || show(f.Topics[0].Drain) != "3s" {
		t.Errorf("%+v", f.Topics[0])
	}
	b[0].started, b[0].in, b[0].backlog = 2, 50, 8 // restarted: the counter began again
	f = collect(m, now, time.Second)
	if show(f.Topics[0].RateIn) != 50.0 || show(f.Topics[0].Drain) != frame.Never {
		t.Errorf("after a restart: %v %v", show(f.Topics[0].RateIn), show(f.Topics[0].Drain))
	}
}

// TestGap: a failed scrape is a gap in every trend and never a 0, and what is shown grows old.
func TestGap(t *testing.T) {
	m, now, b := watch(time.Second, "a")
	collect(m, now, time.Second)
	b[0].err = errors.New("no route")
	f := collect(m, now, time.Second)
	line := f.Brokers[0]
	if line.State != frame.StateStale || line.Problem != "no route" || show(line.AgeSeconds) != 1.0 || show(line.Backlog) != int64(10) || !f.Topics[0].Stale {
		t.Errorf("%+v", line)
	}
	if f.Total.Backlog != nil {
		t.Errorf("old numbers are summed up: %v", *f.Total.Backlog)
	}
	b[0].err, b[0].in = nil, 300
	f = collect(m, now, 2*time.Second)
	if f.Brokers[0].State != frame.StateLive || show(f.Topics[0].RateIn) != 100.0 {
		t.Errorf("the rate after a gap covers the whole time: %v", show(f.Topics[0].RateIn))
	}
	for name, s := range map[string]frame.Series{"topic": f.Topics[0].Trend, "total": f.Total.SeriesBacklog} {
		if len(s) != 3 || s[0] != 10 || !math.IsNaN(s[1]) || s[2] != 10 {
			t.Errorf("%s: %v", name, s)
		}
	}
	text, err := json.Marshal(f.Topics[0])
	if err != nil || !strings.Contains(string(text), `"trend":[10,null,10]`) {
		t.Errorf("%s %v", text, err)
	}
}

func TestOneOfTwoDown(t *testing.T) {
	m, now, b := watch(time.Second, "a", "b")
	b[1].err = errors.New("refused")
	f := collect(m, now, time.Second)
	if f.Brokers[0].State != frame.StateLive || f.Brokers[1].State != frame.StateDown || f.Brokers[1].AgeSeconds != nil || f.Brokers[1].Backlog != nil {
		t.Errorf("%+v", f.Brokers)
	}
	if show(f.Total.Backlog) != int64(10) || len(f.Topics) != 1 {
		t.Errorf("total %v of %d topics", show(f.Total.Backlog), len(f.Topics))
	}
	b[1].err = nil
	f = collect(m, now, time.Second)
	if show(f.Total.Backlog) != int64(20) || len(f.Topics) != 2 || f.Topics[0].Broker != "a" || f.Topics[1].Broker != "b" {
		t.Errorf("both: %v %+v", show(f.Total.Backlog), f.Topics)
	}
}

// TestHangingBroker: one that gives no answer at all, not even an error, becomes stale with time.
func TestHangingBroker(t *testing.T) {
	m, now, _ := watch(time.Second, "a")
	collect(m, now, time.Second)
	*now = now.Add(3 * time.Second)
	if f := m.Frame(); f.Brokers[0].State != frame.StateLive {
		t.Errorf("after 3 s: %s", f.Brokers[0].State)
	}
	*now = now.Add(2 * time.Second)
	f := m.Frame()
	if f.Brokers[0].State != frame.StateStale || show(f.Brokers[0].AgeSeconds) != 5.0 || f.Total.Backlog != nil {
		t.Errorf("after 5 s: %+v", f.Brokers[0])
	}
}

// TestPartialAnswer: half a page is shown, and not called live.
func TestPartialAnswer(t *testing.T) {
	m, now, b := watch(time.Second, "a")
	b[0].more = "this is { no metric\n"
	f := collect(m, now, time.Second)
	if f.Brokers[0].State != frame.StateStale || f.Brokers[0].Problem == "" || len(f.Topics) != 1 {
		t.Errorf("%+v", f.Brokers[0])
	}
}

// TestTrendsForget: a topic that is gone is forgotten, and a trend has an end.
func TestTrendsForget(t *testing.T) {
	m, now, b := watch(time.Second, "a")
	b[0].more = "pulsar_msg_backlog{topic=\"persistent://public/default/u\",namespace=\"public/default\"} 7\n"
	collect(m, now, time.Second)
	b[0].more = ""
	if f := collect(m, now, time.Second); len(f.Topics) != 1 {
		t.Errorf("%+v", f.Topics)
	}
	b[0].more = "pulsar_msg_backlog{topic=\"persistent://public/default/u\",namespace=\"public/default\"} 8\n"
	f := collect(m, now, time.Second)
	if s := f.Topics[1].Trend; len(s) != 3 || !math.IsNaN(s[0]) || !math.IsNaN(s[1]) || s[2] != 8 {
		t.Errorf("%v", s)
	}
	for i := range 200 {
		b[0].backlog = float64(i)
		f = collect(m, now, time.Second)
	}
	if s := f.Topics[0].Trend; len(s) != 60 || s[59] != 199 || s[0] != 140 {
		t.Errorf("%d values, %v", len(s), s)
	}
}

func TestBatch(t *testing.T) {
	m, _, _ := watch(time.Second, "a")
	n := 0
	if err := frame.Batch(t.Context(), m, time.Millisecond, 3, func(frame.Frame) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("%d frames, %v", n, err)
	}
	stop := errors.New("stop")
	if err := frame.Batch(t.Context(), m, time.Millisecond, 0, func(frame.Frame) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := frame.Batch(ctx, m, time.Hour, 0, func(frame.Frame) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// BenchmarkFrame is what the screen costs with 20 000 topics whenever a scrape comes in.
func BenchmarkFrame(b *testing.B) {
	m, now, brokers := watch(time.Second, "a")
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "pulsar_msg_backlog{topic=\"persistent://public/default/t%d\",namespace=\"public/default\"} %d\n", i, i)
		fmt.Fprintf(&text, "pulsar_subscription_back_log{topic=\"persistent://public/default/t%d\",namespace=\"public/default\",subscription=\"s\"} %d\n", i, i)
	}
	brokers[0].more = text.String()
	for range 3 {
		collect(m, now, time.Second)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Frame()
	}
}
