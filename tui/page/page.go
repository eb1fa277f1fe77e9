package page

import (
	"math"
	"time"

	"spoolctl/format"
	"spoolctl/tui/common"
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
	// SetFilter narrows the rows; the error is for the user.
	SetFilter(text string) error
	// View draws the page into c.Width by c.Height cells.
	View(c common.Context) string
	// Position says where in the rows the user is.
	Position() string
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

func drain(text string) string {
	switch text {
	case "":
		return format.Unknown
	case "never":
		return "∞"
	case "0s":
		return "-"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return text
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
