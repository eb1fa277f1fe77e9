package page

import (
	"math"
	"net/url"
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/tui/frame"

	tea "github.com/charmbracelet/bubbletea"
)

// Page is one view.
type Page interface {
	// Title names the view in the line of tabs and in the breadcrumbs.
	Title() string
	// SetFrame replaces what is shown.
	SetFrame(f frame.Frame)
	// Update handles a key that the dashboard itself does not use. next, when not nil, is a page to go into.
	Update(m tea.KeyMsg, c common.Context) (next Page)
	// SetFilter narrows the rows; the error is for the user and changes nothing.
	SetFilter(text string) error
	// Filter is the filter in effect.
	Filter() string
	// View draws the page into c.Width by c.Height cells.
	View(c common.Context) string
	// Position says where in the rows the user is.
	Position() string
}

// rows is what all pages with a table have in common.
type rows[T any] struct{ table *component.Table[T] }

// SetFilter implements Page.
func (r rows[T]) SetFilter(text string) error { return r.table.SetFilter(text) }

// Filter implements Page.
func (r rows[T]) Filter() string { return r.table.Filter() }

// Position implements Page.
func (r rows[T]) Position() string { return r.table.Position() }

// topicName shortens a topic's name: what is stored is the rule.
func topicName(full string) string {
	return format.Plain(strings.TrimPrefix(full, "persistent://"))
}

// brokerName shortens the address of a metrics page to what differs between brokers.
func brokerName(page string) string {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" {
		return format.Plain(page)
	}
	return format.Plain(u.Host + strings.TrimSuffix(u.Path, "/metrics"))
}

func rate(v *float64) string {
	if v == nil {
		return format.Unknown
	}
	return format.Rate(*v)
}

func count(v *int64) string {
	if v == nil {
		return format.Unknown
	}
	return format.Count(*v)
}

func size(v *int64) string {
	if v == nil {
		return format.Unknown
	}
	return format.Size(*v)
}

func rateSize(v *float64) string {
	if v == nil {
		return format.Unknown
	}
	return format.Size(int64(*v))
}

// things counts something by its name.
func things(n *int64, name string) string {
	if n != nil && *n == 1 {
		return "1 " + name
	}
	return count(n) + " " + name + "s"
}

// perSecond says that a known amount is one per second.
func perSecond(text string) string {
	if text == format.Unknown {
		return text
	}
	return text + "/s"
}

// change shows a change per second with its direction.
func change(v *float64) string {
	switch {
	case v == nil:
		return format.Unknown
	case *v > 0:
		return "↗ " + format.Rate(*v)
	case *v < 0:
		return "↘ " + format.Rate(math.Abs(*v))
	}
	return "→ 0"
}

// drain shows a time to drain: what never ends as ∞, what is empty as -.
func drain(text *string) string {
	switch {
	case text == nil:
		return format.Unknown
	case *text == frame.Never:
		return "∞"
	}
	d, err := time.ParseDuration(*text)
	switch {
	case err != nil:
		return *text
	case d == 0:
		return "-"
	}
	return format.Duration(d)
}

// lessFloat and its kin put what is unknown before everything that is known.
func lessFloat(a, b *float64) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	return *a < *b
}

func lessInt(a, b *int64) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	return *a < *b
}
