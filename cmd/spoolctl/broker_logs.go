package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/daemon"
)

type brokerLogs struct {
	f       *factory
	lines   int
	follow  bool
	logFile string
}

func newBrokerLogs(f *factory) *cobra.Command {
	o := &brokerLogs{f: f}
	cmd := &cobra.Command{
		Use:   "logs --spool DIR",
		Short: "Show the log of a broker that was started with `broker start`",
		Args:  noArgs(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().IntVarP(&o.lines, "lines", "n", 100, "how many of the last lines")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on with what is added, until interrupted")
	cmd.Flags().StringVar(&o.logFile, "log-file", "", "the log (default DIR.log)")
	return cmd
}

func (o *brokerLogs) run(ctx context.Context) error {
	path := o.logFile
	if path == "" {
		spool, err := o.f.spoolDir()
		if err != nil {
			return err
		}
		path = daemon.LogPath(spool)
	}
	err := daemon.Logs(ctx, path, o.lines, o.follow, o.f.io.out)
	if errors.Is(err, fs.ErrNotExist) {
		return &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "name the file with --log-file; a broker in the foreground logs to its terminal"}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return format.OutputError(err)
}
