package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/daemon"
)

// stopGrace is how long stop waits by default.
const stopGrace = 30 * time.Second

// brokerStopped is the output of stop.
type brokerStopped struct {
	Spool   string  `json:"spool" col:"SPOOL,name"`
	PID     int     `json:"pid" col:"PID" fmt:"plain"`
	Seconds float64 `json:"seconds" col:"TOOK" fmt:"seconds"`
	Killed  bool    `json:"killed" col:"KILLED"`
}

// Sentence implements format.Sentence.
func (b brokerStopped) Sentence() string {
	how := "stopped"
	if b.Killed {
		how = "killed"
	}
	return fmt.Sprintf("%s the broker on %s: pid %d, after %s", how, b.Spool, b.PID, format.Duration(time.Duration(b.Seconds*1e9)))
}

type brokerStop struct {
	f     *factory
	grace time.Duration
	kill  bool
}

func newBrokerStop(f *factory) *cobra.Command {
	o := &brokerStop{f: f, grace: stopGrace}
	cmd := &cobra.Command{
		Use:   "stop --spool DIR",
		Short: "Stop the broker of a spool and wait until it has ended",
		Args:  noArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.kill = cmd.Flags().Changed("grace")
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().Var((*durationValue)(&o.grace), "grace", "kill it when it has not ended after this long (without: wait "+format.Duration(stopGrace)+", never kill)")
	return changes(cmd)
}

func (o *brokerStop) run(ctx context.Context) error {
	spool, err := o.f.spoolDir()
	if err != nil {
		return err
	}
	res, err := daemon.Stop(ctx, spool, o.grace, o.kill)
	switch {
	case errors.Is(err, daemon.ErrStillRunning):
		return format.WithHint(err, "wait and look again with `spoolctl broker status`, or add --grace 10s to kill it then")
	case err != nil:
		return err
	}
	return o.f.print(brokerStopped{Spool: spool, PID: res.Record.PID, Seconds: res.Took.Seconds(), Killed: res.Killed})
}
