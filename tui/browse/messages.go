package browse

import (
	"context"
	"fmt"
	"regexp"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/wire"

	tea "github.com/charmbracelet/bubbletea"
)

// messages is the page of messages of a topic, of what is pending for a subscription, or of what a search finds. It holds
// one part of them at a time and reads the next when the cursor goes over its edge.
type messages struct {
	job
	rows[inspect.Message]
	query  query
	within string // what the title begins with
	begin  place
	loaded bool
	total  int64 // of all messages, matching or not; 0 is not known
	// top and bottom say that nothing is above or below what is held.
	top, bottom bool
	last        wire.MessageID // the last one that was looked at
	seen        int64          // by the search so far
	found       int64
	pushed      string // what the user has come up against
}

func newMessages(b *base, q query) *messages {
	type line = inspect.Message
	p := &messages{job: job{base: b}, query: q}
	p.table = component.NewTable(func(m line) string { return m.ID },
		component.Column[line]{Title: "MESSAGE", Width: 15, Left: true, Text: func(m line) string { return m.ID }},
		component.Column[line]{Title: "PUBLISHED", Width: 20, Left: true, Optional: 2, Text: func(m line) string { return moment(m.PublishTime) }},
		component.Column[line]{Title: "PRODUCER", Width: 14, Left: true, Optional: 3, Text: func(m line) string { return known(m.Producer) }},
		component.Column[line]{Title: "KEY", Width: 12, Left: true, Text: func(m line) string {
			if m.Key == nil {
				return "-"
			}
			return format.Plain(*m.Key)
		}},
		component.Column[line]{Title: "SIZE", Width: 9, Text: func(m line) string { return format.Size(int64(m.Size)) }},
		component.Column[line]{Title: "PAYLOAD", Left: true, Text: preview},
	)
	p.table.Name = func(m line) string { return m.ID + " " + known(m.Key) + " " + known(m.Producer) + " " + preview(m) }
	return p
}

// preview is the start of a payload, or what is to be known of it.
func preview(m inspect.Message) string {
	switch {
	case m.Note != nil:
		return "! " + format.Plain(*m.Note)
	case m.NullValue:
		return "(null)"
	}
	return format.Preview(m.Payload)
}

// from makes the page begin at a position.
func (p *messages) from(at wire.Position) *messages {
	p.begin = place{at: at}
	return p
}

// of names the topic in the page's title, for a page that is not entered from the topic's.
func (p *messages) of(topic string) *messages {
	p.within = short(topic) + " › "
	return p
}

func (p *messages) title() string {
	switch q := p.query; {
	case q.grep != nil && q.pending != "":
		return p.within + "find in pending: " + format.Plain(q.grep.String())
	case q.grep != nil:
		return p.within + "find: " + format.Plain(q.grep.String())
	case q.pending != "":
		return p.within + "pending for " + format.Plain(q.pending)
	}
	return p.within + "messages"
}

func (p *messages) start() tea.Cmd { return p.forward(p.begin) }

func (p *messages) ready() bool { return p.loaded }

// forward shows what follows a place.
func (p *messages) forward(from place) tea.Cmd {
	what, most := "reading messages", whole()
	if p.query.grep != nil {
		if from == (place{}) {
			p.seen, p.found = 0, 0
			p.table.SetRows(nil)
		}
		what, most = p.progress(), most.left(p.held())
		most.time = p.step
	}
	known := p.total
	return p.read(what, func(ctx context.Context, s *inspect.Session) (func() tea.Cmd, error) {
		total := known
		if total == 0 {
			var err error
			if total, err = p.query.total(ctx, s); err != nil {
				return nil, err
			}
		}
		got, err := p.query.forward(ctx, s, from, most)
		return func() tea.Cmd { return p.takeForward(from, got, total) }, err
	})
}

// takeForward shows a part. A search that has not found enough goes on.
func (p *messages) takeForward(from place, got part, total int64) tea.Cmd {
	p.total = total
	beginning := from == (place{})
	switch {
	case p.query.grep != nil:
		p.seen, p.found = p.seen+got.seen, p.found+int64(len(got.rows))
		p.top, p.bottom, p.last, p.loaded = true, got.edge, got.last, true
		p.table.SetRows(append(p.held(), got.rows...))
		if got.edge || whole().left(p.held()).full() {
			return nil
		}
		return p.forward(place{after: &got.last})
	case p.loaded && len(got.rows) == 0 && from.after != nil:
		p.bottom, p.pushed = true, "this is the last message"
		return nil
	}
	p.top, p.bottom, p.last, p.loaded = beginning, got.edge, got.last, true
	p.table.SetRows(got.rows)
	p.table.Select(0)
	return nil
}

// held are the rows of the part, whatever the filter.
func (p *messages) held() []inspect.Message { return p.table.All() }

// backward shows what stands before a message.
func (p *messages) backward(to wire.MessageID) tea.Cmd {
	return p.read("reading messages", func(ctx context.Context, s *inspect.Session) (func() tea.Cmd, error) {
		got, err := p.query.backward(ctx, s, to)
		return func() tea.Cmd {
			p.loaded = true
			if len(got.rows) == 0 {
				p.top, p.pushed = true, "this is the first message"
				return nil
			}
			p.top, p.bottom = got.edge, to.Position == wire.Latest()
			p.last, _ = wire.ParseMessageID(got.rows[len(got.rows)-1].ID) // made by inspect
			p.table.SetRows(got.rows)
			p.table.Select(len(got.rows) - 1)
			return nil
		}, err
	})
}

