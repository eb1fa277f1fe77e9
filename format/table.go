package format

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// layoutRows is how many rows tablewriter lays out at once. It costs 6 KiB and
// 20 µs a row, so longer tables are streamed with the widths found so far.
const layoutRows = 1000

// columnGap stands between columns.
const columnGap = "  "

// tableList lays out the first rows and streams the rest.
type tableList struct {
	p      *Printer
	cols   []column
	head   []string
	rows   [][]string // until laid out
	widths []int      // once laid out
	o      ListOptions
}

func newTable(p *Printer, cols []column, o ListOptions) *tableList {
	t := &tableList{p: p, cols: cols, o: o}
	if !p.o.NoHeaders {
		for _, c := range cols {
			t.head = append(t.head, c.header)
		}
	}
	return t
}

func (t *tableList) row(tree any) error {
	now := t.p.o.Now()
	cells := make([]string, len(t.cols))
	for i, c := range t.cols {
		cells[i] = cell(c.value(tree), c.unit, now)
	}
	if t.widths != nil {
		return t.p.line(t.pad(cells))
	}
	t.rows = append(t.rows, cells)
	if t.o.Live || len(t.rows) == layoutRows {
		return t.layout()
	}
	return nil
}

func (t *tableList) layout() error {
	t.widths = make([]int, len(t.cols))
	for _, cells := range append([][]string{t.head}, t.rows...) {
		for i, c := range cells {
			t.widths[i] = max(t.widths[i], textWidth(c))
		}
	}
	text, err := layOut(t.head, t.rows, t.cols)
	if err != nil {
		return err
	}
	t.rows = nil
	_, err = t.p.out.WriteString(text)
	return OutputError(err)
}

// pad sets one row below a table that is already out. A cell wider than its
// column is never cut: the column is wider from here on.
func (t *tableList) pad(cells []string) string {
	var b strings.Builder
	for i, c := range cells {
		width := textWidth(c)
		t.widths[i] = max(t.widths[i], width)
		space := strings.Repeat(" ", t.widths[i]-width)
		if t.cols[i].right {
			b.WriteString(space + c)
		} else {
			b.WriteString(c + space)
		}
		b.WriteString(columnGap)
	}
	return strings.TrimRight(b.String(), " ")
}

func (t *tableList) finish(c counts, summary *object) error {
	if t.widths == nil && (len(t.rows) > 0 || !t.p.o.NoHeaders) {
		if err := t.layout(); err != nil {
			return err
		}
	}
	if summary != nil {
		cols, err := fieldsOf(t.o.Summary, summary)
		if err != nil {
			return err
		}
		if err := t.p.line(""); err != nil {
			return err
		}
		if err := t.p.writeFields(cols, summary); err != nil {
			return err
		}
	}
	if c.truncated {
		return t.p.line("\n" + c.String())
	}
	return nil
}

// textWidth is the number of terminal cells of s, by the tables that
// tablewriter uses.
func textWidth(s string) int { return displaywidth.String(s) }

// layOut makes a borderless table. Headers are printed as given: tablewriter's
// header formatting would turn msg_backlog into MSG BACKLOG.
func layOut(head []string, rows [][]string, cols []column) (string, error) {
	if len(cols) == 0 {
		return "", nil
	}
	align := make([]tw.Align, len(cols))
	for i, c := range cols {
		align[i] = tw.AlignLeft
		if c.right {
			align[i] = tw.AlignRight
		}
	}
	var b strings.Builder
	t := tablewriter.NewTable(&b,
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithPadding(tw.Padding{Left: tw.Empty, Right: columnGap, Overwrite: true}),
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
	)
	if head != nil {
		t.Header(head)
	}
	if err := t.Bulk(rows); err != nil {
		return "", err
	}
	if err := t.Render(); err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// fieldsOf gives the lines of a single object: columns by the struct's tags
// where v is a struct, the leaves of the tree otherwise. All fields are there.
func fieldsOf(v any, tree *object) ([]column, error) {
	if v != nil {
		t := reflect.TypeOf(v)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct && !isLeaf(t) {
			return columnsOf(t)
		}
	}
	var cols []column
	leaves(tree, nil, func(path []string, val any) {
		name := strings.Join(path, ".")
		_, right := val.(json.Number)
		cols = append(cols, column{name: name, path: path, header: name, right: right})
	})
	if len(cols) > 0 {
		cols[0].key = true
	}
	return cols, nil
}

// leaves visits the fields that hold no further fields; a list of objects
// stays one value.
func leaves(o *object, path []string, visit func([]string, any)) {
	for _, k := range o.keys {
		at := append(append([]string{}, path...), k)
		if inner, ok := o.vals[k].(*object); ok && len(inner.keys) > 0 {
			leaves(inner, at, visit)
			continue
		}
		visit(at, o.vals[k])
	}
}

// writeFields prints one "NAME  value" line per field. A list of objects
// becomes a block of lines per item.
func (p *Printer) writeFields(cols []column, tree *object) error {
	chosen := cols
	if len(p.o.Columns) > 0 {
		var err error
		if chosen, err = p.choose(cols); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, c := range chosen {
		rows = p.fieldRows(rows, c.header, c.value(tree), c.unit)
	}
	if p.o.Format == "markdown" {
		return p.markdown([]string{"FIELD", "VALUE"}, rows, make([]bool, 2))
	}
	if len(rows) == 0 {
		return nil
	}
	text, err := layOut(nil, rows, make([]column, 2))
	if err != nil {
		return err
	}
	_, err = p.out.WriteString(text)
	return OutputError(err)
}

func (p *Printer) fieldRows(rows [][]string, label string, val any, unit string) [][]string {
	switch v := val.(type) {
	case *object:
		if len(v.keys) > 0 {
			for _, k := range v.keys {
				rows = p.fieldRows(rows, label+"."+k, v.vals[k], "")
			}
			return rows
		}
	case []any:
		nested := false
		for _, item := range v {
			_, isObject := item.(*object)
			nested = nested || isObject
		}
		if nested {
			for i, item := range v {
				rows = p.fieldRows(rows, fmt.Sprintf("%s[%d]", label, i), item, unit)
			}
			return rows
		}
	}
	return append(rows, []string{Clean(label), cell(val, unit, p.o.Now())})
}

func plainInt(n int) json.Number { return json.Number(strconv.Itoa(n)) }
