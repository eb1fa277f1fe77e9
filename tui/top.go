package tui

import (
	"context"
	"errors"
	"io"
	"time"

	"spoolctl/tui/common"
	"spoolctl/tui/frame"
	"spoolctl/tui/page"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// Options are for running the dashboard on a terminal.
type Options struct {
	Monitor  *frame.Monitor
	Interval time.Duration // between scrapes
	In       io.Reader
	Out      io.Writer
}

// Run shows the dashboard until the user quits or ctx ends. The terminal is restored in any case, also after a panic,
// which is an error then. Signals are the caller's, by way of ctx.
func Run(ctx context.Context, o Options) error {
	_, err := tea.NewProgram(New(ctx, o), tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithAltScreen(), tea.WithoutSignalHandler()).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// model is the whole dashboard: the title, tabs, the page, a line for notes and one for keys.
type model struct {
	ctx    context.Context
	o      Options
	c      common.Context
	views  []page.Page
	view   int
	inside []page.Page // pages entered from the view, the innermost last
	newest frame.Frame
	shown  frame.Frame

	paused    bool
	help      bool
	filtering bool
	filter    textinput.Model
	note      string
}

// New makes the dashboard without a terminal. Its scrapes end with ctx.
func New(ctx context.Context, o Options) tea.Model {
	in := textinput.New()
	in.Prompt = "/"
	in.Cursor.SetMode(cursor.CursorStatic)
	m := &model{
		ctx: ctx, o: o, filter: in,
		c:     common.Context{Width: 80, Height: 24, Keys: common.NewKeys(), Styles: common.NewStyles(common.NewRenderer(o.Out))},
		views: []page.Page{page.NewOverview(), page.NewTopics(o.Monitor.Sources() > 1)},
	}
	m.take(o.Monitor.Frame()) // the brokers' names, before they answer
	return m
}

// scraped is a frame made after a scrape of a source, sampled one made because an interval passed, due says that it is
// time for the next scrape of a source. Frames are made by commands too: with many topics that takes a while.
type (
	scraped struct {
		source int
		frame.Frame
	}
	sampled struct{ frame.Frame }
	due     int
)

// Init implements tea.Model: it starts a scrape of every source.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.tick()}
	for i := range m.o.Monitor.Sources() {
		cmds = append(cmds, m.scrape(i))
	}
	return tea.Batch(cmds...)
}

func (m *model) scrape(source int) tea.Cmd {
	return func() tea.Msg {
		m.o.Monitor.Scrape(m.ctx, source)
		return scraped{source, m.o.Monitor.Frame()}
	}
}

func (m *model) tick() tea.Cmd {
	return tea.Tick(m.o.Interval, func(time.Time) tea.Msg {
		m.o.Monitor.Sample()
		return sampled{m.o.Monitor.Frame()}
	})
}

// Update implements tea.Model. It never blocks.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.c.Width, m.c.Height = msg.Width, msg.Height
	case scraped:
		m.take(msg.Frame)
		return m, tea.Tick(m.o.Interval, func(time.Time) tea.Msg { return due(msg.source) })
	case due:
		return m, m.scrape(int(msg))
	case sampled:
		m.take(msg.Frame)
		return m, m.tick()
	case tea.KeyMsg:
		return m, m.keys(msg)
	}
	return m, nil
}

// keys takes what was typed. Keys that come in one read come as one message; what is not pasted is taken one by one.
func (m *model) keys(msg tea.KeyMsg) tea.Cmd {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return m.key(msg)
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		cmds = append(cmds, m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
	}
	return tea.Batch(cmds...)
}

// take keeps a frame, unless a newer one is there already, and shows it, unless the screen is frozen.
func (m *model) take(f frame.Frame) {
	if f.Number < m.newest.Number {
		return
	}
	m.newest = f
	if !m.paused {
		m.show()
	}
}

// show hands the newest frame to every page.
func (m *model) show() {
	m.shown = m.newest
	for _, p := range m.views {
		p.SetFrame(m.shown)
	}
	for _, p := range m.inside {
		p.SetFrame(m.shown)
	}
}

func (m *model) page() page.Page {
	if n := len(m.inside); n > 0 {
		return m.inside[n-1]
	}
	return m.views[m.view]
}

func (m *model) key(msg tea.KeyMsg) tea.Cmd {
	if msg.Type == tea.KeyCtrlC {
		return tea.Quit
	}
	if m.filtering {
		return m.filterKey(msg)
	}
	m.note = ""
	if m.help {
		m.help = false
		return nil
	}
	switch k := m.c.Keys; {
	case common.Matches(msg, k.Quit):
		return tea.Quit
	case common.Matches(msg, k.Help):
		m.help = true
	case common.Matches(msg, k.Back):
		m.back()
	case common.Matches(msg, k.NextView):
		m.goTo((m.view + 1) % len(m.views))
	case common.Matches(msg, k.Overview):
		m.goTo(0)
	case common.Matches(msg, k.Topics):
		m.goTo(1)
	case common.Matches(msg, k.Pause):
		if m.paused = !m.paused; !m.paused {
			m.show()
		}
	case common.Matches(msg, k.Filter):
		m.filtering = true
		m.filter.SetValue(m.page().Filter())
		m.filter.CursorEnd()
		return m.filter.Focus()
	default:
		if next := m.page().Update(msg, m.pageContext()); next != nil {
			m.inside = append(m.inside, next)
		}
	}
	return nil
}

func (m *model) goTo(view int) { m.view, m.inside = view, nil }

// back drops the filter first, then leaves the page.
func (m *model) back() {
	if m.page().Filter() != "" {
		m.setFilter("")
		return
	}
	if n := len(m.inside); n > 0 {
		m.inside = m.inside[:n-1]
	}
}

func (m *model) filterKey(msg tea.KeyMsg) tea.Cmd {
	switch msg.Type {
	case tea.KeyEnter, tea.KeyEsc:
		m.filtering = false
		m.filter.Blur()
		if msg.Type == tea.KeyEsc {
			m.setFilter("")
		}
		return nil
	}
	var cmd tea.Cmd
	m.filter, cmd = m.filter.Update(msg)
	m.setFilter(m.filter.Value())
	return cmd
}

func (m *model) setFilter(text string) {
	m.note = ""
	if err := m.page().SetFilter(text); err != nil {
		m.note = err.Error()
	}
}
