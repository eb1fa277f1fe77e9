package browse

import (
	"regexp"

	"spoolctl/tui/component"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// What a prompt asks for.
const (
	askFilter = "/"
	askGrep   = "find: "
	askJump   = "go to: "
)

// prompt is a line being typed.
type prompt struct {
	asks  string // askFilter, askGrep or askJump
	input textinput.Model
}

// finder is a page from which messages can be searched.
type finder interface {
	// find makes the page of what matches; nil when no topic is selected.
	find(re *regexp.Regexp) page
}

// jumper is a page in which one can go to a place.
type jumper interface {
	// jump goes to a place that was typed; the error is for the user.
	jump(place string) (tea.Cmd, error)
}

func (m *model) ask(what, value string) tea.Cmd {
	in := textinput.New()
	in.Prompt = what
	in.Cursor.SetMode(cursor.CursorStatic)
	in.SetValue(value)
	in.CursorEnd()
	m.prompt = &prompt{asks: what, input: in}
	return m.prompt.input.Focus()
}

// askOf asks, if the page can do something with the answer.
func (m *model) askOf(what string) tea.Cmd {
	f, finds := m.page().(finder)
	_, jumps := m.page().(jumper)
	switch {
	case what == askGrep && (!finds || f.find(nil) == nil):
		m.note = "select a topic to search its messages"
	case what == askJump && !jumps:
		m.note = "open the messages of a topic to go to a position or a time"
	default:
		return m.ask(what, "")
	}
	return nil
}

func (m *model) promptKey(msg tea.KeyMsg) tea.Cmd {
	p := m.prompt
	switch msg.Type {
	case tea.KeyEsc:
		m.prompt, m.note, m.bad = nil, "", false
		if p.asks == askFilter {
			m.setFilter("")
		}
		return nil
	case tea.KeyEnter:
		return m.answerPrompt(p)
	}
	var cmd tea.Cmd
	m.note, m.bad = "", false
	p.input, cmd = p.input.Update(msg)
	if p.asks == askFilter {
		m.setFilter(p.input.Value())
	}
	return cmd
}

// answerPrompt does what was asked for. What is wrong is said, and can be corrected.
func (m *model) answerPrompt(p *prompt) tea.Cmd {
	typed := p.input.Value()
	var cmd tea.Cmd
	var err error
	switch p.asks {
	case askGrep:
		var re *regexp.Regexp
		if re, err = component.Compile(typed); err == nil && re != nil {
			next := m.page().(finder).find(re)
			if p, ok := m.page().(*messages); ok && p.query.grep != nil {
				m.leave() // one search takes the place of another
			}
			cmd = m.enter(next)
		}
	case askJump:
		if typed != "" {
			cmd, err = m.page().(jumper).jump(typed)
		}
	}
	if err != nil {
		m.note, m.bad = err.Error(), true
		return nil
	}
	if !m.bad || p.asks != askFilter {
		m.prompt, m.note, m.bad = nil, "", false
	}
	return cmd
}
