package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/maintain"
)

func newStorageSalvage(o *storageOptions) *cobra.Command {
	var s maintain.SalvageOptions
	cmd := &cobra.Command{
		Use:   "salvage SRC DST",
		Short: "Copy everything readable of a damaged spool into a new one",
		Long: "Copy everything readable of the damaged spool SRC, table by table and log by log, into the new spool DST. Nothing in\n" +
			"SRC changes. Entries keep their positions; lost ones count as acknowledged. The report lists every file of SRC; the\n" +
			"exit code is 3 when something was lost, or when deleted data may reappear.",
		Example: "  spoolctl storage salvage ./spool ./salvaged",
		Args:    exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Options, s.To = o.maintenance(args[0]), args[1]
			s.Confirm = nil // nothing that is there changes
			res, err := maintain.Salvage(cmd.Context(), s)
			if err != nil {
				return storageError(args[0], err)
			}
			if err := printList(o.f, res.Files, format.ListOptions{Summary: res}); err != nil || res.Whole() {
				return err
			}
			return &format.Error{Kind: format.ErrProblems, Msg: salvaged(res), Hint: "look at the new spool: `spoolctl inspect summary --spool " + args[1] + "`"}
		},
	}
	s.Memory = 256 << 20
	cmd.Flags().Var((*sizeValue)(&s.Memory), "memory", "most memory for what is read before it is written (more goes to a temporary folder)")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "report what could be saved, make nothing")
	return changes(cmd)
}

// salvaged says how much of a spool was saved.
func salvaged(r *maintain.SalvageResult) string {
	msg := plural(r.Entries, "entry was", "entries were") + " saved"
	switch {
	case r.LostEntries > 0:
		msg += ", " + plural(r.LostEntries, "is", "are") + " lost"
	default:
		msg += ", and no entry is known to be lost"
	}
	switch {
	case r.LostRecords == nil:
		msg += "; how many records the damaged files had held, nobody can tell"
	case *r.LostRecords > 0:
		msg += "; " + plural(*r.LostRecords, "record", "records") + " of the damaged files could not be read"
	}
	if r.MayReappear {
		msg += "; deleted data may reappear"
	}
	if r.Findings > 0 {
		msg += "; the new spool has " + plural(r.Findings, "finding", "findings")
	}
	return msg
}

// plural counts things.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