func (p *messages) key(m tea.KeyMsg, c common.Context) (page, tea.Cmd) {
	p.pushed = ""
	if cmd := p.over(m); cmd != nil {
		return nil, cmd
	}
	if p.table.Update(m, c) || !common.Matches(m, p.keys.Open) {
		return nil, nil
	}
	if row, ok := p.table.Selected(); ok {
		return newMessage(p.base, row), nil
	}
	return nil, nil
}

// over reads on when a key moves over the edge of what is held.
func (p *messages) over(m tea.KeyMsg) tea.Cmd {
	k := p.keys
	down := p.table.AtBottom() && (common.Matches(m, k.Down) || common.Matches(m, k.PageDown))
	up := p.table.AtTop() && (common.Matches(m, k.Up) || common.Matches(m, k.PageUp))
	switch {
	case !p.loaded || p.what != "":
	case down && p.bottom:
		p.pushed = "this is the last message"
	case down:
		if p.query.grep != nil {
			p.table.SetRows(nil) // what follows takes the place of what was found
		}
		return p.forward(place{after: new(p.last)})
	case common.Matches(m, k.Home) && (!p.top || p.query.grep != nil):
		return p.forward(place{})
	case p.query.grep != nil: // a search goes forward only
	case up && p.top:
		p.pushed = "this is the first message"
	case up:
		return p.backward(p.firstHeld())
	case !p.bottom && common.Matches(m, k.End):
		return p.backward(wire.MessageID{Position: wire.Latest()})
	}
	return nil
}

// firstHeld is the first message of the part, or the place where one was looked for in vain.
func (p *messages) firstHeld() wire.MessageID {
	if rows := p.held(); len(rows) > 0 {
		if id, err := wire.ParseMessageID(rows[0].ID); err == nil {
			return id
		}
	}
	if p.begin.since.IsZero() {
		return wire.MessageID{Position: p.begin.at, Partition: -1, Batch: -1}
	}
	return wire.MessageID{Position: wire.Latest()}
}

// jump implements jumper.
func (p *messages) jump(typed string) (tea.Cmd, error) {
	if p.query.grep != nil {
		return nil, fmt.Errorf("a search cannot jump: go back to the messages first")
	}
	if at, err := wire.ParsePosition(typed); err == nil {
		if at == wire.Latest() {
			return p.backward(wire.MessageID{Position: at}), nil
		}
		p.begin = place{at: at}
		if at == wire.Earliest() {
			p.begin = place{}
		}
		return p.forward(p.begin), nil
	}
	t, err := format.ParseTime(typed, p.now())
	if err != nil {
		return nil, fmt.Errorf("write ledger:entry, earliest, latest, a time (RFC 3339), a date, or an age such as 3h")
	}
	p.begin = place{since: t}
	return p.forward(p.begin), nil
}

func (p *messages) find(re *regexp.Regexp) page {
	q := p.query
	q.grep = re
	return newMessages(p.base, q)
}

func (p *messages) line() []common.Key {
	k := p.keys
	return []common.Key{k.Open, k.Jump, k.Grep}
}

func (p *messages) view(c common.Context) string {
	if len(p.held()) > 0 {
		return p.table.View(c)
	}
	text := "no messages here"
	switch {
	case p.query.grep != nil && p.what != "":
		text = "nothing found yet"
	case p.query.grep != nil && !p.bottom:
		text = "nothing found so far; ↓ goes on"
	case p.query.grep != nil:
		text = "nothing found"
	case !p.top:
		text = "no messages from here on; ↑ shows those before"
	}
	return c.Styles.Dim.Render("  " + text)
}

// progress says how far a search is.
func (p *messages) progress() string {
	text := fmt.Sprintf("searching: %s", format.Count(p.seen))
	if p.total > 0 {
		text += fmt.Sprintf(" of %s messages (%d %%)", format.Count(p.total), 100*min(p.seen, p.total)/p.total)
	}
	return text + fmt.Sprintf(", found %s; %s stops", format.Count(p.found), p.keys.Back.Help().Key)
}

// Position implements page.
func (p *messages) Position() string {
	text := p.table.Position()
	switch {
	case p.query.grep != nil && p.bottom:
		text += " found in all " + plural(p.seen, "message")
	case p.query.grep != nil:
		text += " found in " + format.Count(p.seen)
		if p.total > 0 {
			text += " of " + plural(p.total, "message")
		}
		text += "; ↓ at the end goes on"
	default:
		if p.total > 0 {
			text += fmt.Sprintf(" read, of %s", plural(p.total, "message"))
		}
		switch {
		case !p.top && !p.bottom:
			text += "; more above and below"
		case !p.top:
			text += "; more above"
		case !p.bottom:
			text += "; more below"
		}
	}
	if p.pushed != "" {
		text += "; " + p.pushed
	}
	return text
}

func (p *messages) selected() (text, what string) {
	m, ok := p.table.Selected()
	if !ok {
		return "", ""
	}
	return m.ID, "the message's id"
}

func (p *messages) document() (string, func(*format.Printer) error) {
	list, total := p.table.Shown(), int(p.total)
	if p.query.grep != nil && p.bottom && p.Filter() == "" {
		total = len(list)
	}
	return "messages", func(out *format.Printer) error {
		return format.List(out, list, format.ListOptions{Total: total})
	}
}
