package main

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/inspect/archive"
)

// The forms of an export.
const (
	exportArchive = "archive"
	exportLines   = "lines" // an archive as lines of JSON
	exportNDJSON  = "ndjson"
	exportFiles   = "files"
)

// exported is what export says when it is done.
type exported struct {
	Form     string `json:"form" col:"FORM"`
	To       string `json:"to" col:"TO,name"`
	Topics   int64  `json:"topics" col:"TOPICS" fmt:"count"`
	Messages *int64 `json:"messages" col:"MESSAGES" fmt:"count"` // nil: an archive counts entries
	Entries  *int64 `json:"entries" col:"ENTRIES" fmt:"count"`   // nil: not an archive
	Bytes    int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
	Cursors  *int64 `json:"cursors" col:"CURSORS" fmt:"count"`
	Missing  *int64 `json:"missingEntries" col:"MISSING" fmt:"count"` // could not be read; in an archive, a gap
}

// exportFlags are the flags of inspect export.
type exportFlags struct {
	*inspectOptions
	sel        selector
	bounds     entryBounds
	everything bool
	form       string
	to         string
}

func newInspectExport(o *inspectOptions) *cobra.Command {
	x := &exportFlags{inspectOptions: o, bounds: entryBounds{f: o.f}, form: exportArchive}
	cmd := o.verb("export [TOPIC]...", "Write topics to an archive, to lines of JSON, or to a file for each message", 0, -1, x.run)
	cmd.Long = cmd.Short + ".\n\nAn archive holds everything that a topic is: entries as they were stored, positions, subscriptions\n" +
		"with their holes, schemas and policies; `spoolctl storage import` reads it. The other forms hold messages.\n" +
		"The spool is not changed."
	cmd.Example = "  spoolctl inspect export --everything --into all.spoolarc --spool ./spool\n" +
		"  spoolctl inspect export orders --form ndjson --into - --spool ./spool\n" +
		"  spoolctl inspect export orders --form files --into ./orders --spool ./spool"
	x.sel.flags(cmd)
	x.bounds.flags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&x.everything, "everything", false, "all topics, with tenants, namespaces and settings")
	fl.Var(newChoice(&x.form, exportArchive, exportLines, exportNDJSON, exportFiles), "form", "what to write")
	fl.StringVar(&x.to, "into", "", "file to write, - for standard output; a folder for files")
	return cmd
}

func (x *exportFlags) run(ctx context.Context, s *inspect.Session, args []string) error {
	sel, bounds, err := x.checked(args)
	if err != nil {
		return err
	}
	bar := x.newProgress()
	bar.bytes(x.form == exportArchive || x.form == exportLines)
	out := exported{Form: x.form, To: x.to}
	switch x.form {
	case exportArchive, exportLines:
		err = x.into(func(w io.Writer) error {
			export := func(w io.Writer) error {
				t, err := s.Export(ctx, w, inspect.ExportOptions{Selector: sel, Everything: x.everything, Program: "spoolctl/" + buildVersion().Version, Progress: bar.report})
				out.archive(t)
				return err
			}
			if x.form == exportLines {
				return asLines(w, export)
			}
			return export(w)
		})
	case exportNDJSON:
		err = x.into(func(w io.Writer) error {
			return x.lines(ctx, s, w, inspect.MessagesOptions{Selector: sel, Bounds: bounds}, &out, bar)
		})
	default:
		var t inspect.FilesTotals
		t, err = s.ExportFiles(ctx, x.to, inspect.MessagesOptions{Selector: sel, Bounds: bounds}, bar.report)
		out.Topics, out.Messages, out.Bytes = int64(t.Topics), &t.Messages, t.Bytes
	}
	bar.end()
	switch {
	case errors.Is(err, inspect.ErrNotEmpty):
		return &format.Error{Err: err, Hint: "name a folder that does not exist yet"}
	case err != nil || x.to == "-":
		return err
	}
	return x.f.print(out)
}

// checked reads the flags that belong together.
func (x *exportFlags) checked(args []string) (sel inspect.Selector, b inspect.Bounds, err error) {
	switch {
	case len(args) == 0 && x.sel.regex == "" && !x.everything:
		return sel, b, &format.Error{Kind: format.ErrUsage, Msg: "nothing is chosen", Hint: "name topics, or give --everything"}
	case len(args) > 0 && x.everything:
		return sel, b, format.Usagef("--everything and names of topics contradict each other")
	case x.to == "":
		return sel, b, &format.Error{Kind: format.ErrUsage, Msg: "--into is missing", Hint: "name a file, or - for standard output"}
	case x.to == "-" && x.form == exportFiles:
		return sel, b, format.Usagef("--form files needs a folder in --into")
	}
	if sel, err = x.sel.selector(args); err != nil {
		return sel, b, err
	}
	b, err = x.bounds.bounds()
	if err == nil && (x.form == exportArchive || x.form == exportLines) && b != (inspect.Bounds{}) {
		err = format.Usagef("an archive holds whole topics: --from, --to, --since and --until are for the other forms")
	}
	return sel, b, err
}

// into writes to the file that --into names: whole or not at all.
func (x *exportFlags) into(write func(io.Writer) error) (err error) {
	if x.to == "-" {
		return format.OutputError(write(x.f.io.out))
	}
	f, err := renameio.NewPendingFile(x.to, renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Cleanup()) }()
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// asLines writes lines of JSON of the archive that export writes.
func asLines(w io.Writer, export func(io.Writer) error) error {
	r, to := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		to.CloseWithError(export(to))
	}()
	a, err := archive.NewReader(r)
	if err == nil {
		err = archive.WriteLines(w, a)
		a.Close()
	}
	// An export that goes on ends with this; its own error has come through the pipe.
	r.CloseWithError(err)
	<-done
	return err
}

// lines writes messages as `inspect messages -o ndjson` prints them.
func (x *exportFlags) lines(ctx context.Context, s *inspect.Session, w io.Writer, o inspect.MessagesOptions, out *exported, bar *progress) error {
	list, err := s.Messages(ctx, o)
	if err != nil {
		return err
	}
	p, err := format.New(w, x.f.io.err, format.Options{Format: "ndjson", Now: x.f.now})
	if err != nil {
		return err
	}
	out.Messages = new(int64)
	topic := ""
	counted := func(yield func(inspect.Message, error) bool) {
		for m, err := range list.Rows {
			if err == nil {
				*out.Messages++
				out.Bytes += int64(len(m.Payload))
				if m.Topic != topic {
					topic = m.Topic
					out.Topics++
				}
				bar.report("messages", *out.Messages, list.Total())
			}
			if !yield(m, err) {
				return
			}
		}
	}
	return format.Stream(p, iter.Seq2[inspect.Message, error](counted), format.ListOptions{})
}

func (e *exported) archive(t archive.Totals) {
	e.Topics, e.Entries, e.Bytes, e.Cursors, e.Missing = t.Topics, &t.Entries, t.Bytes, &t.Cursors, &t.Missing
}
