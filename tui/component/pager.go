package component

import (
	"fmt"
	"regexp"
	"strings"

	"spoolctl/tui/common"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Pager shows lines of text, those that are too long on several lines of the screen.
type Pager struct {
	all     []string
	wrapped []string // what the filter leaves, as wide as the screen
	width   int      // that wrapped was made for; 0 is none
	offset  int
	height  int // of the last View
	filter  *regexp.Regexp
	text    string // the filter's
}

// NewPager makes a pager of lines that are safe for a terminal.
func NewPager(lines []string) *Pager { return &Pager{all: lines} }

// SetFilter shows only lines that match; an empty text shows all. A text that is no regular expression is an error and
// changes nothing.
func (p *Pager) SetFilter(text string) error {
	re, err := CompileFilter(text)
	if err != nil {
		return err
	}
	p.filter, p.text, p.width, p.offset = re, text, 0, 0
	return nil
}

// Filter is the text of the filter in effect.
func (p *Pager) Filter() string { return p.text }

// Update handles the keys of moving; handled says whether it was one.
func (p *Pager) Update(m tea.KeyMsg, c common.Context) (handled bool) {
	page := max(1, c.Height-1)
	switch k := c.Keys; {
	case common.Matches(m, k.Up):
		p.offset--
	case common.Matches(m, k.Down):
		p.offset++
	case common.Matches(m, k.PageUp):
		p.offset -= page
	case common.Matches(m, k.PageDown):
		p.offset += page
	case common.Matches(m, k.Home):
		p.offset = 0
	case common.Matches(m, k.End):
		p.offset = len(p.wrapped)
	default:
		return false
	}
	p.clamp()
	return true
}

func (p *Pager) clamp() { p.offset = max(0, min(p.offset, len(p.wrapped)-p.height)) }

// View draws at most c.Height lines of c.Width cells.
func (p *Pager) View(c common.Context) string {
	if p.width != c.Width {
		p.wrap(c.Width)
	}
	p.height = c.Height
	p.clamp()
	if len(p.wrapped) == 0 && len(p.all) > 0 {
		return c.Styles.Dim.Render("  nothing matches the filter")
	}
	return strings.Join(p.wrapped[p.offset:min(len(p.wrapped), p.offset+c.Height)], "\n")
}

func (p *Pager) wrap(width int) {
	p.width, p.wrapped = width, p.wrapped[:0]
	for _, line := range p.all {
		if p.filter != nil && !p.filter.MatchString(line) {
			continue
		}
		if ansi.StringWidth(line) > max(1, width) {
			line = ansi.Hardwrap(line, max(1, width), true)
		}
		p.wrapped = append(p.wrapped, strings.Split(line, "\n")...)
	}
}

// Position says which lines are on the screen.
func (p *Pager) Position() string {
	n := len(p.wrapped)
	return fmt.Sprintf("lines %d to %d of %d", min(p.offset+1, n), min(n, p.offset+p.height), n)
}
