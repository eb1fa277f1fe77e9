package format

import (
	"encoding/csv"
	"strings"
)

// rowFormat writes rows of csv, tsv, markdown and name.
type rowFormat interface {
	row(tree any) error
	end() error
}

// rowList adapts a rowFormat to lists.
type rowList struct {
	p *Printer
	w rowFormat
}

func (l *rowList) row(tree any) error { return l.w.row(tree) }

func (l *rowList) finish(c counts, _ *object) error {
	if err := l.w.end(); err != nil {
		return err
	}
	return l.p.noteTruncated(c)
}

func (p *Printer) rowWriter(cols []column) (rowFormat, error) {
	if p.o.Format == "name" {
		for _, c := range cols {
			if c.key {
				return &nameRows{p: p, col: c}, nil
			}
		}
		return &nameRows{p: p}, nil
	}
	chosen, err := p.choose(cols)
	if err != nil {
		return nil, err
	}
	switch p.o.Format {
	case "csv":
		w := csv.NewWriter(p.out)
		return &csvRows{p: p, cols: chosen, w: w}, nil
	case "tsv":
		return &tsvRows{p: p, cols: chosen}, nil
	}
	return &markdownRows{p: p, cols: chosen}, nil
}

func names(cols []column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.name
	}
	return out
}

func rawCells(cols []column, tree any) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = rawCell(c.value(tree))
	}
	return out
}

type nameRows struct {
	p   *Printer
	col column
}

func (r *nameRows) row(tree any) error { return r.p.line(Clean(rawCell(r.col.value(tree)))) }
func (r *nameRows) end() error         { return nil }

type csvRows struct {
	p       *Printer
	cols    []column
	w       *csv.Writer
	started bool
}

func (r *csvRows) start() error {
	if r.started || r.p.o.NoHeaders {
		return nil
	}
	r.started = true
	return OutputError(r.w.Write(names(r.cols)))
}

func (r *csvRows) row(tree any) error {
	if err := r.start(); err != nil {
		return err
	}
	if err := r.w.Write(rawCells(r.cols, tree)); err != nil {
		return OutputError(err)
	}
	r.w.Flush()
	return OutputError(r.w.Error())
}

func (r *csvRows) end() error {
	if err := r.start(); err != nil {
		return err
	}
	r.w.Flush()
	return OutputError(r.w.Error())
}

// tsvRows escape tab, line feed and backslash, so that a row is a line.
type tsvRows struct {
	p       *Printer
	cols    []column
	started bool
}

func (r *tsvRows) start() error {
	if r.started || r.p.o.NoHeaders {
		return nil
	}
	r.started = true
	return r.p.line(strings.Join(names(r.cols), "\t"))
}

func (r *tsvRows) row(tree any) error {
	if err := r.start(); err != nil {
		return err
	}
	cells := rawCells(r.cols, tree)
	for i, c := range cells {
		cells[i] = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`).Replace(c)
	}
	return r.p.line(strings.Join(cells, "\t"))
}

func (r *tsvRows) end() error { return r.start() }

type markdownRows struct {
	p    *Printer
	cols []column
	rows [][]string
}

func (r *markdownRows) row(tree any) error {
	cells := make([]string, len(r.cols))
	for i, c := range r.cols {
		cells[i] = cell(c.value(tree), c.unit, r.p.o.Now())
	}
	r.rows = append(r.rows, cells)
	return nil
}

func (r *markdownRows) end() error {
	head := make([]string, len(r.cols))
	right := make([]bool, len(r.cols))
	for i, c := range r.cols {
		head[i], right[i] = c.header, c.right
	}
	return r.p.markdown(head, r.rows, right)
}

// markdown writes a table in the GitHub dialect. It has no form without a
// header, so NoHeaders leaves the titles empty.
func (p *Printer) markdown(head []string, rows [][]string, right []bool) error {
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "\\`")
	line := func(cells []string) error {
		out := make([]string, len(cells))
		for i, c := range cells {
			out[i] = escape.Replace(c)
		}
		return p.line("| " + strings.Join(out, " | ") + " |")
	}
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
		if right[i] {
			rule[i] = "---:"
		}
	}
	if p.o.NoHeaders {
		head = make([]string, len(head))
	}
	if err := line(head); err != nil {
		return err
	}
	if err := p.line("| " + strings.Join(rule, " | ") + " |"); err != nil {
		return err
	}
	for _, r := range rows {
		if err := line(r); err != nil {
			return err
		}
	}
	return nil
}
