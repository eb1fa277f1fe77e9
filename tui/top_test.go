package tui_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spoolctl/live/scrape"
	"spoolctl/tui"
	"spoolctl/tui/frame"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/teatest"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests got into testdata")

const patience = 10 * time.Second

// fakeBroker answers with the given topics, whose counters grow with every scrape.
type fakeBroker struct {
	url  string
	now  func() time.Time
	n    int
	err  error
	hang bool
}

func (b *fakeBroker) URL() string { return b.url }

func (b *fakeBroker) Scrape(ctx context.Context) (*scrape.Snapshot, error) {
	if b.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if b.err != nil {
		return nil, b.err
	}
	b.n++
	var text strings.Builder
	fmt.Fprintf(&text, "process_start_time_seconds %d\n", b.now().Add(-26*time.Hour-10*time.Duration(b.n)*time.Second).Unix())
	for i, t := range []string{"orders", "注文受付の長い名前の長い名前の長い名前", "audit-log-of-the-whole-company-with-a-very-long-name", "evil\x1b[31m", "quiet"} {
		of := fmt.Sprintf(`namespace="public/default",topic="persistent://public/default/%s"`, t)
		speed := []int{1200, 30, 7, 1, 0}[i]
		fmt.Fprintf(&text, "pulsar_in_messages_total{%s} %d\n", of, speed*b.n)
		fmt.Fprintf(&text, "pulsar_in_bytes_total{%s} %d\n", of, speed*b.n*300)
		fmt.Fprintf(&text, "pulsar_out_messages_total{%s} %d\n", of, speed*b.n/2)
		fmt.Fprintf(&text, "pulsar_msg_backlog{%s} %d\n", of, speed*b.n*3)
		fmt.Fprintf(&text, "pulsar_storage_size{%s} %d\n", of, speed*b.n*70_000)
		fmt.Fprintf(&text, "pulsar_subscriptions_count{%s} 3\n", of)
		fmt.Fprintf(&text, "pulsar_producers_count{%s} 1\n", of)
		fmt.Fprintf(&text, "pulsar_consumers_count{%s} 2\n", of)
		for j, s := range []string{"fast", "slow", "stuck"} {
			sub := fmt.Sprintf(`%s,subscription="%s"`, of, s)
			backlog := []int{0, 5000 - 100*b.n, speed * b.n}[j]
			fmt.Fprintf(&text, "pulsar_subscription_back_log{%s} %d\n", sub, backlog)
			fmt.Fprintf(&text, "pulsar_subscription_consumers_count{%s} %d\n", sub, []int{1, 1, 0}[j])
			fmt.Fprintf(&text, "pulsar_subscription_unacked_messages{%s} %d\n", sub, []int{0, 120, 0}[j])
			fmt.Fprintf(&text, "pulsar_subscription_blocked_on_unacked_messages{%s} %d\n", sub, []int{0, 1, 0}[j])
			fmt.Fprintf(&text, "spoold_subscription_holes{%s} %d\n", sub, []int{0, 3, 1}[j])
		}
	}
	snap, err := scrape.Parse(strings.NewReader(text.String()))
	snap.At = b.now()
	return snap, err
}

// scene is a dashboard that has scraped a few times, on a clock that stands still from then on.
type scene struct {
	*testing.T
	brokers []*fakeBroker
	monitor *frame.Monitor
	now     time.Time
}

func newScene(t *testing.T, urls ...string) *scene {
	s := &scene{T: t, now: time.Unix(1_700_000_000, 0)}
	var sources []frame.Source
	for _, u := range urls {
		b := &fakeBroker{url: u, now: func() time.Time { return s.now }}
		s.brokers = append(s.brokers, b)
		sources = append(sources, b)
	}
	s.monitor = frame.NewMonitor(frame.Options{Sources: sources, Interval: time.Hour, Now: func() time.Time { return s.now }})
	return s
}

// pass lets some scrapes happen.
func (s *scene) pass(n int) {
	for range n {
		s.now = s.now.Add(10 * time.Second)
		s.monitor.Collect(context.Background())
	}
}

// screen starts the dashboard, waits until a text is there, sends messages, and gives what is on the screen after them.
func (s *scene) screen(width, height int, wait string, send ...tea.Msg) string {
	s.Helper()
	s.now = s.now.Add(10 * time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tm := teatest.NewTestModel(s.T, tui.New(ctx, tui.Options{Monitor: s.monitor, Interval: time.Hour, Out: io.Discard}), teatest.WithInitialTermSize(width, height))
	teatest.WaitFor(s.T, tm.Output(), func(b []byte) bool { return bytes.Contains(b, []byte(wait)) }, teatest.WithDuration(patience))
	for _, m := range send {
		tm.Send(m)
	}
	tm.Send(tea.Quit())
	return tm.FinalModel(s.T, teatest.WithFinalTimeout(patience)).View()
}

func keys(text string) tea.Msg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)} }

func enter() tea.Msg { return tea.KeyMsg{Type: tea.KeyEnter} }
func esc() tea.Msg   { return tea.KeyMsg{Type: tea.KeyEsc} }

// check compares a screen with testdata, and with the promises that every screen keeps.
func (s *scene) check(name string, width, height int, view string) {
	s.Helper()
	lines := strings.Split(view, "\n")
	if len(lines) != height {
		s.Errorf("%s: %d lines on a screen of %d", name, len(lines), height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > width {
			s.Errorf("%s: %d cells on a screen of %d: %q", name, w, width, l)
		}
		if strings.ContainsRune(l, '\x1b') {
			s.Errorf("%s: an escape reached the screen: %q", name, l)
		}
	}
	path := filepath.Join("testdata", name+".golden")
	got := strings.Join(trimmed(lines), "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	if got != string(want) {
		s.Errorf("%s (rewrite with -rewrite):\n%s\nwant\n%s", name, got, want)
	}
}

func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimRight(l, " ")
	}
	return out
}

