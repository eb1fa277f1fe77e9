package format

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ListOptions go with one list.
type ListOptions struct {
	// Total is how many rows exist, when the caller fetched only some of them.
	// 0 means as many as were given.
	Total int
	// Summary is an optional struct of totals: the "summary" of the JSON
	// object, lines below a table.
	Summary any
	// Finish, when not nil, is called behind the last row and may set Total and
	// Summary: they are known only then where rows are produced one by one.
	Finish func(*ListOptions)
	// Live writes and flushes every row as it comes; Sort is then refused.
	Live bool
}

// List prints rows, each a struct. JSON is {"items":[…],"total":N,"shown":M,
// "truncated":bool}, with "summary" when there is one. A list shortened by
// Limit or Total says so in every format: "shown M of N" below a table, on the
// notes writer where the output has no room for it.
func List[T any](p *Printer, items []T, o ListOptions) error {
	o.Total = max(o.Total, len(items))
	seq := func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
	return Stream(p, seq, o)
}

// Stream is List over rows that need not fit in memory (unless Sort asks for
// all of them). When the sequence ends with an error, the rows before it are
// printed, the document is completed as truncated, and the error is returned.
// An unknown total is null.
func Stream[T any](p *Printer, seq iter.Seq2[T, error], o ListOptions) error {
	cols, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	trees := func(yield func(any, error) bool) {
		for item, err := range seq {
			var tree any
			if err == nil {
				tree, err = toTree(item)
			}
			if !yield(tree, err) || err != nil {
				return
			}
		}
	}
	err = p.stream(cols, trees, o)
	if ferr := p.flush(); err == nil {
		err = ferr
	}
	return err
}

// listWriter is one format's way to print rows.
type listWriter interface {
	row(tree any) error
	// finish completes the document.
	finish(c counts, summary *object) error
}

// counts say how much of a list was printed.
type counts struct {
	shown, total int // total -1 is unknown
	truncated    bool
}

func (c counts) String() string {
	if c.total < 0 {
		return fmt.Sprintf("shown %d, there are more", c.shown)
	}
	return fmt.Sprintf("shown %d of %d", c.shown, c.total)
}

