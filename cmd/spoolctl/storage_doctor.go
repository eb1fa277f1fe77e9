package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/maintain"
)

func newStorageDoctor(o *storageOptions) *cobra.Command {
	var d maintain.DoctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [SPOOL]",
		Short: "Say what is wrong with a spool, what is lost, and what to do next",
		Long: "Say what is wrong with a spool, what is lost, and what to do next, the worst first. Nothing is changed.\n" +
			"The exit code is 3 when data is lost or the broker cannot work with the spool. After a stop that was not clean it is\n" +
			"0 unless there is damage: a log that a kill ended looks like one that was cut short, and only the words say so.",
		Example: "  spoolctl storage doctor ./spool",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _, err := (&inspectOptions{f: o.f}).spoolOf(cmd, args, 0, 0)
			if err != nil {
				return err
			}
			d.Options = o.maintenance(dir)
			got, err := maintain.Doctor(cmd.Context(), d)
			if err != nil {
				return storageError(dir, err)
			}
			if err := o.diagnosis(got); err != nil || got.Healthy() {
				return err
			}
			e := &format.Error{Kind: format.ErrProblems, Msg: "the spool has " + plural(int64(got.Errors), "problem", "problems")}
			if got.Next != nil {
				e.Hint = "run `" + *got.Next + "`"
			}
			return e
		},
	}
	d.Memory = 256 << 20
	cmd.Flags().BoolVar(&d.Full, "full", false, "read every byte, not only metadata and the log")
	cmd.Flags().Var((*sizeValue)(&d.Memory), "memory", "most memory for caches and for rescued data")
	return cmd
}

// diagnosis prints what doctor found: as paragraphs for a person, as they are too long for a table.
func (o *storageOptions) diagnosis(d *maintain.Diagnosis) error {
	p, err := o.f.printer()
	if err != nil {
		return err
	}
	g := o.f.global
	if !p.Human() || len(g.columns) > 0 || g.sort != "" || g.limit > 0 {
		return printList(o.f, d.Complaints, format.ListOptions{Summary: d})
	}
	for _, c := range d.Complaints {
		if err := o.paragraph(o.f.io.out, fmt.Sprintf("%-9s", c.Severity), c.What); err != nil {
			return err
		}
		if c.Lost != "" {
			if err := o.paragraph(o.f.io.out, "  lost:  ", c.Lost); err != nil {
				return err
			}
		}
		next := "\n"
		if c.Next != "" {
			next = "  next:  " + format.Clean(c.Next) + "\n\n" // on one line, to be copied
		}
		if _, err := io.WriteString(o.f.io.out, next); err != nil {
			return format.OutputError(err)
		}
	}
	return p.Object(d)
}

// textWidth is how wide text is where no terminal says so.
const textWidth = 100

// paragraph writes text behind a label, the lines below indented; a command between backquotes stays on one line.
func (o *storageOptions) paragraph(w io.Writer, label, text string) error {
	width := textWidth
	if o.f.io.width != nil && o.f.io.width() > 0 {
		width = o.f.io.width()
	}
	indent := strings.Repeat(" ", len(label))
	line, used := label, len(label)
	var b strings.Builder
	for i, word := range words(format.Clean(text)) {
		n := displaywidth.String(word)
		if i > 0 && used+1+n > width {
			b.WriteString(line + "\n")
			line, used = indent, len(indent)
		} else if i > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	b.WriteString(line + "\n")
	_, err := io.WriteString(w, b.String())
	return format.OutputError(err)
}

// words splits at spaces, but for those between backquotes.
func words(s string) []string {
	quoted := false
	return strings.FieldsFunc(s, func(r rune) bool {
		if r == '`' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}
