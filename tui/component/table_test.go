package component_test

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
)

type row struct {
	name string
	size int
}

func newTable(seen *int) *component.Table[row] {
	return component.NewTable(func(r row) string { return r.name },
		component.Column[row]{Title: "NAME", Left: true, End: true, Text: func(r row) string {
			if seen != nil {
				*seen++
			}
			return format.Plain(r.name)
		}, Less: func(a, b row) bool { return a.name < b.name }},
		component.Column[row]{Title: "SIZE", Width: 10, Text: func(r row) string { return fmt.Sprint(r.size) }, Less: func(a, b row) bool { return a.size < b.size }},
		component.Column[row]{Title: "MORE", Width: 30, Optional: 1, Text: func(row) string { return "more" }},
		component.Column[row]{Title: "MOST", Width: 30, Optional: 2, Text: func(row) string { return "most" }},
	)
}

func screen(width, height int) common.Context {
	return common.Context{Width: width, Height: height, Keys: common.NewKeys(), Styles: common.NewStyles(lipgloss.NewRenderer(io.Discard))}
}

func press(t *component.Table[row], c common.Context, keys ...string) {
	named := map[string]tea.KeyType{"up": tea.KeyUp, "down": tea.KeyDown, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd}
	for _, k := range keys {
		m := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		if typ, ok := named[k]; ok {
			m = tea.KeyMsg{Type: typ}
		}
		t.Update(m, c)
	}
}

func many(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{fmt.Sprintf("topic-%05d", i), i}
	}
	return rows
}

// TestOnlyVisibleRowsAreRendered: the cost of a screen does not grow with the rows.
func TestOnlyVisibleRowsAreRendered(t *testing.T) {
	for _, n := range []int{20, 20_000} {
		seen := 0
		table := newTable(&seen)
		table.SetRows(many(n))
		table.View(screen(80, 20))
		if seen != 19 {
			t.Errorf("%d rows: %d rendered", n, seen)
		}
	}
}

func TestSelectionSurvives(t *testing.T) {
	table, c := newTable(nil), screen(80, 10)
	table.SetRows(many(100))
	press(table, c, "down", "j", "pgdown")
	first, _ := table.Selected()
	press(table, c, "s", "s", "S")
	if got, _ := table.Selected(); got != first {
		t.Errorf("sorting moved the selection from %v to %v", first, got)
	}
	grown := append(many(100), row{"aaa", 1000}, row{"zzz", -1})
	table.SetRows(grown)
	if got, _ := table.Selected(); got != first {
		t.Errorf("new rows moved the selection from %v to %v", first, got)
	}
	if !strings.Contains(table.View(c), first.name) {
		t.Error("the selected row is not on the screen")
	}
	table.SetRows(many(3))
	if _, ok := table.Selected(); !ok || !strings.Contains(table.Position(), "of 3") {
		t.Errorf("after most rows went: %s", table.Position())
	}
	table.SetRows(nil)
	if _, ok := table.Selected(); ok || !strings.Contains(table.View(c), "nothing to show") || !strings.HasPrefix(table.Position(), "0 of 0") {
		t.Errorf("empty: %s\n%s", table.Position(), table.View(c))
	}
	press(table, c, "up", "down", "home", "end", "pgup", "s", "S")
}

func TestMoving(t *testing.T) {
	table, c := newTable(nil), screen(80, 12)
	table.SetRows(many(100))
	for _, step := range []struct {
		key  string
		want int
	}{{"up", 0}, {"end", 99}, {"down", 99}, {"pgup", 89}, {"k", 88}, {"G", 99}, {"g", 0}, {"pgdown", 10}, {"home", 0}} {
		press(table, c, step.key)
		if got, _ := table.Selected(); got.size != step.want {
			t.Errorf("%s: at %d, want %d", step.key, got.size, step.want)
		}
	}
}

