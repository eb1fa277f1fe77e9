package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

// execute runs one command line and gives the exit code.
func execute(ctx context.Context, f *factory, args []string) int {
	root := newRoot(f)
	var helpErr error
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { helpErr = writeHelp(cmd, cmd.OutOrStdout()) })
	root.SetArgs(args)
	root.SetIn(f.io.in)
	root.SetOut(f.io.out)
	root.SetErr(f.io.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = helpErr
	}
	code, err := classify(err)
	if code == exitOK {
		return code
	}
	asJSON := wantsJSON(args, f.environ)
	if code == exitInterrupted && !asJSON {
		fmt.Fprintln(f.io.err, "interrupted")
		return code
	}
	if code == exitUsage && cmd != nil && format.HintOf(err) == "" {
		err = format.WithHint(err, "see `"+cmd.CommandPath()+" --help`")
	}
	if werr := format.WriteError(f.io.err, err, code, asJSON); werr != nil {
		return code
	}
	if isUsage(err) && cmd != nil && !asJSON {
		fmt.Fprintf(f.io.err, "usage: %s\n", cmd.UseLine())
	}
	return code
}

// newRoot builds the whole command tree. It does no work: every command must
// be cheap to construct.
func newRoot(f *factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "spoolctl COMMAND",
		Short: "Inspect broker spools offline, administer and watch running brokers",
		Long: "spoolctl inspects and maintains the spool of a stopped broker, administers running brokers\n" +
			"(spoold and Apache Pulsar), and draws a dashboard from their metrics.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return writeHelp(cmd, cmd.OutOrStdout()) },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if isOffline(cmd) {
				return nil
			}
			return f.prepare(cmd)
		},
		DisableFlagsInUseLine: true,
	}
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &format.Error{Kind: format.ErrUsage, Err: err}
	})
	addGlobalFlags(root, f)
	root.AddCommand(
		newInspect(f),
		newStorage(f),
		newBroker(f),
		newTenants(f),
		newNamespaces(f),
		newTopics(f),
		newSubscriptions(f),
		newProduce(f),
		newConsume(f),
		newTop(f),
		newDemo(f),
		newDocs(f),
		newVersion(f),
	)
	root.SetHelpCommand(newHelp(root))
	return root
}

func addGlobalFlags(root *cobra.Command, f *factory) {
	g, p := &f.global, root.PersistentFlags()
	p.SortFlags = false
	p.StringVarP(&g.adminURL, "admin-url", "s", admin.DefaultURL, "web service of the broker")
	p.StringVar(&g.brokerURL, "broker-url", "pulsar://127.0.0.1:6650", "client service of the broker")
	p.StringSliceVar(&g.metricsURL, "metrics-url", nil, "metrics of the broker (repeatable; default ADMIN-URL/metrics)")
	p.StringVar(&g.token, "token", "", "bearer token")
	p.StringVar(&g.tokenFile, "token-file", "", "file that holds the bearer token")
	g.timeout = admin.DefaultTimeout
	p.Var((*durationValue)(&g.timeout), "timeout", "longest wait for one answer")
	p.StringVar(&g.spool, "spool", "", "directory of the spool")
	p.StringVarP(&g.output, "output", "o", "", "output: "+strings.Join(format.Formats(), "|")+"|template=TEXT (default table)")
	p.BoolVar(&g.json, "json", false, "same as -o json")
	p.StringVar(&g.jq, "jq", "", "print the results of a jq expression over the JSON output")
	p.StringSliceVar(&g.columns, "columns", nil, "columns to print, in this order")
	p.BoolVar(&g.noHeaders, "no-headers", false, "leave the header line out")
	p.StringVar(&g.sort, "sort", "", "sort rows by a column; -COLUMN for descending")
	p.IntVar(&g.limit, "limit", 0, "print at most this many rows (0 = all)")
	p.BoolVarP(&g.quiet, "quiet", "q", false, "print no confirmation of changes")
	p.CountVarP(&g.verbose, "verbose", "v", "show HTTP exchanges and logs on standard error (repeatable)")
	p.BoolVarP(&g.yes, "yes", "y", false, "do not ask for confirmation")
	p.BoolVar(&g.noInput, "no-input", false, "never prompt")
}

// prepare completes the options before a command runs.
func (f *factory) prepare(cmd *cobra.Command) error {
	if err := f.applyEnvironment(cmd.Root()); err != nil {
		return err
	}
	// A wrong output flag must be found before the command changes anything.
	_, err := f.printer()
	return err
}

// newNoun makes a command that only holds verbs.
func newNoun(use, alias, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use + " VERB",
		Short: short,
		Args:  unknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := writeHelp(cmd, cmd.ErrOrStderr()); err != nil {
				return err
			}
			return format.Usagef("%s needs a verb", cmd.CommandPath())
		},
	}
	cmd.DisableFlagsInUseLine = true
	if alias != "" {
		cmd.Aliases = []string{alias}
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// unknownVerb rejects arguments of a command that only has sub-commands.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := format.Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		e.Hint = "did you mean: " + strings.Join(near, ", ") + "?"
	}
	return e
}

// exactArgs and its kin make a wrong number of arguments a usage error.
func exactArgs(n int) cobra.PositionalArgs { return rangeArgs(n, n) }

func noArgs() cobra.PositionalArgs { return rangeArgs(0, 0) }

func rangeArgs(least, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return format.Usagef("%d of %d arguments given", len(args), least)
		case len(args) > most:
			return format.Usagef("unexpected argument %q", args[most])
		}
		return nil
	}
}

// isOffline reports commands that must not look at flags' values or the
// environment: help, completion scripts, version.
func isOffline(cmd *cobra.Command) bool {
	for c := cmd; c != nil; c = c.Parent() {
		switch c.Name() {
		case "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			return true
		}
	}
	return false
}

func isUsage(err error) bool { return is(format.ErrUsage)(err) }

// wantsJSON looks for the output flag by itself, because a wrong command line
// may never be parsed.
func wantsJSON(args, environ []string) bool {
	for i, a := range args {
		if a == "--" {
			break
		}
		val := ""
		switch {
		case a == "--json" || a == "--json=true":
			return true
		case (a == "-o" || a == "--output") && i+1 < len(args):
			val = args[i+1]
		case strings.HasPrefix(a, "-o"):
			val = strings.TrimPrefix(strings.TrimPrefix(a, "-o"), "=")
		case strings.HasPrefix(a, "--output="):
			val = strings.TrimPrefix(a, "--output=")
		}
		if val != "" {
			return val == "json" || val == "ndjson"
		}
	}
	return slices.Contains(environ, envPrefix+"OUTPUT=json") || slices.Contains(environ, envPrefix+"JSON=true")
}

// readLine reads up to a line feed, one byte at a time, so that nothing after
// it is taken from the stream.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < 1024; {
		n, err := r.Read(b)
		if n == 1 {
			if b[0] == '\n' {
				return string(line), nil
			}
			line = append(line, b[0])
		}
		if err != nil {
			return "", err
		}
	}
	return string(line), nil
}