func (p *Printer) stream(cols []column, rows iter.Seq2[any, error], o ListOptions) error {
	if p.o.Sort != "" {
		if o.Live {
			return Usagef("--sort cannot be used with rows that are printed as they come")
		}
		sorted, err := p.sorted(cols, rows)
		if err != nil {
			return err
		}
		rows = sorted
	}
	w, err := p.listWriter(cols, &o)
	if err != nil {
		return err
	}
	c := counts{total: -1}
	complete := true
	var failed error
	for tree, err := range rows {
		if err != nil {
			failed, complete = err, false
			break
		}
		if p.o.Limit > 0 && c.shown == p.o.Limit {
			complete = false
			break
		}
		if err := w.row(tree); err != nil {
			return err
		}
		c.shown++
		if o.Live {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	if o.Finish != nil {
		o.Finish(&o)
	}
	switch {
	case o.Live && failed != nil:
		// Nobody knows what would have come; the error says why it ended.
		c.total = c.shown
	case o.Total > 0 || complete:
		c.total = max(o.Total, c.shown)
		c.truncated = c.total > c.shown || !complete
	default:
		c.truncated = true
	}
	var summary *object
	if o.Summary != nil {
		tree, err := toTree(o.Summary)
		if err != nil {
			return err
		}
		summary, _ = tree.(*object)
	}
	if err := w.finish(c, summary); err != nil {
		return err
	}
	return failed
}

// sorted collects all rows; that is the price of --sort.
func (p *Printer) sorted(cols []column, rows iter.Seq2[any, error]) (iter.Seq2[any, error], error) {
	word, descending := strings.CutPrefix(p.o.Sort, "-")
	col, err := findColumn(cols, word)
	if err != nil {
		return nil, err
	}
	var all []any
	var failed error
	for tree, err := range rows {
		if err != nil {
			failed = err
			break
		}
		all = append(all, tree)
	}
	slices.SortStableFunc(all, func(a, b any) int {
		x, y := col.value(a), col.value(b)
		if descending && x != nil && y != nil {
			return compare(y, x)
		}
		return compare(x, y)
	})
	return func(yield func(any, error) bool) {
		for _, tree := range all {
			if !yield(tree, nil) {
				return
			}
		}
		if failed != nil {
			yield(nil, failed)
		}
	}, nil
}

func (p *Printer) listWriter(cols []column, o *ListOptions) (listWriter, error) {
	switch {
	case p.jq != nil || p.o.Format == "yaml":
		return &collector{p: p}, nil
	case p.o.Format == "json":
		return &jsonList{p: p}, nil
	case p.o.Format == "ndjson":
		return &lineList{p: p, write: func(tree any) error { return p.writeJSON(tree, "") }}, nil
	case p.o.Format == "template":
		return &lineList{p: p, write: p.writeTemplate}, nil
	case p.o.Format == "table" || p.o.Format == "wide":
		chosen, err := p.choose(cols)
		if err != nil {
			return nil, err
		}
		return newTable(p, chosen, o), nil
	}
	w, err := p.rowWriter(cols)
	if err != nil {
		return nil, err
	}
	return &rowList{p: p, w: w}, nil
}

// choose applies --columns, or the choice between table and wide.
func (p *Printer) choose(cols []column) ([]column, error) {
	if len(p.o.Columns) == 0 {
		if p.o.Format != "table" && p.o.Format != "markdown" {
			return cols, nil
		}
		return slices.DeleteFunc(slices.Clone(cols), func(c column) bool { return c.wide }), nil
	}
	var chosen []column
	for _, word := range p.o.Columns {
		c, err := findColumn(cols, strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

// jsonList writes {"items":[…], …} row by row, in the layout of writeJSON.
type jsonList struct {
	p    *Printer
	rows int
}

func (l *jsonList) row(tree any) error {
	sep := "{\n  \"items\": [\n    "
	if l.rows > 0 {
		sep = ",\n    "
	}
	l.rows++
	_, err := l.p.out.Write(appendJSON([]byte(sep), tree, "    ", "  "))
	return OutputError(err)
}

func (l *jsonList) finish(c counts, summary *object) error {
	text := "\n  ]"
	if l.rows == 0 {
		text = "{\n  \"items\": []"
	}
	total := "null"
	if c.total >= 0 {
		total = strconv.Itoa(c.total)
	}
	text += fmt.Sprintf(",\n  \"total\": %s,\n  \"shown\": %d,\n  \"truncated\": %t", total, c.shown, c.truncated)
	if summary != nil {
		text = string(appendJSON([]byte(text+",\n  \"summary\": "), summary, "  ", "  "))
	}
	return l.p.line(text + "\n}")
}

// lineList prints each row by itself.
type lineList struct {
	p     *Printer
	write func(tree any) error
}

func (l *lineList) row(tree any) error { return l.write(tree) }

func (l *lineList) finish(c counts, _ *object) error { return l.p.noteTruncated(c) }

func (p *Printer) noteTruncated(c counts) error {
	if !c.truncated {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.note("%s", c)
}

// collector holds all rows: jq and YAML work on the whole document.
type collector struct {
	p    *Printer
	rows []any
}

func (l *collector) row(tree any) error {
	l.rows = append(l.rows, tree)
	return nil
}

func (l *collector) finish(c counts, summary *object) error {
	doc := newObject(5)
	if l.rows == nil {
		l.rows = []any{}
	}
	doc.set("items", l.rows)
	doc.set("total", nil)
	if c.total >= 0 {
		doc.set("total", plainInt(c.total))
	}
	doc.set("shown", plainInt(c.shown))
	doc.set("truncated", c.truncated)
	if summary != nil {
		doc.set("summary", summary)
	}
	if l.p.jq != nil {
		return l.p.writeJQ(doc)
	}
	return l.p.writeYAML(doc)
}
