package main

import (
	"cmp"
	"context"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/scrape"
	"spoolctl/tui"
	"spoolctl/tui/frame"
)

// defaultInterval is how often top scrapes.
const defaultInterval = 5 * time.Second

// topCmd are the options of top.
type topCmd struct {
	f        *factory
	batch    bool
	frames   int
	interval time.Duration
}

func newTop(f *factory) *cobra.Command {
	o := &topCmd{f: f, interval: defaultInterval}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch brokers: rates, backlog and storage, from their metrics",
		Long: "top draws a dashboard from the Prometheus metrics of one or several brokers. With -b it prints\n" +
			"frames instead, as a table of topics or, with -o json, everything it knows.",
		Example: "  spoolctl top\n  spoolctl top -b -n 1 -o json\n  spoolctl top --metrics-url http://127.0.0.1:8080/metrics -d 2s",
		Args:    noArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVarP(&o.batch, "batch", "b", false, "print frames instead of drawing a screen")
	cmd.Flags().IntVarP(&o.frames, "frames", "n", 0, "print so many frames, then end (with -b; 0 = go on)")
	cmd.Flags().VarP((*durationValue)(&o.interval), "interval", "d", "time between scrapes")
	return cmd
}

func (o *topCmd) run(ctx context.Context) error {
	if o.interval < 100*time.Millisecond {
		return format.Usagef("--interval %s is too short: use 100ms or more", o.interval)
	}
	if o.frames < 0 {
		return format.Usagef("--frames %d is negative", o.frames)
	}
	m, err := o.monitor()
	if err != nil {
		return err
	}
	if o.batch {
		return o.printFrames(ctx, m)
	}
	if !o.f.io.inTerminal || !o.f.io.outTerminal {
		return &format.Error{Kind: format.ErrUsage, Msg: "top needs a terminal", Hint: "print frames with `spoolctl top -b -n 1`"}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // the others are the program's already
	defer stop()
	return tui.Run(ctx, tui.Options{Monitor: m, Interval: o.interval, In: o.f.io.in, Out: o.f.io.out})
}

// monitor watches the metrics pages that the flags name.
func (o *topCmd) monitor() (*frame.Monitor, error) {
	urls := o.f.global.metricsURL
	if len(urls) == 0 {
		urls = []string{strings.TrimRight(o.f.global.adminURL, "/") + "/metrics"}
	}
	var sources []frame.Source
	for _, u := range urls {
		s, err := scrape.New(scrape.Options{URL: u, Token: o.f.token, Timeout: min(o.f.global.timeout, scrape.DefaultTimeout)})
		if err != nil {
			return nil, &format.Error{Kind: format.ErrUsage, Err: err}
		}
		sources = append(sources, s)
	}
	return frame.NewMonitor(frame.Options{Sources: sources, Interval: o.interval, Now: o.f.now}), nil
}

func (o *topCmd) printFrames(ctx context.Context, m *frame.Monitor) error {
	var last frame.Frame
	n := 0
	err := frame.Batch(ctx, m, o.interval, o.frames, func(f frame.Frame) error {
		last = f
		n++
		return o.printFrame(f, n == 1)
	})
	if err != nil {
		return err
	}
	return frameProblem(last)
}

// topLine is a line of the formats that hold no whole frame.
type topLine struct {
	At time.Time `json:"at" col:"AT,wide" fmt:"time"`
	frame.TopicLine
}

// printFrame prints the whole frame where the output can hold it, else its topics, the largest backlog first.
func (o *topCmd) printFrame(f frame.Frame, first bool) error {
	switch out := o.f.global.output; {
	case o.f.global.json, o.f.global.jq != "", out == "json", out == "ndjson", out == "yaml", strings.HasPrefix(out, "template="):
		return o.f.print(f)
	case out == "csv", out == "tsv":
		o.f.global.noHeaders = o.f.global.noHeaders || !first // one document of all frames
	}
	rows := make([]topLine, len(f.Topics))
	for i, t := range f.Topics {
		rows[i] = topLine{f.At, t}
	}
	slices.SortStableFunc(rows, func(a, b topLine) int { return cmp.Compare(backlogOf(b), backlogOf(a)) })
	return printList(o.f, rows, format.ListOptions{Summary: f.Total.Totals})
}

func backlogOf(r topLine) int64 {
	if r.Backlog == nil {
		return -1
	}
	return *r.Backlog
}

// frameProblem makes a batch run fail when brokers did not answer: 4 when none did, 3 when some did not.
func frameProblem(f frame.Frame) error {
	var missing []string
	for _, b := range f.Brokers {
		if b.State != frame.StateLive {
			missing = append(missing, cmp.Or(b.Problem, b.Broker+" does not answer in time"))
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case len(missing) == len(f.Brokers):
		return &format.Error{Kind: format.ErrUnavailable, Msg: "no broker answers: " + strings.Join(missing, "; "), Hint: "is the broker running? name its metrics with --metrics-url"}
	}
	return &format.Error{Kind: format.ErrProblems, Msg: "some brokers do not answer: " + strings.Join(missing, "; "), Hint: "see their logs, or leave them out of --metrics-url"}
}
