package component

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"spoolctl/tui/common"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Column is one column of a table over rows of type T.
type Column[T any] struct {
	Title    string
	Width    int // cells; 0 takes what is left
	Left     bool
	End      bool // a text that is too long keeps its end: what differs between names stands there
	Optional int  // on a narrow screen the column with the largest number goes first; 0 stays
	Text     func(T) string
	Less     func(a, b T) bool // nil: the column cannot be sorted by
}

// roomForNames is the width that a column without a width of its own shall have before optional columns are shown.
const roomForNames = 26

// Table shows rows; only those on the screen are rendered, so its cost does not grow with their number.
type Table[T any] struct {
	Columns []Column[T]
	ID      func(T) string // keeps a row selected when the order changes; unique
	Name    func(T) string // what the filter matches
	Old     func(T) bool   // rows that are drawn faint; nil: none
	Still   bool           // without a cursor

	all, rows []T
	cursor    int
	offset    int
	selected  string // ID of the row under the cursor
	sort      int    // column, -1 = as given
	reverse   bool
	filter    *regexp.Regexp
	text      string // the filter's
}

// NewTable makes an empty table, sorted as its rows are given. Rows are told apart, and filtered, by name.
func NewTable[T any](name func(T) string, columns ...Column[T]) *Table[T] {
	return &Table[T]{Columns: columns, ID: name, Name: name, sort: -1}
}

// SortBy sorts by a column, falling when reverse is set.
func (t *Table[T]) SortBy(column int, reverse bool) {
	t.sort, t.reverse = column, reverse
	t.arrange()
}

// SetRows replaces the rows; the selected one stays selected.
func (t *Table[T]) SetRows(rows []T) {
	t.all = rows
	t.arrange()
}

// Compile compiles a regular expression that was typed. An empty text gives nil. The error is short enough for a line of
// the screen.
func Compile(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	var wrong *syntax.Error
	switch {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("no regular expression: %s", wrong.Code)
	case err != nil:
		return nil, fmt.Errorf("no regular expression: %w", err)
	}
	return re, nil
}

// CompileFilter is Compile for a filter: small and capital letters are the same.
func CompileFilter(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	return Compile("(?i)" + text)
}

// SetFilter shows only rows whose Name matches; an empty text shows all. A text that is no regular expression is an error
// and changes nothing.
func (t *Table[T]) SetFilter(text string) error {
	re, err := CompileFilter(text)
	if err != nil {
		return err
	}
	t.filter, t.text = re, text
	t.arrange()
	return nil
}

// Filter is the text of the filter in effect.
func (t *Table[T]) Filter() string { return t.text }

func (t *Table[T]) arrange() {
	t.rows = t.rows[:0]
	for _, r := range t.all {
		if t.filter == nil || t.filter.MatchString(t.Name(r)) {
			t.rows = append(t.rows, r)
		}
	}
	if t.sort >= 0 && t.Columns[t.sort].Less != nil {
		less := t.Columns[t.sort].Less
		slices.SortStableFunc(t.rows, func(a, b T) int {
			if t.reverse {
				a, b = b, a
			}
			switch {
			case less(a, b):
				return -1
			case less(b, a):
				return 1
			}
			return 0
		})
	}
	if i := slices.IndexFunc(t.rows, func(r T) bool { return t.ID(r) == t.selected }); i >= 0 {
		t.cursor = i
	}
	t.move(0)
}

// Selected returns the row under the cursor.
func (t *Table[T]) Selected() (row T, ok bool) {
	if t.cursor >= len(t.rows) {
		return row, false
	}
	return t.rows[t.cursor], true
}

// All returns the rows that were set, whatever the filter.
func (t *Table[T]) All() []T { return t.all }

// Shown returns a copy of the rows that the filter leaves, in the order of the screen.
func (t *Table[T]) Shown() []T { return slices.Clone(t.rows) }

// AtTop and AtBottom report whether the cursor cannot go further; both are true without rows.
func (t *Table[T]) AtTop() bool { return t.cursor == 0 }

// AtBottom is the other end of AtTop.
func (t *Table[T]) AtBottom() bool { return t.cursor >= len(t.rows)-1 }

// Select puts the cursor on a row by its place, or on the nearest one.
func (t *Table[T]) Select(row int) { t.move(row - t.cursor) }

func (t *Table[T]) move(by int) {
	t.cursor = max(0, min(t.cursor+by, len(t.rows)-1))
	if t.cursor < len(t.rows) {
		t.selected = t.ID(t.rows[t.cursor])
	}
}

