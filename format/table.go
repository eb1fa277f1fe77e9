package format

import (
	"encoding/json"
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
	o      *ListOptions
}

func newTable(p *Printer, cols []column, o *ListOptions) *tableList {
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

func plainInt(n int) json.Number { return json.Number(strconv.Itoa(n)) }
