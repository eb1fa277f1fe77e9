package browse

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/wire"

	tea "github.com/charmbracelet/bubbletea"
)

// mapWidth is how many cells the map of a subscription has in the list of a topic's subscriptions.
const mapWidth = 20

// mostMaps is for how many subscriptions maps are drawn in that list: each costs a read.
const mostMaps = 500

// topic is the page of one topic: its subscriptions above, its ledgers below.
type topic struct {
	job
	topic     inspect.Topic
	cursors   *component.Table[inspect.Cursor]
	ledgers   *component.Table[inspect.Ledger]
	onLedgers bool // the cursor is in the table of ledgers
	sums      struct {
		cursors inspect.CursorTotals
		ledgers inspect.LedgerTotals
	}
	loaded bool
	all    []inspect.Ledger
	maps   map[string]string // by subscription
}

func newTopic(b *base, t inspect.Topic) *topic {
	p := &topic{job: job{base: b}, topic: t, maps: map[string]string{}}
	p.cursors = p.cursorTable()
	p.ledgers = ledgerTable()
	p.focus(false)
	return p
}

func (p *topic) cursorTable() *component.Table[inspect.Cursor] {
	type line = inspect.Cursor
	text := func(c line) string { return format.Plain(c.Subscription) }
	t := component.NewTable(func(c line) string { return c.Subscription },
		component.Column[line]{Title: "SUBSCRIPTION", Left: true, End: true, Text: text, Less: func(a, b line) bool { return a.Subscription < b.Subscription }},
		component.Column[line]{Title: "BACKLOG", Width: 12, Text: func(c line) string { return format.Count(c.Backlog) }, Less: func(a, b line) bool { return a.Backlog < b.Backlog }},
		component.Column[line]{Title: "BYTES", Width: 10, Optional: 3, Text: func(c line) string { return format.Size(c.BacklogBytes) }, Less: func(a, b line) bool { return a.BacklogBytes < b.BacklogBytes }},
		component.Column[line]{Title: "OLDEST", Width: 7, Text: func(c line) string { return format.Age(c.OldestUnacked, p.now()) }, Less: func(a, b line) bool { return b.OldestUnacked.Before(a.OldestUnacked) }},
		component.Column[line]{Title: "RANGES", Width: 8, Optional: 2, Text: func(c line) string { return format.Count(int64(c.Ranges)) }, Less: func(a, b line) bool { return a.Ranges < b.Ranges }},
		component.Column[line]{Title: "PARTIAL", Width: 8, Optional: 4, Text: func(c line) string { return format.Count(c.Partials) }},
		component.Column[line]{Title: "MARK DELETE", Width: 13, Left: true, Optional: 1, Text: func(c line) string { return c.MarkDelete }},
		component.Column[line]{Title: "ACKNOWLEDGED", Width: mapWidth, Left: true, Text: func(c line) string { return p.maps[c.Subscription] }},
	)
	return t
}

func ledgerTable() *component.Table[inspect.Ledger] {
	type line = inspect.Ledger
	id := func(l line) string { return strconv.FormatInt(l.ID, 10) }
	return component.NewTable(func(l line) string { return id(l) + " " + l.State + " " + l.Reason },
		component.Column[line]{Title: "LEDGER", Width: 8, Left: true, Text: id, Less: func(a, b line) bool { return a.ID < b.ID }},
		component.Column[line]{Title: "STATE", Width: 6, Left: true, Text: func(l line) string { return l.State }},
		component.Column[line]{Title: "ENTRIES", Width: 9, Text: func(l line) string { return format.Count(l.Entries) }, Less: func(a, b line) bool { return a.Entries < b.Entries }},
		component.Column[line]{Title: "MESSAGES", Width: 12, Optional: 3, Text: func(l line) string { return format.Count(l.Messages) }, Less: func(a, b line) bool { return a.Messages < b.Messages }},
		component.Column[line]{Title: "BYTES", Width: 10, Text: func(l line) string { return format.Size(l.Bytes) }, Less: func(a, b line) bool { return a.Bytes < b.Bytes }},
		component.Column[line]{Title: "LAST PUBLISH", Width: 20, Left: true, Optional: 2, Text: func(l line) string { return moment(l.LastPublish) }, Less: func(a, b line) bool { return a.LastPublish.Before(b.LastPublish) }},
		component.Column[line]{Title: "NEEDED BY", Width: 12, Left: true, Text: func(l line) string { return known(l.NeededBy) }},
		component.Column[line]{Title: "TRIM", Width: 4, Left: true, Text: func(l line) string {
			if l.Trimmable {
				return "yes"
			}
			return "no"
		}},
		component.Column[line]{Title: "BECAUSE", Left: true, Text: func(l line) string { return format.Plain(l.Reason) }},
	)
}

func (p *topic) title() string { return short(p.topic.Name) }

func (p *topic) start() tea.Cmd {
	return p.read("reading ledgers and subscriptions", func(ctx context.Context, s *inspect.Session) (func() tea.Cmd, error) {
		sel := inspect.Selector{Globs: []string{exactly(p.topic.Name)}}
		ledgers, err := s.Ledgers(ctx, sel)
		if err != nil {
			return nil, err
		}
		cursors, err := s.Cursors(ctx, sel)
		return func() tea.Cmd {
			p.all, p.sums.ledgers, p.sums.cursors, p.loaded = ledgers.Ledgers, ledgers.Totals, cursors.Totals, true
			p.ledgers.SetRows(ledgers.Ledgers)
			p.cursors.SetRows(cursors.Cursors)
			names := make([]string, 0, len(cursors.Cursors))
			for _, c := range cursors.Cursors {
				names = append(names, c.Subscription)
			}
			return p.draw(names[:min(mostMaps, len(names))])
		}, err
	})
}

