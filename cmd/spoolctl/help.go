package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"spoolctl/format"
)

// usageTemplate is cobra's without the global flags of every command, which
// would hide the few that matter.
const usageTemplate = `Usage:
  {{.UseLine}}{{if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

The global flags are listed by {{.Root.Name}} --help.{{end}}{{if .HasAvailableSubCommands}}
More about a command: {{.CommandPath}} COMMAND --help{{end}}
`

// A command's annotations say what it does to the world.
const (
	annotationEffect = "effect"
	effectChanges    = "changes"
	effectReads      = "reads"
)

// commandTree is the output of help --json.
type commandTree struct {
	Name     string        `json:"name"`
	Aliases  []string      `json:"aliases"`
	Use      string        `json:"use"`
	Short    string        `json:"short"`
	Effect   string        `json:"effect"` // reads or changes
	Flags    []flagInfo    `json:"flags"`
	Commands []commandTree `json:"commands"`
}

type flagInfo struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand"`
	Type      string `json:"type"`
	Default   string `json:"default"`
	Help      string `json:"help"`
}

// helpDocument adds what holds for all commands.
type helpDocument struct {
	Command     commandTree    `json:"command"`
	GlobalFlags []flagInfo     `json:"globalFlags"`
	ExitCodes   []exitCodeInfo `json:"exitCodes"`
}

type exitCodeInfo struct {
	Code    int    `json:"code"`
	Meaning string `json:"meaning"`
}

func exitCodes() []exitCodeInfo {
	return []exitCodeInfo{
		{exitOK, "done"},
		{exitFailed, "failed"},
		{exitUsage, "wrong usage, or a prompt refused"},
		{exitProblems, "done, and problems were found"},
		{exitUnavailable, "cannot get at it: absent, locked, unreachable, forbidden"},
		{exitPartial, "some items of a batch failed"},
		{exitInterrupted, "interrupted"},
	}
}

// newHelp is cobra's help with a machine-readable form.
func newHelp(root *cobra.Command) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownVerb(target, rest)
			}
			if !asJSON {
				return writeHelp(target, cmd.OutOrStdout())
			}
			p, err := format.New(cmd.OutOrStdout(), cmd.ErrOrStderr(), format.Options{Format: "json"})
			if err != nil {
				return err
			}
			return p.Object(helpDocument{
				Command: treeOf(target), GlobalFlags: flagList(root.PersistentFlags()), ExitCodes: exitCodes(),
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the command tree with flags and exit codes as JSON")
	return cmd
}

// writeHelp writes what --help writes, but to w and without losing the error.
func writeHelp(cmd *cobra.Command, w io.Writer) error {
	cmd.InitDefaultHelpFlag()
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	_, err := io.WriteString(w, text+"\n\n"+strings.TrimRight(cmd.UsageString(), "\n")+"\n")
	return format.OutputError(err)
}

func treeOf(cmd *cobra.Command) commandTree {
	t := commandTree{
		Name: cmd.Name(), Aliases: cmd.Aliases, Use: cmd.UseLine(), Short: cmd.Short,
		Effect: effectReads, Flags: flagList(cmd.LocalNonPersistentFlags()),
	}
	if cmd.Annotations[annotationEffect] != "" {
		t.Effect = cmd.Annotations[annotationEffect]
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			t.Commands = append(t.Commands, treeOf(c))
		}
	}
	return t
}

func flagList(set *pflag.FlagSet) []flagInfo {
	var list []flagInfo
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			list = append(list, flagInfo{Name: f.Name, Shorthand: f.Shorthand, Type: f.Value.Type(), Default: f.DefValue, Help: f.Usage})
		}
	})
	return list
}
