package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/daemon"
)

// statusDeadline bounds the probe of the web port.
const statusDeadline = 3 * time.Second

// brokerStatus is the output of status. Pointers are nil when no broker runs.
type brokerStatus struct {
	Spool   string    `json:"spool" col:"SPOOL,name"`
	State   string    `json:"state" col:"STATE"` // running, not serving, not running
	PID     *int      `json:"pid" col:"PID" fmt:"plain"`
	Since   time.Time `json:"since" col:"UPTIME" fmt:"age"`
	Port    *int      `json:"port" col:"PORT" fmt:"plain"`
	WebPort *int      `json:"webPort" col:"WEB_PORT" fmt:"plain"`
	Problem *string   `json:"problem" col:"PROBLEM"`
}

func newBrokerStatus(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "status --spool DIR",
		Short: "Say whether the broker of a spool runs and serves (exit 0 running, 3 not)",
		Args:  noArgs(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return brokerStatusRun(cmd.Context(), f) },
	}
}

func brokerStatusRun(ctx context.Context, f *factory) error {
	spool, err := f.spoolDir()
	if err != nil {
		return err
	}
	s, err := daemon.Check(ctx, spool, statusDeadline)
	if err != nil {
		return err
	}
	out := brokerStatus{Spool: spool, State: "running", Problem: optional(s.Problem)}
	switch {
	case s.Running:
		out.PID, out.Port, out.WebPort, out.Since = &s.Record.PID, &s.Record.Port, &s.Record.WebPort, s.Since
		if !s.Serving {
			out.State = "not serving"
		}
	case s.Unclean:
		out.State = "not running"
		out.Problem = new("the last broker did not stop cleanly; the next start recovers by itself")
	default:
		out.State = "not running"
	}
	if err := f.print(out); err != nil {
		return err
	}
	switch out.State {
	case "running":
		return nil
	case "not serving":
		return &format.Error{Kind: format.ErrProblems, Msg: "the broker runs but does not serve: " + s.Problem, Hint: "see `spoolctl broker logs`"}
	}
	return daemon.ErrNotRunning
}
