package browse

import (
	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"

	tea "github.com/charmbracelet/bubbletea"
)

// page is one view. Update alone calls it.
type page interface {
	// title names the page in the breadcrumbs, safe for a terminal.
	title() string
	// start begins to read what the page shows.
	start() tea.Cmd
	// reads is the page's reading.
	reads() *job
	// ready says whether there is something to show.
	ready() bool
	// key handles a key that the explorer itself does not use. next, when not nil, is a page to go into.
	key(m tea.KeyMsg, c common.Context) (next page, cmd tea.Cmd)
	// line lists the keys that the bottom line shows.
	line() []common.Key
	// view draws into c.Width by c.Height cells.
	view(c common.Context) string
	// Position says where in the page the user is.
	Position() string
	// SetFilter narrows what is shown; the error is for the user and changes nothing.
	SetFilter(text string) error
	// Filter is the filter in effect.
	Filter() string
	// selected is what a copy takes, and what to call it; empty when there is nothing.
	selected() (text, what string)
	// document is the page as the other verbs of inspect print it, with a name for the file; nil when there is none.
	document() (name string, print func(*format.Printer) error)
}

// rows is what all pages with a table have in common.
type rows[T any] struct{ table *component.Table[T] }

// SetFilter implements page.
func (r rows[T]) SetFilter(text string) error { return r.table.SetFilter(text) }

// Filter implements page.
func (r rows[T]) Filter() string { return r.table.Filter() }

// Position implements page.
func (r rows[T]) Position() string { return r.table.Position() }

// text is what all pages with a pager have in common.
type text struct{ *component.Pager }

func (t text) key(m tea.KeyMsg, c common.Context) (page, tea.Cmd) {
	t.Update(m, c)
	return nil, nil
}

func (t text) view(c common.Context) string { return t.View(c) }

func (j *job) reads() *job { return j }
