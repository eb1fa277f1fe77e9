package common

import "github.com/charmbracelet/lipgloss"

// Styles are the looks. Without colours (NO_COLOR, a dumb terminal) lipgloss leaves bold and reverse only.
type Styles struct {
	Title, Tab, ActiveTab, Header, Selected, Dim, Warn, Bad, Good lipgloss.Style
}

// NewStyles returns the default theme, for a renderer that knows the terminal.
func NewStyles(r *lipgloss.Renderer) Styles {
	s := r.NewStyle
	return Styles{
		Title: s().Bold(true), Tab: s().Faint(true), ActiveTab: s().Bold(true).Underline(true), Header: s().Bold(true),
		Selected: s().Reverse(true), Dim: s().Faint(true),
		Warn: s().Foreground(lipgloss.AdaptiveColor{Light: "130", Dark: "214"}),
		Bad:  s().Foreground(lipgloss.AdaptiveColor{Light: "160", Dark: "203"}).Bold(true),
		Good: s().Foreground(lipgloss.AdaptiveColor{Light: "28", Dark: "114"}),
	}
}

// Context is what pages draw with.
type Context struct {
	Width, Height int // of the area a page may use, in cells
	Keys          Keys
	Styles        Styles
}
