package common

import "github.com/charmbracelet/bubbles/key"

// Key is one binding: its keys, a word for the bottom line and a sentence for the help page.
type Key struct {
	key.Binding
	Long string
}

// Keys is the one map of keys; the help page is made from it.
type Keys struct {
	Quit, Help, Back, Open, Filter, Sort, Reverse, Pause, NextView, Overview, Topics, Up, Down, PageUp, PageDown, Home, End Key
}

// Bind makes a binding of keys, shown by a name, with a word for the bottom line and a sentence for the help page.
func Bind(name, word, long string, keys ...string) Key {
	return Key{key.NewBinding(key.WithKeys(keys...), key.WithHelp(name, word)), long}
}

// NewKeys returns the default keys.
func NewKeys() Keys {
	bind := Bind
	return Keys{
		Overview: bind("1", "overview", "sums, brokers and the largest backlogs", "1"),
		Topics:   bind("2", "topics", "all topics", "2"),
		NextView: bind("tab", "next", "the next view", "tab"),
		Open:     bind("enter", "open", "the subscriptions of the selected topic", "enter"),
		Back:     bind("esc", "back", "drop the filter, then go back", "esc"),
		Filter:   bind("/", "filter", "show only names that match a regular expression", "/"),
		Sort:     bind("s", "sort", "sort by the next column", "s"),
		Reverse:  bind("S", "reverse", "turn the order round", "S"),
		Pause:    bind("space", "pause", "freeze the screen; scraping goes on", " "),
		Up:       bind("↑ k", "up", "one row up", "up", "k"),
		Down:     bind("↓ j", "down", "one row down", "down", "j"),
		PageUp:   bind("pgup", "page up", "one page up", "pgup", "ctrl+b"),
		PageDown: bind("pgdown", "page down", "one page down", "pgdown", "ctrl+f"),
		Home:     bind("home g", "first", "the first row", "home", "g"),
		End:      bind("end G", "last", "the last row", "end", "G"),
		Help:     bind("?", "help", "this page", "?"),
		Quit:     bind("q", "quit", "leave", "q", "ctrl+c"),
	}
}

// All lists the bindings in the order of the help page.
func (k Keys) All() []Key {
	return []Key{k.Overview, k.Topics, k.NextView, k.Open, k.Back, k.Filter, k.Sort, k.Reverse, k.Pause, k.Up, k.Down, k.PageUp, k.PageDown, k.Home, k.End, k.Help, k.Quit}
}

// Line lists the bindings of the bottom line.
func (k Keys) Line() []Key {
	return []Key{k.Filter, k.Sort, k.Open, k.Back, k.NextView, k.Pause, k.Help, k.Quit}
}

// Matches reports whether a key press is one of the binding's.
func Matches(press interface{ String() string }, k Key) bool { return key.Matches(press, k.Binding) }
