package tui

import (
	"fmt"
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/frame"

	"github.com/charmbracelet/x/ansi"
)

// chrome is the number of lines around the page.
const chrome = 4

func (m *model) pageContext() common.Context {
	c := m.c
	c.Height = max(3, c.Height-chrome)
	return c
}

// View implements tea.Model.
func (m *model) View() string {
	c := m.pageContext()
	draw := m.page().View
	if m.help {
		draw = m.helpView
	}
	lines := strings.Split(draw(c), "\n")
	for len(lines) < c.Height {
		lines = append(lines, "")
	}
	all := append([]string{m.titleLine(), m.tabLine()}, lines[:c.Height]...)
	all = append(all, m.noteLine(), m.keyLine())
	for i := range all {
		all[i] = ansi.Truncate(all[i], m.c.Width, "…")
	}
	return strings.Join(all, "\n")
}

func (m *model) titleLine() string {
	left := m.c.Styles.Title.Render("spoolctl top")
	state := m.stateText()
	middle := m.brokersText()
	space := m.c.Width - ansi.StringWidth(left) - ansi.StringWidth(middle) - ansi.StringWidth(state) - 2
	if space < 1 {
		return left + " " + state
	}
	return left + strings.Repeat(" ", space) + m.c.Styles.Dim.Render(middle) + "  " + state
}

func (m *model) brokersText() string {
	n := m.o.Monitor.Sources()
	text := fmt.Sprintf("%d brokers", n)
	if n == 1 {
		text = "1 broker"
		if b := m.shown.Brokers; len(b) == 1 && b[0].Started != nil {
			text += " · up " + format.Duration(m.shown.At.Sub(*b[0].Started).Round(time.Second))
		}
	}
	return text + " · every " + format.Duration(m.o.Interval)
}

// stateText says in a word whether what is on the screen is what is true now.
func (m *model) stateText() string {
	live, silent := 0, 0
	for _, b := range m.shown.Brokers {
		switch b.State {
		case frame.StateLive:
			live++
		case frame.StateWaiting:
		default:
			silent++
		}
	}
	switch all := len(m.shown.Brokers); {
	case m.paused:
		return m.c.Styles.Warn.Render("‖ paused")
	case silent > 0 && all == 1:
		return m.c.Styles.Bad.Render("● no answer")
	case silent > 0:
		return m.c.Styles.Bad.Render(fmt.Sprintf("● %d of %d do not answer", silent, all))
	case all == 0 || live < all:
		return m.c.Styles.Dim.Render("○ waiting")
	}
	return m.c.Styles.Good.Render("● live")
}

func (m *model) tabLine() string {
	var b strings.Builder
	for i, v := range m.views {
		style := m.c.Styles.Tab
		if i == m.view {
			style = m.c.Styles.ActiveTab
		}
		b.WriteString(style.Render(fmt.Sprintf("%d %s", i+1, v.Title())) + "  ")
	}
	for _, p := range m.inside {
		b.WriteString("› " + p.Title() + " ")
	}
	return b.String()
}

func (m *model) noteLine() string {
	switch {
	case m.filtering && m.note != "":
		return m.filter.View() + "  " + m.c.Styles.Bad.Render(m.note)
	case m.filtering:
		return m.filter.View()
	case m.note != "":
		return m.c.Styles.Bad.Render(m.note)
	}
	text := m.page().Position()
	if f := m.page().Filter(); f != "" {
		text += "  filter /" + format.Plain(f)
	}
	return m.c.Styles.Dim.Render(text)
}

// keyLine lists keys: those of the filter while one is typed.
func (m *model) keyLine() string {
	if m.filtering {
		return m.c.Styles.Dim.Render("enter keep   esc drop")
	}
	var parts []string
	for _, k := range m.c.Keys.Line() {
		parts = append(parts, k.Help().Key+" "+k.Help().Desc)
	}
	return m.c.Styles.Dim.Render(strings.Join(parts, "  "))
}

func (m *model) helpView(common.Context) string {
	lines := []string{m.c.Styles.Header.Render("Keys")}
	for _, k := range m.c.Keys.All() {
		lines = append(lines, fmt.Sprintf("  %-8s %s", k.Help().Key, k.Long))
	}
	return strings.Join(append(lines, "  any key closes this page"), "\n")
}
