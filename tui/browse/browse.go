package browse

import (
	"context"
	"errors"
	"io"
	"time"

	"spoolctl/inspect"
	"spoolctl/tui/common"
	"spoolctl/tui/component"

	tea "github.com/charmbracelet/bubbletea"
)

// DefaultStep is how often the screen tells how far a long read is.
const DefaultStep = 100 * time.Millisecond

// Options are for running the explorer on a terminal.
type Options struct {
	Session *inspect.Session // in use until Run returns; its owner closes it
	Dir     string           // of the spool, for exports to keep out of
	WorkDir string           // where exports go
	Now     func() time.Time
	Step    time.Duration // default DefaultStep; also how long a search keeps the session at a time
	In      io.Reader
	Out     io.Writer
}

// Run shows the explorer until the user quits or ctx ends. The terminal is restored in any case, also after a panic, which
// is an error then. Signals are the caller's, by way of ctx. No read is left behind.
func Run(ctx context.Context, o Options) error {
	reads, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(reads, o)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithAltScreen(), tea.WithoutSignalHandler()).Run()
	cancel()
	m.reader.finish()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// model is the whole explorer: the title, breadcrumbs, the page, what is wrong with the spool, a line for notes and one for
// keys.
type model struct {
	*base
	o      Options
	c      common.Context
	pages  []page // the innermost last, never empty
	prompt *prompt
	help   *component.Pager
	state  state
	note   string
	bad    bool // the note is about a failure

	spinning bool
	frame    int // of the spinner
}

// base is what all pages work with.
type base struct {
	reader *reader
	keys   keys
	now    func() time.Time
	step   time.Duration
}

// New makes the explorer without a terminal. Its reads end with ctx.
func New(ctx context.Context, o Options) tea.Model { return newModel(ctx, o) }

func newModel(ctx context.Context, o Options) *model {
	if o.Step == 0 {
		o.Step = DefaultStep
	}
	k := newKeys()
	b := &base{reader: newReader(ctx, o.Session), keys: k, now: o.Now, step: o.Step}
	return &model{
		base: b, o: o, state: stateOf(o.Session),
		c:     common.Context{Width: 80, Height: 24, Keys: k.Keys, Styles: common.NewStyles(common.NewRenderer(o.Out))},
		pages: []page{newTree(b)},
	}
}

// spin says that it is time to draw the spinner again, noted is a line for the user from a command.
type (
	spin  struct{}
	noted struct {
		text string
		bad  bool
	}
)

// Init implements tea.Model: it starts reading the topics.
func (m *model) Init() tea.Cmd { return m.spinWhileReading(m.page().start()) }

// Update implements tea.Model. It never blocks.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.c.Width, m.c.Height = msg.Width, msg.Height
	case answer:
		if msg.state != nil {
			m.state = *msg.state
		}
		cmd = msg.take()
	case noted:
		m.note, m.bad = msg.text, msg.bad
	case spin:
		m.spinning = false
		m.frame++
	case tea.KeyMsg:
		cmd = m.typed(msg)
	}
	return m, m.spinWhileReading(cmd)
}

func (m *model) spinWhileReading(cmd tea.Cmd) tea.Cmd {
	if m.spinning || m.page().reads().what == "" {
		return cmd
	}
	m.spinning = true
	return tea.Batch(cmd, tea.Tick(m.step, func(time.Time) tea.Msg { return spin{} }))
}

// typed takes what was typed. Keys that come in one read come as one message; what is not pasted is taken one by one.
func (m *model) typed(msg tea.KeyMsg) tea.Cmd {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return m.key(msg)
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		cmds = append(cmds, m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
	}
	return tea.Batch(cmds...)
}

func (m *model) page() page { return m.pages[len(m.pages)-1] }

func (m *model) key(msg tea.KeyMsg) tea.Cmd {
	if msg.Type == tea.KeyCtrlC {
		return tea.Quit
	}
	if m.prompt != nil {
		return m.promptKey(msg)
	}
	m.note, m.bad = "", false
	if m.help != nil {
		if !m.help.Update(msg, m.pageContext()) {
			m.help = nil
		}
		return nil
	}
	switch k := m.keys; {
	case common.Matches(msg, k.Quit):
		return tea.Quit
	case common.Matches(msg, k.Help):
		m.help = component.NewPager(k.text())
	case common.Matches(msg, k.Back):
		m.back()
	case common.Matches(msg, k.Filter):
		return m.ask(askFilter, m.page().Filter())
	case common.Matches(msg, k.Grep):
		return m.askOf(askGrep)
	case common.Matches(msg, k.Jump):
		return m.askOf(askJump)
	case common.Matches(msg, k.Copy):
		return m.copy()
	case common.Matches(msg, k.Export):
		return m.export()
	case common.Matches(msg, k.Problems):
		if _, there := m.page().(*about); there {
			m.leave()
		}
		return m.enter(newAbout(m.base, m.state))
	default:
		next, cmd := m.page().key(msg, m.pageContext())
		if next != nil {
			return m.enter(next)
		}
		return cmd
	}
	return nil
}

// enter goes into a page. What the outer page reads, a search for example, goes on.
func (m *model) enter(p page) tea.Cmd {
	m.pages = append(m.pages, p)
	return p.start()
}

// back drops the filter first, then stops what is being read, then leaves the page.
func (m *model) back() {
	p := m.page()
	if p.Filter() != "" {
		m.setFilter("")
		return
	}
	if p.ready() && p.reads().stop() {
		m.note = "stopped"
		return
	}
	m.leave()
}

// leave goes back to the outer page; the first one stays.
func (m *model) leave() {
	if n := len(m.pages); n > 1 {
		m.page().reads().stop()
		m.pages = m.pages[:n-1]
	}
}

func (m *model) setFilter(text string) {
	m.note, m.bad = "", false
	if err := m.page().SetFilter(text); err != nil {
		m.note, m.bad = err.Error(), true
	}
}
