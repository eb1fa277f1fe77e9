package browse

import (
	"fmt"
	"strings"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/tui/common"

	"github.com/charmbracelet/x/ansi"
)

// chrome is the number of lines around the page: title, breadcrumbs, spool, note and keys.
const chrome = 5

func (m *model) pageContext() common.Context {
	c := m.c
	c.Height = max(3, c.Height-chrome)
	return c
}

// View implements tea.Model.
func (m *model) View() string {
	c := m.pageContext()
	lines := strings.Split(m.body(c), "\n")
	for len(lines) < c.Height {
		lines = append(lines, "")
	}
	all := append([]string{m.titleLine(), m.crumbLine()}, lines[:c.Height]...)
	all = append(all, m.spoolLine(), m.noteLine(), m.keyLine())
	for i := range all {
		all[i] = ansi.Truncate(all[i], m.c.Width, "…")
	}
	return strings.Join(all, "\n")
}

func (m *model) body(c common.Context) string {
	p := m.page()
	switch {
	case m.help != nil:
		return m.help.View(c)
	case p.ready():
		return p.view(c)
	case p.reads().err != nil:
		return ""
	}
	return c.Styles.Dim.Render("  reading …")
}

func (m *model) titleLine() string {
	left := m.c.Styles.Title.Render("spoolctl inspect browse")
	text, style := m.state.word(m.c.Styles)
	dir := format.Plain(m.state.source.Dir)
	room := m.c.Width - ansi.StringWidth(left) - ansi.StringWidth(text) - 6
	if room < 8 {
		return left + "  " + style.Render(text)
	}
	if over := ansi.StringWidth(dir) - room; over > 0 {
		dir = ansi.TruncateLeft(dir, over+1, "…")
	}
	space := max(1, m.c.Width-ansi.StringWidth(left)-ansi.StringWidth(dir)-ansi.StringWidth(text)-4)
	return left + "  " + m.c.Styles.Dim.Render(dir) + strings.Repeat(" ", space) + "  " + style.Render(text)
}

// crumbLine keeps its end when it is too long: that is where the user is.
func (m *model) crumbLine() string {
	if m.help != nil {
		return m.c.Styles.ActiveTab.Render("Keys")
	}
	names := make([]string, len(m.pages))
	for i, p := range m.pages {
		names[i] = p.title()
	}
	last := names[len(names)-1]
	before := strings.Join(names[:len(names)-1], " › ")
	if before != "" {
		before += " › "
	}
	if over := ansi.StringWidth(before+last) - m.c.Width; over > 0 {
		before = ansi.TruncateLeft(before, over+1, "…")
	}
	return m.c.Styles.Dim.Render(before) + m.c.Styles.ActiveTab.Render(last)
}

// spoolLine says what the answers of a damaged or running spool are worth.
func (m *model) spoolLine() string {
	st := m.state
	switch n := len(st.problems); {
	case n > 0:
		return m.c.Styles.Bad.Render(fmt.Sprintf("%s could not be read (%s shows all): %s", plural(int64(n), "thing"), m.keys.Problems.Help().Key, format.Plain(st.problems[0].String())))
	case len(st.notes) > 0:
		return m.c.Styles.Warn.Render("note: " + format.Plain(st.notes[0]))
	}
	return ""
}

func (m *model) noteLine() string {
	p, s := m.page(), m.c.Styles
	note := s.Dim.Render(m.note)
	if m.bad {
		note = s.Bad.Render(m.note)
	}
	switch j := p.reads(); {
	case m.prompt != nil && m.note != "":
		return m.prompt.input.View() + "  " + note
	case m.prompt != nil:
		line := m.prompt.input.View()
		if over := ansi.StringWidth(line) - m.c.Width; over > 0 {
			line = ansi.TruncateLeft(line, over+1, "…") // the end is where one types
		}
		return line
	case m.note != "":
		return note
	case m.help != nil:
		return s.Dim.Render(m.help.Position())
	case j.what != "":
		return s.Dim.Render(m.spinner() + " " + j.what)
	case j.err != nil:
		return s.Bad.Render("error: " + format.Plain(j.err.Error()))
	case !p.ready():
		return ""
	}
	text := p.Position()
	if f := p.Filter(); f != "" {
		text = "filter /" + format.Plain(f) + "  " + text
	}
	return s.Dim.Render(text)
}

func (m *model) spinner() string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(frames[m.frame%len(frames)])
}

// keyLine lists keys: those of the prompt while something is typed. How to get help always fits.
func (m *model) keyLine() string {
	switch {
	case m.prompt != nil && m.prompt.asks == askFilter:
		return m.c.Styles.Dim.Render("enter keep   esc drop")
	case m.prompt != nil:
		return m.c.Styles.Dim.Render("enter go   esc never mind")
	case m.help != nil:
		return m.c.Styles.Dim.Render("any other key closes this page")
	}
	k := m.keys
	words := func(list []common.Key) string {
		parts := make([]string, len(list))
		for i, b := range list {
			parts[i] = b.Help().Key + " " + b.Help().Desc
		}
		return strings.Join(parts, "  ")
	}
	end := "  " + words([]common.Key{k.Help, k.Quit})
	list := append(m.page().line(), k.Back, k.Filter, k.Copy, k.Export)
	for len(list) > 1 && ansi.StringWidth(words(list)+end) > m.c.Width {
		list = list[:len(list)-1]
	}
	return m.c.Styles.Dim.Render(words(list) + end)
}

// word says in a few words what the spool's state is.
func (st state) word(s common.Styles) (string, style) {
	switch src := st.source; {
	case src.Damaged:
		return "● damaged", s.Bad
	case src.Mode == inspect.ModeLive:
		return "● live, no snapshot", s.Warn
	case len(st.problems) > 0:
		return "● not all readable", s.Bad
	case src.Mode == inspect.ModeCheckpoint:
		return "● checkpoint", s.Warn
	case src.Unclean:
		return "● not stopped cleanly", s.Warn
	}
	return "● stopped", s.Good
}

// style draws a text.
type style interface{ Render(text ...string) string }
