package component

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"spoolctl/tui/common"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Column is one column of a table over rows of type T.
type Column[T any] struct {
	Title string
	Width int // cells; 0 takes what is left
	Left  bool
	Text  func(T) string
	Less  func(a, b T) bool // nil: the column cannot be sorted by
}

// Table shows rows; only those on the screen are rendered, so its cost does not grow with their number.
type Table[T any] struct {
	Columns []Column[T]
	ID      func(T) string // what keeps a row selected when the order changes; also what the filter matches

	all, rows []T
	cursor    int
	offset    int
	selected  string // ID of the row under the cursor
	sort      int    // column, -1 = as given
	reverse   bool
	filter    *regexp.Regexp
}

// NewTable makes an empty table, sorted as its rows are given.
func NewTable[T any](id func(T) string, columns ...Column[T]) *Table[T] {
	return &Table[T]{Columns: columns, ID: id, sort: -1}
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

// SetFilter shows only rows whose ID matches; an empty text shows all. A text that is no regular expression is an error
// and changes nothing.
func (t *Table[T]) SetFilter(text string) error {
	if text == "" {
		t.filter = nil
	} else {
		re, err := regexp.Compile("(?i)" + text)
		if err != nil {
			return fmt.Errorf("filter: %w", err)
		}
		t.filter = re
	}
	t.arrange()
	return nil
}

func (t *Table[T]) arrange() {
	t.rows = t.rows[:0]
	for _, r := range t.all {
		if t.filter == nil || t.filter.MatchString(t.ID(r)) {
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
	case key.Matches(m, k.Up):
		t.move(-1)
	case key.Matches(m, k.Down):
		t.move(1)
	case key.Matches(m, k.PageUp):
		t.move(-page)
	case key.Matches(m, k.PageDown):
		t.move(page)
	case key.Matches(m, k.Home):
		t.move(-len(t.rows))
	case key.Matches(m, k.End):
		t.move(len(t.rows))
	case key.Matches(m, k.Sort):
		t.nextSort()
	case key.Matches(m, k.Reverse):
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
	lines := []string{c.Styles.Header.Render(t.line(widths, func(i int) string { return t.title(i) }))}
	for i := t.offset; i < min(len(t.rows), t.offset+visible); i++ {
		line := t.line(widths, func(col int) string { return t.Columns[col].Text(t.rows[i]) })
		if i == t.cursor {
			line = c.Styles.Selected.Render(line)
		}
		lines = append(lines, line)
	}
	if len(t.rows) == 0 {
		lines = append(lines, c.Styles.Dim.Render("  nothing to show"))
	}
	return strings.Join(lines, "\n")
}

// Position says which rows are shown: "1-20 of 400", with the number hidden by the filter.
func (t *Table[T]) Position() string {
	if len(t.rows) == len(t.all) {
		return fmt.Sprintf("%d of %d", min(t.cursor+1, len(t.rows)), len(t.rows))
	}
	return fmt.Sprintf("%d of %d (%d filtered out)", min(t.cursor+1, len(t.rows)), len(t.rows), len(t.all)-len(t.rows))
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

// widths gives every column its cells; the one without a width gets what is left.
func (t *Table[T]) widths(total int) []int {
	out := make([]int, len(t.Columns))
	left := total - len(t.Columns) + 1
	for i, c := range t.Columns {
		out[i] = c.Width
		left -= c.Width
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
		if i > 0 {
			b.WriteByte(' ')
		}
		cell := ansi.Truncate(text(i), w, "…")
		pad := strings.Repeat(" ", max(0, w-ansi.StringWidth(cell)))
		if t.Columns[i].Left {
			b.WriteString(cell + pad)
		} else {
			b.WriteString(pad + cell)
		}
	}
	return b.String()
}
