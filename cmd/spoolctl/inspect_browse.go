package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/tui/browse"
)

func newInspectBrowse(o *inspectOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "browse",
		Short: "Explore a spool on the whole screen: topics, subscriptions, messages",
		Long: "browse shows the tenants, namespaces and topics of a spool, the ledgers and subscriptions of a topic, what a\n" +
			"subscription has acknowledged and would get next, and messages down to their bytes. Press ? for its keys.\n" +
			"Nothing in the spool changes; an export (e) goes into a new file of the working directory.",
		Example: "  spoolctl inspect browse ./spool\n  spoolctl inspect browse --spool ./spool",
		Args:    cobra.ArbitraryArgs,
		RunE:    o.browse,
	}
}

func (o *inspectOptions) browse(cmd *cobra.Command, args []string) error {
	dir, _, err := o.spoolOf(cmd, args, 0, 0)
	if err != nil {
		return err
	}
	if !o.f.io.inTerminal || !o.f.io.outTerminal {
		return &format.Error{Kind: format.ErrUsage, Msg: "browse needs a terminal",
			Hint: "see `spoolctl inspect topics --spool " + dir + "`, and `spoolctl inspect messages TOPIC -o json`"}
	}
	work, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the working directory: %w", err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP) // the others are the program's already
	defer stop()
	return o.answer(ctx, dir, func(s *inspect.Session) error { return o.explore(ctx, s, dir, work) })
}

func (o *inspectOptions) explore(ctx context.Context, s *inspect.Session, dir, work string) error {
	return browse.Run(ctx, browse.Options{Session: s, Dir: dir, WorkDir: work, Now: o.f.now, In: o.f.io.in, Out: o.f.io.out})
}