func TestFilter(t *testing.T) {
	table, c := newTable(nil), screen(80, 10)
	table.SetRows(many(100))
	if err := table.SetFilter("TOPIC-0009"); err != nil || table.Filter() != "TOPIC-0009" || !strings.HasPrefix(table.Position(), "1 of 10 (90 filtered out)") {
		t.Errorf("%s %v", table.Position(), err)
	}
	if err := table.SetFilter("("); err == nil || table.Filter() != "TOPIC-0009" {
		t.Errorf("a wrong expression: %v, filter %q", err, table.Filter())
	}
	if err := table.SetFilter("nothing like it"); err != nil || !strings.Contains(table.View(c), "nothing matches the filter") {
		t.Errorf("%v\n%s", err, table.View(c))
	}
	if err := table.SetFilter(""); err != nil || !strings.HasPrefix(table.Position(), "91 of 100") { // what was selected stays selected
		t.Errorf("%s %v", table.Position(), err)
	}
}

// TestWidths draws hard names at every width: no line is wider than the screen, and columns stay where they are.
func TestWidths(t *testing.T) {
	table := newTable(nil)
	table.SetRows([]row{
		{"注文受付の長い名前の長い名前の長い名前の長い名前", 1}, {"⚠️ 😀👨‍👩‍👧 e\u0301 family", 2}, {"evil\x1b[31m\u202e\r\nname", 3}, {strings.Repeat("long", 40) + "-end", 4}, {"", 5},
	})
	for width := 20; width <= 140; width++ {
		c := screen(width, 10)
		var column int
		for i, line := range strings.Split(table.View(c), "\n") {
			if w := ansi.StringWidth(line); w > max(width, 19) {
				t.Fatalf("width %d: line of %d cells: %q", width, w, line)
			}
			if strings.ContainsAny(line, "\x1b\r\u202e") {
				t.Fatalf("a control character is on the screen: %q", line)
			}
			if at := ansi.StringWidth(strings.TrimRight(line, " ")); i == 0 {
				column = at
			} else if width < 50 && at != column {
				t.Fatalf("width %d: the last column ends at %d, its title at %d: %q", width, at, column, line)
			}
		}
	}
	if v := table.View(screen(80, 10)); strings.Contains(v, "MOST") || !strings.Contains(v, "MORE") || !strings.Contains(v, "…") || !strings.Contains(v, "-end") {
		t.Errorf("at 80 the least important column goes and names keep their ends:\n%s", v)
	}
	if v := table.View(screen(120, 10)); !strings.Contains(v, "MOST") {
		t.Errorf("at 120 there is room for all:\n%s", v)
	}
}

func TestSpark(t *testing.T) {
	gap := math.NaN()
	for _, k := range []struct {
		values []float64
		want   string
	}{
		{nil, "     "},
		{[]float64{0, 0}, "   ▁▁"},
		{[]float64{0, 4, 8}, "  ▁▅█"},
		{[]float64{8, gap, 8}, "  █ █"},
		{[]float64{gap, gap}, "     "},
		{[]float64{9, 9, 1, 2, 3, 4, 8}, "▂▃▄▅█"},
		{[]float64{-3, 8}, "   ▁█"},
	} {
		if got := component.Spark(k.values, 5); got != k.want {
			t.Errorf("%v: %q, want %q", k.values, got, k.want)
		}
	}
}

// TestLargeTableIsQuick: a frame of 20 000 rows, sorted and drawn, takes no time that a person notices.
func TestLargeTableIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	table, c := newTable(nil), screen(120, 40)
	table.SortBy(1, true)
	start := time.Now()
	table.SetRows(many(20_000))
	table.View(c)
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %s", d)
	}
}

func BenchmarkView(b *testing.B) {
	for _, n := range []int{100, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table, c := newTable(nil), screen(120, 40)
			table.SetRows(many(n))
			for b.Loop() {
				table.View(c)
			}
		})
	}
}

func BenchmarkSetRows(b *testing.B) {
	table, rows := newTable(nil), many(20_000)
	table.SortBy(1, true)
	for b.Loop() {
		table.SetRows(rows)
	}
}
