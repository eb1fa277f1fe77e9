package main

import (
	"context"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
)

func newInspectTrace(o *inspectOptions) *cobra.Command {
	cmd := o.verb("trace KEY", "Show which files hold a key, and its history", 1, 1, func(ctx context.Context, s *inspect.Session, args []string) error {
		t, err := s.Trace(ctx, args[0])
		if err != nil {
			return err
		}
		if len(t.Versions) == 0 {
			return &inspect.NotFoundError{What: "key", Name: t.Key}
		}
		return printList(o.f, t.Versions, format.ListOptions{})
	})
	cmd.Long = cmd.Short + ".\n\nKEY is the position of an entry, a key as `inspect keys` prints it, or one in hexadecimal."
	cmd.Example = "  spoolctl inspect trace 3:17 --spool ./spool\n  spoolctl inspect trace cursor/1/4 --spool ./spool -o wide"
	return cmd
}

func newInspectWal(o *inspectOptions) *cobra.Command {
	var keys, hex bool
	cmd := o.verb("wal", "List the records of the write-ahead log", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		if keys {
			rows, err := s.LogVersions(ctx, hex)
			if err != nil {
				return err
			}
			return printStream(o.f, rows, format.ListOptions{})
		}
		log, err := s.Log(ctx)
		if err != nil {
			return err
		}
		return printStream(o.f, log.Rows, format.ListOptions{Finish: func(lo *format.ListOptions) { lo.Summary = log.Totals }})
	})
	cmd.Example = "  spoolctl inspect wal --spool ./spool --keys"
	cmd.Flags().BoolVar(&keys, "keys", false, "every operation of the records, decoded")
	cmd.Flags().BoolVar(&hex, "hex", false, "with the raw values")
	return cmd
}

func newInspectLsm(o *inspectOptions) *cobra.Command {
	cmd := o.verb("lsm", "List the tables by level, with their keys and topics", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		list, err := s.Tables(ctx)
		if err != nil {
			return err
		}
		return printList(o.f, list.Tables, format.ListOptions{Summary: list.Totals})
	})
	cmd.Example = "  spoolctl inspect lsm --spool ./spool -o wide"
	return cmd
}

func newInspectFiles(o *inspectOptions) *cobra.Command {
	var edits bool
	cmd := o.verb("files", "List the files of the spool, or the edits of the MANIFEST", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		if edits {
			return printList(o.f, s.Edits(), format.ListOptions{})
		}
		list, err := s.Files(ctx)
		if err != nil {
			return err
		}
		return printList(o.f, list.Files, format.ListOptions{Summary: list.Totals})
	})
	cmd.Example = "  spoolctl inspect files --edits --spool ./spool"
	cmd.Flags().BoolVar(&edits, "edits", false, "the changes of the list of tables, from the MANIFEST")
	return cmd
}