// Update handles the keys of moving and sorting; handled says whether it was one.
func (t *Table[T]) Update(m tea.KeyMsg, c common.Context) (handled bool) {
	page := max(1, c.Height-2)
	switch k := c.Keys; {
	case common.Matches(m, k.Up):
		t.move(-1)
	case common.Matches(m, k.Down):
		t.move(1)
	case common.Matches(m, k.PageUp):
		t.move(-page)
	case common.Matches(m, k.PageDown):
		t.move(page)
	case common.Matches(m, k.Home):
		t.move(-len(t.rows))
	case common.Matches(m, k.End):
		t.move(len(t.rows))
	case common.Matches(m, k.Sort):
		t.nextSort()
	case common.Matches(m, k.Reverse):
		t.SortBy(t.sort, !t.reverse)
	default:
		return false
	}
	return true
}

func (t *Table[T]) nextSort() {
	for i := range t.Columns {
		next := (t.sort + 1 + i) % len(t.Columns)
		if t.Columns[next].Less != nil {
			t.SortBy(next, !t.Columns[next].Left) // numbers: the largest first
			return
		}
	}
}

// View draws a header line and the rows around the cursor, at most c.Height lines of c.Width cells.
func (t *Table[T]) View(c common.Context) string {
	visible := max(1, c.Height-1)
	if t.cursor < t.offset {
		t.offset = t.cursor
	}
	if t.cursor >= t.offset+visible {
		t.offset = t.cursor - visible + 1
	}
	t.offset = max(0, min(t.offset, len(t.rows)-visible))
	widths := t.widths(c.Width)
	lines := []string{c.Styles.Header.Render(t.line(widths, t.title))}
	for i := t.offset; i < min(len(t.rows), t.offset+visible); i++ {
		line := t.line(widths, func(col int) string { return t.Columns[col].Text(t.rows[i]) })
		switch {
		case i == t.cursor && !t.Still:
			line = c.Styles.Selected.Render(line)
		case t.Old != nil && t.Old(t.rows[i]):
			line = c.Styles.Dim.Render(line)
		}
		lines = append(lines, line)
	}
	switch {
	case len(t.rows) == 0 && len(t.all) > 0:
		lines = append(lines, c.Styles.Dim.Render("  nothing matches the filter"))
	case len(t.rows) == 0:
		lines = append(lines, c.Styles.Dim.Render("  nothing to show"))
	}
	return strings.Join(lines, "\n")
}

// Position says where the cursor is, what the filter hides and what the rows are sorted by.
func (t *Table[T]) Position() string {
	text := fmt.Sprintf("%d of %d", min(t.cursor+1, len(t.rows)), len(t.rows))
	if hidden := len(t.all) - len(t.rows); hidden > 0 {
		text += fmt.Sprintf(" (%d filtered out)", hidden)
	}
	if t.sort >= 0 {
		text += " by " + t.title(t.sort)
	}
	return text
}

func (t *Table[T]) title(i int) string {
	title := t.Columns[i].Title
	if i != t.sort {
		return title
	}
	if t.reverse {
		return title + "▼"
	}
	return title + "▲"
}

// hidden is the width of a column that is not shown.
const hidden = -1

// widths gives every column its cells; the one without a width gets what is left, optional ones go when it is too little.
func (t *Table[T]) widths(total int) []int {
	out := make([]int, len(t.Columns))
	left := total + 1
	for i, c := range t.Columns {
		out[i] = c.Width
		left -= c.Width + 1
	}
	for left < roomForNames {
		next := -1
		for i, c := range t.Columns {
			if c.Optional > 0 && out[i] != hidden && (next < 0 || c.Optional > t.Columns[next].Optional) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		left += out[next] + 1
		out[next] = hidden
	}
	for i, c := range t.Columns {
		if c.Width == 0 {
			out[i] = max(8, left)
		}
	}
	return out
}

func (t *Table[T]) line(widths []int, text func(i int) string) string {
	var b strings.Builder
	for i, w := range widths {
		if w == hidden {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		cell := fit(text(i), w, t.Columns[i].End)
		pad := strings.Repeat(" ", max(0, w-ansi.StringWidth(cell)))
		if t.Columns[i].Left {
			b.WriteString(cell + pad)
		} else {
			b.WriteString(pad + cell)
		}
	}
	return b.String()
}

// fit cuts a text to some cells.
func fit(text string, width int, end bool) string {
	over := ansi.StringWidth(text) - width
	if over <= 0 {
		return text
	}
	if !end {
		return ansi.Truncate(text, width, "…")
	}
	cut := ansi.TruncateLeft(text, over+1, "…")
	for i := 2; ansi.StringWidth(cut) > width; i++ { // a wide character was at the cut
		cut = ansi.TruncateLeft(text, over+i, "…")
	}
	return cut
}
