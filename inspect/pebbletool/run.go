package pebbletool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"spoolctl/storage"
	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/tool"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"
)

// Options are for Run.
type Options struct {
	FS       vfs.FS // nil: the operating system's; nothing in it changes
	Name     string // of the command that the user typed, for the help
	Out, Err io.Writer
}

// Run runs one command of the tool. reported says that the tool has met damage
// or something that it could not do, and printed it; err is a wrong command
// line.
func Run(ctx context.Context, o Options, args []string) (reported bool, err error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	t := tool.New(tool.FS(storage.ReadOnly(o.FS)), tool.OpenOptions(quiet{}))
	tool.Comparers(comparer())(t) // New itself registers Pebble's own under the same name last
	out, errs := &watched{w: o.Out, marks: damageMarks()}, &watched{w: o.Err}
	root := &cobra.Command{
		Use: o.Name, Short: "Pebble's introspection tool, read-only", SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	for _, c := range t.Commands {
		if slices.Contains(writing(), c.Name()) {
			continue
		}
		for _, sub := range c.Commands() {
			if slices.Contains(writing(), c.Name()+" "+sub.Name()) {
				c.RemoveCommand(sub)
			}
		}
		root.AddCommand(c)
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err = root.ExecuteContext(ctx)
	return out.seen || errs.seen, err
}

// writing are the commands that change a database, or need one that can be
// written.
func writing() []string {
	return []string{"remotecat", "db checkpoint", "db excise", "db io-bench", "db set", "db upgrade", "db analyze-data"}
}

// damageMarks are what the tool prints among its results when it meets damage.
func damageMarks() [][]byte {
	return [][]byte{[]byte("corruption"), []byte("invalid table"), []byte("checksum mismatch"), []byte("OUT OF ORDER")}
}

// comparer is the one of a spool's database, with keys and values as people
// read them.
func comparer() *tool.Comparer {
	c := *pebble.DefaultComparer
	c.FormatKey = func(k []byte) fmt.Formatter { return shown(key.Format(k)) }
	c.FormatValue = func(_, v []byte) fmt.Formatter { return shown(fmt.Sprintf("%d bytes %x", len(v), v[:min(32, len(v))])) }
	return &c
}

type shown string

// Format implements fmt.Formatter.
func (s shown) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, string(s)) }

// quiet keeps Pebble's log off the terminal.
type quiet struct{}

// Apply implements tool.OpenOption.
func (quiet) Apply(_ string, o *pebble.Options) { o.Logger, o.ReadOnly = logger{}, true }

type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger; the program goes on with a panic, which
// Pebble turns into an error.
func (logger) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// watched notes what passes by.
type watched struct {
	w     io.Writer
	marks [][]byte // nil: anything counts
	seen  bool
}

// Write implements io.Writer.
func (w *watched) Write(b []byte) (int, error) {
	w.seen = w.seen || len(b) > 0 && (w.marks == nil || slices.ContainsFunc(w.marks, func(m []byte) bool { return bytes.Contains(b, m) }))
	return w.w.Write(b)
}
