package common

import "github.com/charmbracelet/bubbles/key"

// Keys is the one map of keys; the help overlay is made from it.
type Keys struct {
	Quit, Help, Back, Open, Filter, Sort, Reverse, Pause, NextView, Overview, Topics, Up, Down, PageUp, PageDown, Home, End key.Binding
}

// NewKeys returns the default keys.
func NewKeys() Keys {
	bind := func(help string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(keys[0], help))
	}
	return Keys{
		Quit: bind("quit", "q", "ctrl+c"), Help: bind("help", "?"), Back: bind("back", "esc"), Open: bind("open", "enter"),
		Filter: bind("filter by regular expression", "/"), Sort: bind("sort by the next column", "s"), Reverse: bind("reverse the order", "S"),
		Pause: bind("pause", " "), NextView: bind("next view", "tab"), Overview: bind("overview", "1"), Topics: bind("topics", "2"),
		Up: bind("up", "up", "k"), Down: bind("down", "down", "j"), PageUp: bind("page up", "pgup"), PageDown: bind("page down", "pgdown"),
		Home: bind("first", "home", "g"), End: bind("last", "end", "G"),
	}
}

// All lists the bindings in the order of the help overlay.
func (k Keys) All() []key.Binding {
	return []key.Binding{k.Overview, k.Topics, k.NextView, k.Open, k.Back, k.Filter, k.Sort, k.Reverse, k.Pause, k.Up, k.Down, k.PageUp, k.PageDown, k.Home, k.End, k.Help, k.Quit}
}