func TestScreens(t *testing.T) {
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}} {
		for name, send := range map[string][]tea.Msg{
			"overview":      nil,
			"topics":        {keys("2")},
			"subscriptions": {keys("2"), keys("j"), enter()},
			"from-overview": {keys("jj"), enter()},
			"help":          {keys("2"), keys("?")},
			"filter":        {keys("2"), keys("/"), keys("o|q")},
			"filtered":      {keys("2"), keys("/"), keys("ord"), enter()},
			"wrong-filter":  {keys("2"), keys("/"), keys("or(")},
			"sorted":        {keys("2"), keys("s"), keys("S")},
			"paused":        {keys("2"), tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}},
		} {
			s := newScene(t, "http://127.0.0.1:8080/metrics")
			s.pass(12)
			s.check(fmt.Sprintf("%s-%dx%d", name, size.Width, size.Height), size.Width, size.Height, s.screen(size.Width, size.Height, "live", send...))
		}
	}
}

// TestTwoBrokersOneDown: the one that answers is shown with its sums, and the other one by name with its trouble.
func TestTwoBrokersOneDown(t *testing.T) {
	s := newScene(t, "http://prod-a:8080/metrics", "http://prod-b:8080/metrics")
	s.pass(3)
	s.brokers[1].err = errors.New("metrics of http://prod-b:8080/metrics: connection refused")
	s.pass(2)
	s.check("one-down", 100, 24, s.screen(100, 24, "1 of 2 do not answer"))
	s.check("one-down-topics", 100, 24, s.screen(100, 24, "1 of 2 do not answer", keys("2")))
}

// TestHangingBroker: the screen lives while a scrape hangs; keys are answered and the trouble can be seen.
func TestHangingBroker(t *testing.T) {
	s := newScene(t, "http://slow:8080/metrics")
	s.brokers[0].hang = true
	view := s.screen(80, 24, "waiting", keys("2"), keys("?"), keys("x"), keys("1"))
	if !strings.Contains(view, "waiting") || !strings.Contains(view, "slow:8080") {
		t.Errorf("%s", view)
	}
}

// TestResizeWithOverlay: help stays and fits, at sizes that no terminal should have too.
func TestResizeWithOverlay(t *testing.T) {
	s := newScene(t, "http://127.0.0.1:8080/metrics")
	s.pass(3)
	for _, size := range []tea.WindowSizeMsg{{Width: 120, Height: 40}, {Width: 40, Height: 12}, {Width: 200, Height: 60}} {
		view := s.screen(80, 24, "live", keys("?"), size)
		lines := strings.Split(view, "\n")
		if len(lines) != size.Height || !strings.Contains(view, "Keys") {
			t.Errorf("%v: %d lines\n%s", size, len(lines), view)
		}
		for _, l := range lines {
			if ansi.StringWidth(l) > size.Width {
				t.Errorf("%v: %q", size, l)
			}
		}
	}
	for _, size := range []tea.WindowSizeMsg{{Width: 1, Height: 1}, {Width: 0, Height: 0}, {Width: 10, Height: 3}} {
		for _, page := range []string{"1", "2", "?"} {
			s.screen(80, 24, "live", keys(page), size) // no panic
		}
	}
}

// TestBackAndFilters: esc drops the filter, then goes back; every page has a filter of its own.
func TestBackAndFilters(t *testing.T) {
	s := newScene(t, "http://127.0.0.1:8080/metrics")
	s.pass(3)
	view := s.screen(80, 24, "live", keys("2/orders"), enter(), enter(), keys("/slow"), enter())
	if !strings.Contains(view, "filter /slow") || strings.Contains(view, "stuck") {
		t.Errorf("%s", view)
	}
	view = s.screen(80, 24, "live", keys("2/orders"), enter(), enter(), keys("/slow"), enter(), esc())
	if strings.Contains(view, "filter /") || !strings.Contains(view, "stuck") {
		t.Errorf("esc keeps the filter or leaves the page:\n%s", view)
	}
	view = s.screen(80, 24, "live", keys("2/orders"), enter(), enter(), keys("/slow"), enter(), esc(), esc())
	if !strings.Contains(view, "filter /orders") || strings.Contains(view, "quiet") {
		t.Errorf("back on the topics:\n%s", view)
	}
}

// TestRunEnds: the program ends with its context and when asked to, and gives the terminal back.
func TestRunEnds(t *testing.T) {
	s := newScene(t, "http://127.0.0.1:8080/metrics")
	var out bytes.Buffer
	if err := tui.Run(t.Context(), tui.Options{Monitor: s.monitor, Interval: time.Hour, In: strings.NewReader("q"), Out: &out}); err != nil {
		t.Errorf("q: %v", err)
	}
	const leave, cursor = "\x1b[?1049l", "\x1b[?25h"
	if !strings.Contains(out.String(), leave) || !strings.Contains(out.String(), cursor) {
		t.Errorf("the terminal is not restored: %q", out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out.Reset()
	in, write := io.Pipe()
	defer write.Close()
	if err := tui.Run(ctx, tui.Options{Monitor: s.monitor, Interval: time.Hour, In: in, Out: &out}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