// draw reads the range maps of subscriptions, some at a time.
func (p *topic) draw(names []string) tea.Cmd {
	if len(names) == 0 {
		return nil
	}
	return p.read("drawing "+plural(int64(len(names)), "range map"), func(ctx context.Context, s *inspect.Session) (func() tea.Cmd, error) {
		drawn := map[string]string{}
		left := names
		for began := time.Now(); len(left) > 0 && (len(drawn) == 0 || time.Since(began) < p.step); left = left[1:] {
			r, err := s.Ranges(ctx, inspect.RangesOptions{Topic: exactly(p.topic.Name), Subscription: left[0]})
			if err != nil {
				return nil, err
			}
			drawn[left[0]] = wholeMap(p.all, r.Ledgers, mapWidth)
		}
		return func() tea.Cmd {
			for name, m := range drawn {
				p.maps[name] = m
			}
			return p.draw(left)
		}, nil
	})
}

func (p *topic) ready() bool { return p.loaded }

// focus puts the cursor into one of the tables.
func (p *topic) focus(ledgers bool) {
	p.onLedgers, p.ledgers.Still, p.cursors.Still = ledgers, !ledgers, ledgers
}

func (p *topic) key(m tea.KeyMsg, c common.Context) (page, tea.Cmd) {
	switch k := p.keys; {
	case common.Matches(m, k.Switch):
		p.focus(!p.onLedgers)
	case common.Matches(m, k.Messages):
		return newMessages(p.base, query{topic: p.topic.Name}), nil
	case p.onLedgers:
		l, ok := p.ledgers.Selected()
		if !p.ledgers.Update(m, p.half(c)) && ok && common.Matches(m, k.Open) {
			return newMessages(p.base, query{topic: p.topic.Name}).from(wire.Position{Ledger: l.ID}), nil
		}
	default:
		l, ok := p.cursors.Selected()
		switch {
		case p.cursors.Update(m, p.half(c)) || !ok:
		case common.Matches(m, k.Open):
			return newSubscription(p.base, p.topic.Name, l.Subscription), nil
		case common.Matches(m, k.Pending):
			return newMessages(p.base, query{topic: p.topic.Name, pending: l.Subscription}), nil
		}
	}
	return nil, nil
}

func (p *topic) find(re *regexp.Regexp) page {
	return newMessages(p.base, query{topic: p.topic.Name, grep: re})
}

func (p *topic) line() []common.Key {
	k := p.keys
	return []common.Key{k.Open, k.Messages, k.Pending, k.Grep, k.Switch, k.Sort}
}

func (p *topic) half(c common.Context) common.Context {
	c.Height = max(3, c.Height/2)
	return c
}

func (p *topic) view(c common.Context) string {
	t := p.topic
	facts := []string{
		plural(t.Messages, "message") + " in " + plural(t.Entries, "entry", "entries") + " of " + plural(int64(t.Ledgers), "ledger") + ", " + format.Size(t.Bytes),
		"published " + moment(t.FirstPublish) + " to " + moment(t.LastPublish),
	}
	if t.Terminated {
		facts = append(facts, "terminated: nothing more can be published")
	}
	if len(t.Policies) > 0 {
		facts = append(facts, "policies of its own: "+format.Plain(strings.Join(t.Policies, ", ")))
	}
	lines := append(wrap(facts, c.Width), "")
	room := max(4, c.Height-len(lines)-1)
	upper, lower := c, c
	upper.Height = max(2, min(len(p.cursors.All())+1, max(room/2, room-len(p.all)-1)))
	lower.Height = max(2, room-upper.Height)
	lines = append(lines, strings.Split(p.cursors.View(upper), "\n")...)
	return strings.Join(append(lines, "", p.ledgers.View(lower)), "\n")
}

// Position implements page.
func (p *topic) Position() string {
	if p.onLedgers {
		return "ledger " + p.ledgers.Position()
	}
	return "subscription " + p.cursors.Position()
}

// SetFilter implements page.
func (p *topic) SetFilter(text string) error {
	if p.onLedgers {
		return p.ledgers.SetFilter(text)
	}
	return p.cursors.SetFilter(text)
}

// Filter implements page.
func (p *topic) Filter() string {
	if p.onLedgers {
		return p.ledgers.Filter()
	}
	return p.cursors.Filter()
}

func (p *topic) selected() (text, what string) {
	if l, ok := p.ledgers.Selected(); ok && p.onLedgers {
		return strconv.FormatInt(l.ID, 10), "the ledger's id"
	}
	if c, ok := p.cursors.Selected(); ok && !p.onLedgers {
		return c.Subscription, "the name"
	}
	return p.topic.Name, "the topic's name"
}

func (p *topic) document() (string, func(*format.Printer) error) {
	if p.onLedgers {
		list, o := p.ledgers.Shown(), format.ListOptions{Total: p.sums.ledgers.Ledgers, Summary: p.sums.ledgers}
		return "ledgers", func(out *format.Printer) error { return format.List(out, list, o) }
	}
	list, o := p.cursors.Shown(), format.ListOptions{Total: p.sums.cursors.Subscriptions, Summary: p.sums.cursors}
	return "cursors", func(out *format.Printer) error { return format.List(out, list, o) }
}
