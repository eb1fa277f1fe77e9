package common

import (
	"io"
	"os"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"golang.org/x/term"
)

// Styles are the looks. With NO_COLOR they are bold, faint and reverse only; for what is no terminal, or a dumb one, they
// are nothing.
type Styles struct {
	Title, Tab, ActiveTab, Header, Selected, Dim, Warn, Bad, Good lipgloss.Style
}

// NewRenderer asks what the terminal behind out can show.
func NewRenderer(out io.Writer) *lipgloss.Renderer {
	r := lipgloss.NewRenderer(out)
	r.SetHasDarkBackground(lipgloss.HasDarkBackground()) // known by now; asking while the screen is drawn would eat keys
	f, isFile := out.(*os.File)
	if r.Output().EnvNoColor() && isFile && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		r.SetColorProfile(termenv.ANSI) // lipgloss would drop reverse with the colours, and nobody could see the selected row
	}
	return r
}

// NewStyles returns the default theme, for a renderer that knows the terminal.
func NewStyles(r *lipgloss.Renderer) Styles {
	s := r.NewStyle
	colour := func(light, dark string) lipgloss.Style {
		if r.Output().EnvNoColor() {
			return s()
		}
		return s().Foreground(lipgloss.AdaptiveColor{Light: light, Dark: dark})
	}
	return Styles{
		Title: s().Bold(true), Tab: s().Faint(true), ActiveTab: s().Bold(true).Underline(true), Header: s().Bold(true),
		Selected: s().Reverse(true), Dim: s().Faint(true),
		Warn: colour("130", "214"),
		Bad:  colour("160", "203").Bold(true),
		Good: colour("28", "114"),
	}
}

// Context is what pages draw with.
type Context struct {
	Width, Height int // of the area a page may use, in cells
	Keys          Keys
	Styles        Styles
}
