package main

import (
	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect/pebbletool"
)

func newInspectPebble(o *inspectOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "pebble COMMAND",
		Short: "Run Pebble's own introspection tool, read-only",
		Long: "Run Pebble's own introspection tool on the database of a spool, which is its folder store.\n" +
			"Nothing is changed; commands of the tool that would are not there. Keys are printed as people\n" +
			"read them. It takes its own flags only: see `spoolctl inspect pebble --help` after `--`.",
		Example:            "  spoolctl inspect pebble -- --help\n  spoolctl inspect pebble db scan ./spool/store --count 10\n  spoolctl inspect pebble manifest dump ./spool/store/MANIFEST-000001",
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			reported, err := pebbletool.Run(cmd.Context(), pebbletool.Options{Name: cmd.CommandPath(), Out: o.f.io.out, Err: o.f.io.err}, args)
			switch {
			case err != nil:
				return &format.Error{Kind: format.ErrUsage, Err: err}
			case reported:
				return &format.Error{Kind: format.ErrProblems, Msg: "the tool met problems", Hint: "`spoolctl inspect verify` says what is damaged"}
			}
			return nil
		},
	}
}
