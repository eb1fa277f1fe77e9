package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/daemon"
	"spoolctl/live/traffic"
)

const (
	demoTopic    = "orders"
	demoMessages = 300
	demoRate     = 200 // messages per second while top runs
	// demoWatch is how long traffic runs before the one frame that is shown without a terminal.
	demoWatch = 2 * time.Second
)

// demoCmd are the options of demo.
type demoCmd struct {
	f   *factory
	bin string
}

func newDemo(f *factory) *cobra.Command {
	o := &demoCmd{f: f}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show it all: a broker on a temporary spool, traffic, top, then the stopped spool inspected",
		Long: "demo starts spoold on a temporary spool, publishes to a topic with a fast, a slow and a stuck\n" +
			"subscription, shows top, stops the broker and inspects what it left. Nothing stays behind.",
		Example: "  spoolctl demo",
		Args:    noArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&o.bin, "spoold", "", "the spoold program (default beside spoolctl, then in PATH)")
	return cmd
}

func (o *demoCmd) run(ctx context.Context) (err error) {
	bin, err := daemon.Find(o.bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "spoolctl-demo-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	spool := filepath.Join(dir, "spool")
	o.say("a broker on a temporary spool, on free ports of this machine")
	r, err := daemon.Start(ctx, daemon.Options{Binary: bin, Spool: spool, Port: -1, WebPort: -1, LogFile: filepath.Join(dir, "spoold.log"), Ready: readyTimeout})
	if err != nil {
		return startFailure(err)
	}
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		_, err := daemon.Stop(context.WithoutCancel(ctx), spool, 10*time.Second, true)
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	o.say("topic %s with a fast, a slow and a stuck subscription, through the official Go client", demoTopic)
	if err := o.traffic(ctx, r); err != nil {
		return err
	}
	o.say("the broker is stopped; what follows reads its spool and writes nothing")
	if err := stop(); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"inspect", "summary", "--spool", spool},
		{"inspect", "backlog", "--spool", spool, "--explain"},
		{"inspect", "ranges", demoTopic, traffic.SampleStuck, "--spool", spool, "--limit", "5"},
		{"inspect", "messages", demoTopic, "--spool", spool, "--pending", traffic.SampleStuck, "--limit", "5"},
	} {
		if err := o.command(ctx, args); err != nil {
			return err
		}
	}
	o.say("done; the temporary spool is removed")
	return nil
}

func (o *demoCmd) traffic(ctx context.Context, r daemon.Record) error {
	client, err := traffic.Dial(ctx, traffic.DialOptions{URL: fmt.Sprintf("pulsar://127.0.0.1:%d", r.Port), Timeout: o.f.global.timeout, Log: o.f.logger()})
	if err != nil {
		return err
	}
	defer client.Close()
	metrics := fmt.Sprintf("http://127.0.0.1:%d/metrics", r.WebPort)
	return traffic.Sample(ctx, traffic.SampleOptions{Client: client, Topic: demoTopic, Messages: demoMessages, Rate: demoRate, Ready: func(ctx context.Context) error {
		if o.f.io.inTerminal && o.f.io.outTerminal {
			return o.command(ctx, []string{"top", "--metrics-url", metrics, "-d", "1s"})
		}
		select {
		case <-time.After(demoWatch):
		case <-ctx.Done():
			return ctx.Err()
		}
		return o.command(ctx, []string{"top", "--metrics-url", metrics, "-b", "-n", "1"})
	}})
}

// say prints what happens next on standard error.
func (o *demoCmd) say(text string, args ...any) {
	fmt.Fprintf(o.f.io.err, "\n== "+text+"\n", args...)
}

// command runs a command line of this program as a user would type it, and shows it first.
func (o *demoCmd) command(ctx context.Context, args []string) error {
	fmt.Fprintf(o.f.io.err, "\n$ spoolctl %s\n", strings.Join(args, " "))
	f := newFactory(o.f.io, o.f.environ)
	code := execute(ctx, f, args)
	if code == exitInterrupted {
		return context.Canceled
	}
	if code != exitOK {
		return &format.Error{Msg: fmt.Sprintf("spoolctl %s ended with exit code %d", args[0], code), Hint: "see the message above"}
	}
	return nil
}
