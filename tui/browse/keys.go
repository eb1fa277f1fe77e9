package browse

import (
	"fmt"

	"spoolctl/tui/common"
)

// keys is the one map of keys; the help page and the bottom line are made from it.
type keys struct {
	common.Keys
	Switch, Messages, Pending, Grep, Jump, Copy, Export, Problems common.Key
}

func newKeys() keys {
	k := keys{
		Keys:     common.NewKeys(),
		Switch:   common.Bind("tab", "switch", "between subscriptions and ledgers of a topic", "tab"),
		Messages: common.Bind("m", "messages", "the messages of the topic", "m"),
		Pending:  common.Bind("p", "pending", "what the subscription would get next, in order", "p"),
		Grep:     common.Bind("f", "find", "search payloads, keys and properties of all messages (regular expression)", "f"),
		Jump:     common.Bind(":", "go to", "a position (ledger:entry), a time, or an age such as 3h", ":"),
		Copy:     common.Bind("y", "copy", "copy the selected name, position or payload (OSC 52)", "y"),
		Export:   common.Bind("e", "export", "write the page as JSON into a new file of the working directory", "e"),
		Problems: common.Bind("!", "spool", "the state of the spool, and what could not be read", "!"),
	}
	k.Open = common.Bind("enter", "open", "what is selected; fold and unfold tenants and namespaces", "enter")
	k.Back = common.Bind("esc", "back", "drop the filter, stop a search, then go back", "esc")
	k.Filter = common.Bind("/", "filter", "show only rows that match a regular expression, in either case", "/")
	k.Sort = common.Bind("s", "sort", "by the next column; ranges by position, size or age", "s")
	return k
}

// all lists the bindings in the order of the help page.
func (k keys) all() []common.Key {
	return []common.Key{k.Open, k.Back, k.Filter, k.Grep, k.Jump, k.Messages, k.Pending, k.Switch, k.Sort, k.Reverse, k.Copy, k.Export, k.Problems,
		k.Up, k.Down, k.PageUp, k.PageDown, k.Home, k.End, k.Help, k.Quit}
}

// text is the help page.
func (k keys) text() []string {
	var lines []string
	for _, b := range k.all() {
		lines = append(lines, fmt.Sprintf("  %-8s %s", b.Help().Key, b.Long))
	}
	return lines
}
