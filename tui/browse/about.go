package browse

import (
	"fmt"

	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"

	tea "github.com/charmbracelet/bubbletea"
)

// about is the page of the spool itself: where its answers come from, and what could not be read.
type about struct {
	job
	text
	state state
}

func newAbout(b *base, st state) *about {
	src := st.source
	lines := []string{
		"SPOOL       " + format.Plain(src.Dir),
		"UUID        " + format.Plain(src.UUID),
		fmt.Sprintf("FORMAT      %d", src.Format),
		"CREATED     " + moment(src.Created),
		"CLEAN STOP  " + moment(src.CleanStop),
		"READ        " + src.Mode,
		"",
	}
	for _, n := range st.notes {
		lines = append(lines, "note: "+format.Plain(n))
	}
	if n := len(st.problems); n > 0 {
		lines = append(lines, plural(int64(n), "thing")+" could not be read so far:")
	} else {
		lines = append(lines, "All that was asked for could be read so far.")
	}
	for _, p := range st.problems {
		lines = append(lines, "  "+format.Plain(p.String()))
	}
	if len(st.problems) > 0 {
		lines = append(lines, "", "spoolctl inspect verify looks at everything.")
	}
	return &about{job: job{base: b}, state: st, text: text{component.NewPager(lines)}}
}

func (*about) title() string        { return "spool" }
func (*about) start() tea.Cmd       { return nil }
func (*about) ready() bool          { return true }
func (p *about) line() []common.Key { return []common.Key{p.keys.Up, p.keys.Down} }

func (p *about) selected() (text, what string) { return p.state.source.Dir, "the spool's path" }

func (p *about) document() (string, func(*format.Printer) error) {
	list := p.state.problems
	return "problems", func(out *format.Printer) error {
		return format.List(out, list, format.ListOptions{Summary: p.state.source})
	}
}
