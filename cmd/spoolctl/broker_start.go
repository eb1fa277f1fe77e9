package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/daemon"
)

// readyTimeout is how long start waits by default: a large spool replays its
// log first.
const readyTimeout = 30 * time.Second

// brokerStarted is the output of start.
type brokerStarted struct {
	Spool   string `json:"spool" col:"SPOOL,name"`
	PID     int    `json:"pid" col:"PID" fmt:"plain"`
	Port    int    `json:"port" col:"PORT" fmt:"plain"`
	WebPort int    `json:"webPort" col:"WEB_PORT" fmt:"plain"`
	Log     string `json:"log" col:"LOG"`
}

// Sentence implements format.Sentence.
func (b brokerStarted) Sentence() string {
	return fmt.Sprintf("started the broker on %s: pid %d, clients on port %d, admin and metrics on port %d, log %s",
		b.Spool, b.PID, b.Port, b.WebPort, b.Log)
}

type brokerStart struct {
	daemonFlags
	logFile string
}

func newBrokerStart(f *factory) *cobra.Command {
	o := &brokerStart{daemonFlags: daemonFlags{f: f, wait: readyTimeout}}
	cmd := &cobra.Command{
		Use:     "start --spool DIR",
		Short:   "Start spoold in the background and wait until it serves",
		Example: "  spoolctl broker start --spool ./spool",
		Args:    noArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.logFile, "log-file", "", "where its log goes (default DIR.log)")
	cmd.Flags().Var((*durationValue)(&o.wait), "timeout", "longest wait until it serves")
	return changes(cmd)
}

func (o *brokerStart) run(ctx context.Context) error {
	opts, err := o.options()
	if err != nil {
		return err
	}
	opts.LogFile, opts.Ready = o.logFile, o.wait
	if opts.LogFile == "" {
		opts.LogFile = daemon.LogPath(opts.Spool)
	}
	r, err := daemon.Start(ctx, opts)
	if err != nil {
		return startFailure(err)
	}
	return o.f.print(brokerStarted{Spool: opts.Spool, PID: r.PID, Port: r.Port, WebPort: r.WebPort, Log: opts.LogFile})
}

func startFailure(err error) error {
	var running *daemon.RunningError
	var start *daemon.StartError
	switch {
	case errors.As(err, &running):
		return &format.Error{Err: err, Kind: format.ErrUnavailable, Hint: "stop it with `spoolctl broker stop --spool " + running.Spool + "`"}
	case errors.As(err, &start):
		e := &format.Error{Err: err, Hint: "see the log: " + start.LogFile, Details: map[string]any{"log": start.LogFile, "tail": start.LogTail}}
		if len(start.LogTail) > 0 {
			e.Err = fmt.Errorf("%w\n  %s", err, strings.Join(start.LogTail, "\n  "))
		}
		return e
	}
	return err
}
