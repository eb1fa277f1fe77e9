package component_test

import (
	"strings"
	"testing"

	"spoolctl/tui/component"

	tea "github.com/charmbracelet/bubbletea"
)

// TestPager: long lines are cut into several without losing a letter, moving stays inside, a filter keeps whole lines.
func TestPager(t *testing.T) {
	p := component.NewPager([]string{"first", strings.Repeat("0123456789", 3), "third"})
	c := screen(12, 3)
	if got := p.View(c); got != "first\n012345678901\n234567890123" || p.Position() != "lines 1 to 3 of 5" {
		t.Errorf("%q %s", got, p.Position())
	}
	move := func(k tea.KeyType) string {
		if !p.Update(tea.KeyMsg{Type: k}, c) {
			t.Errorf("%v is no key of a pager", k)
		}
		return p.View(c)
	}
	if got := move(tea.KeyEnd); !strings.HasSuffix(got, "third") || move(tea.KeyDown) != got || p.Position() != "lines 3 to 5 of 5" {
		t.Errorf("%q %s", got, p.Position())
	}
	if got := move(tea.KeyHome); move(tea.KeyUp) != got || move(tea.KeyPgDown) == got || move(tea.KeyPgUp) != got {
		t.Errorf("%q", got)
	}
	if p.Update(tea.KeyMsg{Type: tea.KeyEnter}, c) {
		t.Error("enter is a key of a pager")
	}
	if err := p.SetFilter("THIRD"); err != nil || p.View(c) != "third" || p.Filter() != "THIRD" {
		t.Errorf("%v %q", err, p.View(c))
	}
	if err := p.SetFilter("("); err == nil || p.Filter() != "THIRD" {
		t.Errorf("%v %q", err, p.Filter())
	}
	if err := p.SetFilter("none"); err != nil || !strings.Contains(p.View(c), "nothing matches") {
		t.Errorf("%v %q", err, p.View(c))
	}
}
