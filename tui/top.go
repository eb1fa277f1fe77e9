package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/frame"
	"spoolctl/tui/page"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
)

// Options are for running the dashboard on a terminal.
type Options struct {
	Monitor  *frame.Monitor
	Sources  int           // how many brokers the monitor watches
	Interval time.Duration // between scrapes
	In       io.Reader
	Out      io.Writer
}

// Run shows the dashboard until the user quits or ctx ends. The terminal is restored in any case.
func Run(ctx context.Context, o Options) error {
	m := newModel(ctx, o)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithAltScreen()).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// model is the whole dashboard: the shared line on top, tabs, the page, the line at the bottom.
type model struct {
	ctx    context.Context
	o      Options
	c      common.Context
	views  []page.Page
	view   int
	inside []page.Page // pages entered from the view, the innermost last
	last   frame.Frame

	paused    bool
	help      bool
	filtering bool
	filter    textinput.Model
	note      string
}

func newModel(ctx context.Context, o Options) *model {
	in := textinput.New()
	in.Prompt = "/"
	return &model{
		ctx: ctx, o: o, filter: in,
		c:     common.Context{Width: 80, Height: 24, Keys: common.NewKeys(), Styles: common.NewStyles(lipgloss.NewRenderer(o.Out))},
		views: []page.Page{page.NewOverview(), page.NewTopics()},
	}
}

// scraped is the result of one scrape; due says that it is time for the next one of a source.
type (
	scraped frame.Result
	due     int
)

// Init implements tea.Model: it starts a scrape of every source.
func (m *model) Init() tea.Cmd {
	cmds := make([]tea.Cmd, m.o.Sources)
	for i := range cmds {
		cmds[i] = m.scrape(i)
	}
	return tea.Batch(cmds...)
}

func (m *model) scrape(source int) tea.Cmd {
	return func() tea.Msg { return scraped(m.o.Monitor.Scrape(m.ctx, source)) }
}

// Update implements tea.Model. It never blocks.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.c.Width, m.c.Height = msg.Width, msg.Height
	case scraped:
		m.o.Monitor.Record(frame.Result(msg))
		if !m.paused {
			m.show()
		}
		return m, tea.Tick(m.o.Interval, func(time.Time) tea.Msg { return due(msg.Source) })
	case due:
		return m, m.scrape(int(msg))
	case tea.KeyMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// show hands a fresh frame to every page.
func (m *model) show() {
	m.last = m.o.Monitor.Frame()
	for _, p := range append(append([]page.Page{}, m.views...), m.inside...) {
		p.SetFrame(m.last)
	}
}

func (m *model) page() page.Page {
	if n := len(m.inside); n > 0 {
		return m.inside[n-1]
	}
	return m.views[m.view]
}

func (m *model) key(msg tea.KeyMsg) tea.Cmd {
	if m.filtering {
		return m.filterKey(msg)
	}
	m.note = ""
	if m.help {
		m.help = false
		return nil
	}
	switch k := m.c.Keys; {
	case key.Matches(msg, k.Quit):
		return tea.Quit
	case key.Matches(msg, k.Help):
		m.help = true
	case key.Matches(msg, k.Back):
		if n := len(m.inside); n > 0 {
			m.inside = m.inside[:n-1]
		}
	case key.Matches(msg, k.NextView):
		m.goTo((m.view + 1) % len(m.views))
	case key.Matches(msg, k.Overview):
		m.goTo(0)
	case key.Matches(msg, k.Topics):
		m.goTo(1)
	case key.Matches(msg, k.Pause):
		if m.paused = !m.paused; !m.paused {
			m.show()
		}
	case key.Matches(msg, k.Filter):
		m.filtering = true
		return m.filter.Focus()
	default:
		if next := m.page().Update(msg, m.pageContext()); next != nil {
			m.inside = append(m.inside, next)
		}
	}
	return nil
}

func (m *model) goTo(view int) { m.view, m.inside = view, nil }

func (m *model) filterKey(msg tea.KeyMsg) tea.Cmd {
	switch msg.String() {
	case "enter":
		m.filtering = false
		m.filter.Blur()
		return nil
	case "esc", "ctrl+c":
		m.filtering = false
		m.filter.Blur()
		m.filter.SetValue("")
	}
	var cmd tea.Cmd
	if m.filtering {
		m.filter, cmd = m.filter.Update(msg)
	}
	m.note = ""
	if err := m.page().SetFilter(m.filter.Value()); err != nil {
		m.note = err.Error()
	}
	return cmd
}

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
	body := m.page().View(c)
	if m.help {
		body = m.helpView()
	}
	lines := strings.Split(body, "\n")
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
	live := 0
	for _, b := range m.last.Brokers {
		if b.State == frame.StateLive {
			live++
		}
	}
	state := m.c.Styles.Good.Render("● live")
	switch {
	case m.paused:
		state = m.c.Styles.Warn.Render("‖ paused")
	case len(m.last.Brokers) == 0:
		state = m.c.Styles.Dim.Render("○ waiting for the first scrape")
	case live < len(m.last.Brokers):
		state = m.c.Styles.Bad.Render(fmt.Sprintf("● %d of %d brokers do not answer", len(m.last.Brokers)-live, len(m.last.Brokers)))
	}
	return m.c.Styles.Title.Render("spoolctl top") + fmt.Sprintf("  %d brokers  every %s  ", m.o.Sources, format.Duration(m.o.Interval)) + state
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
	case m.filtering:
		return m.filter.View()
	case m.note != "":
		return m.c.Styles.Bad.Render(m.note)
	}
	text := m.page().Position()
	if f := m.filter.Value(); f != "" {
		text += "  filter /" + f
	}
	return m.c.Styles.Dim.Render(text)
}

func (m *model) keyLine() string {
	k := m.c.Keys
	var parts []string
	for _, b := range []key.Binding{k.Filter, k.Sort, k.Open, k.Back, k.Pause, k.Help, k.Quit} {
		parts = append(parts, keyName(b)+" "+b.Help().Desc)
	}
	return m.c.Styles.Dim.Render(strings.Join(parts, "   "))
}

func keyName(b key.Binding) string {
	if b.Help().Key == " " {
		return "space"
	}
	return b.Help().Key
}

func (m *model) helpView() string {
	lines := []string{m.c.Styles.Header.Render("Keys")}
	for _, b := range m.c.Keys.All() {
		lines = append(lines, fmt.Sprintf("  %-8s %s", keyName(b), b.Help().Desc))
	}
	return strings.Join(append(lines, "", "any key closes this page"), "\n")
}
