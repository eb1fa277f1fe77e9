package format

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/itchyny/gojq"
)

// Options say how results are printed. The zero value prints a table.
type Options struct {
	// Format is one of the Formats, or "template=TEXT"; empty is "table".
	Format string
	// JQ is a jq expression over the JSON form; it overrides Format.
	JQ string
	// Columns selects and orders columns of table, wide, csv, tsv and
	// markdown, by JSON name or header.
	Columns []string
	// NoHeaders leaves the header line out of the same formats.
	NoHeaders bool
	// Sort is a column, with a leading minus for descending order.
	Sort string
	// Limit is the largest number of rows of a list; 0 is no limit.
	Limit int
	// Quiet leaves out the sentence that a mutating command prints.
	Quiet bool
	// Now is the moment that ages count from; nil is time.Now.
	Now func() time.Time
}

// Formats lists the values of -o, except template=.
func Formats() []string {
	return []string{"table", "wide", "json", "ndjson", "yaml", "csv", "tsv", "markdown", "name"}
}

// Printer writes results to one output. It is not safe for concurrent use.
type Printer struct {
	out   *bufio.Writer
	notes io.Writer
	o     Options
	jq    *gojq.Code
	tmpl  *template.Template
}

// New checks the options; every error is of kind ErrUsage. Results go to out,
// remarks about them (a shortened CSV, for example) to notes.
func New(out, notes io.Writer, o Options) (*Printer, error) {
	p := &Printer{out: bufio.NewWriterSize(out, 32<<10), notes: notes, o: o}
	if p.o.Format == "" {
		p.o.Format = "table"
	}
	if p.o.Now == nil {
		p.o.Now = time.Now
	}
	if o.Limit < 0 {
		return nil, Usagef("--limit %d is negative", o.Limit)
	}
	if text, ok := strings.CutPrefix(p.o.Format, "template="); ok {
		tmpl, err := parseTemplate(text, p.o.Now)
		if err != nil {
			return nil, &Error{Kind: ErrUsage, Msg: "template", Err: err}
		}
		p.tmpl, p.o.Format = tmpl, "template"
	} else if !slices.Contains(Formats(), p.o.Format) {
		return nil, &Error{
			Kind: ErrUsage, Msg: fmt.Sprintf("unknown output format %q", p.o.Format),
			Hint: "formats: " + strings.Join(Formats(), ", ") + ", template=TEXT",
		}
	}
	if o.JQ != "" {
		code, err := compileJQ(o.JQ)
		if err != nil {
			return nil, &Error{Kind: ErrUsage, Msg: "jq expression", Err: err}
		}
		p.jq = code
	}
	return p, nil
}

// JSON reports whether the output is meant for a machine that reads JSON, so
// that errors should be JSON too.
func (p *Printer) JSON() bool { return p.jq != nil || p.o.Format == "json" || p.o.Format == "ndjson" }

// Human reports whether the output is a table for a person.
func (p *Printer) Human() bool { return p.jq == nil && (p.o.Format == "table" || p.o.Format == "wide") }

// Limit is the row limit of the options; 0 is none. A command that can stop
// fetching early asks for it.
func (p *Printer) Limit() int { return p.o.Limit }

// Sentence is implemented by results whose table form is a line of prose, such
// as "created topic persistent://public/default/t". The line must carry every
// field of the struct.
type Sentence interface{ Sentence() string }

// Object prints one result: a struct, a map, or json.RawMessage. Tables show
// one field per line.
func (p *Printer) Object(v any) error {
	tree, err := toTree(v)
	if err != nil {
		return err
	}
	switch t := tree.(type) {
	case *object:
	case []any:
		o := newObject(1)
		o.set("items", t)
		tree = o
	default:
		o := newObject(1)
		o.set("value", t)
		tree = o
	}
	if err := p.object(v, tree.(*object)); err != nil {
		return err
	}
	return p.flush()
}

func (p *Printer) object(v any, tree *object) error {
	if p.jq != nil {
		return p.writeJQ(tree)
	}
	switch p.o.Format {
	case "json":
		return p.writeJSON(tree, "  ")
	case "ndjson":
		return p.writeJSON(tree, "")
	case "yaml":
		return p.writeYAML(tree)
	case "template":
		return p.writeTemplate(tree)
	}
	if s, ok := v.(Sentence); ok && p.o.Format != "csv" && p.o.Format != "tsv" && p.o.Format != "name" {
		if p.o.Quiet {
			return nil
		}
		return p.line(CleanLines(s.Sentence()))
	}
	cols, err := fieldsOf(v, tree)
	if err != nil {
		return err
	}
	switch p.o.Format {
	case "csv", "tsv", "name":
		w, err := p.rowWriter(cols)
		if err != nil {
			return err
		}
		if err := w.row(tree); err != nil {
			return err
		}
		return w.end()
	}
	if len(p.o.Columns) > 0 {
		if cols, err = p.choose(cols); err != nil {
			return err
		}
	}
	return p.writeFields(cols, tree)
}

// flush hands the buffered text to the output and sorts the error.
func (p *Printer) flush() error { return OutputError(p.out.Flush()) }

func (p *Printer) line(s string) error {
	_, err := p.out.WriteString(s + "\n")
	return OutputError(err)
}

func (p *Printer) writeJSON(tree any, indent string) error {
	return p.line(string(appendJSON(nil, tree, "", indent)))
}

func (p *Printer) note(text string, args ...any) error {
	_, err := fmt.Fprintf(p.notes, text+"\n", args...)
	return err
}
