package browse

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/wire"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	mostRanges     = 1000 // rows that are kept, in the order asked for
	mostLedgerMaps = 50   // kept; fewer are drawn on a small screen
)

// subscription is the page of one subscription: what it waits for, why, and what it has acknowledged.
type subscription struct {
	job
	rows[inspect.Range]
	topic, name string
	by          int // index of rangeOrders
	ranges      inspect.Ranges
	backlog     inspect.Backlog
	moreMaps    int // ledgers whose maps are not kept
	loaded      bool
}

// rangeOrders are the orders of inspect.RangesOptions with their names.
func rangeOrders() [][2]string {
	return [][2]string{{"", "position"}, {"size", "size, what is not acknowledged"}, {"age", "age, what is not acknowledged"}}
}

func newSubscription(b *base, topic, name string) *subscription {
	type line = inspect.Range
	p := &subscription{job: job{base: b}, topic: topic, name: name}
	p.table = component.NewTable(func(r line) string { return r.Kind + " " + r.Lower + " " + r.Upper },
		component.Column[line]{Title: "KIND", Width: 8, Left: true, Text: func(r line) string { return r.Kind }},
		component.Column[line]{Title: "AFTER", Width: 16, Left: true, Text: func(r line) string { return r.Lower }},
		component.Column[line]{Title: "UP TO", Width: 16, Left: true, Text: func(r line) string { return r.Upper }},
		component.Column[line]{Title: "ENTRIES", Width: 11, Text: func(r line) string { return format.Count(r.Entries) }},
		component.Column[line]{Title: "AGE", Width: 7, Text: func(r line) string {
			if r.Kind == inspect.RangeAcked {
				return "-"
			}
			return format.Age(r.Published, p.now())
		}},
		component.Column[line]{Title: "LEFT OF A BATCH", Left: true, Text: leftOf},
	)
	return p
}

// leftOf says which messages of a batch are not acknowledged.
func leftOf(r inspect.Range) string {
	if r.BatchSize == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d: %s", len(r.Unacked), *r.BatchSize, strings.Trim(fmt.Sprint(r.Unacked), "[]"))
}

func (p *subscription) title() string { return format.Plain(p.name) }

func (p *subscription) start() tea.Cmd {
	by := rangeOrders()[p.by][0]
	return p.read("reading the subscription", func(ctx context.Context, s *inspect.Session) (func() tea.Cmd, error) {
		list, err := s.Backlog(ctx, inspect.BacklogOptions{Selector: inspect.Selector{Globs: []string{exactly(p.topic)}}, Subscription: p.name, Explain: true})
		if err != nil {
			return nil, err
		}
		got, err := s.Ranges(ctx, inspect.RangesOptions{Topic: exactly(p.topic), Subscription: p.name, By: by})
		if err != nil {
			return nil, err
		}
		var some []inspect.Range
		for r, err := range got.Rows {
			if err != nil {
				return nil, err
			}
			if some = append(some, r); len(some) == mostRanges {
				break
			}
		}
		return func() tea.Cmd {
			p.ranges, p.loaded = *got, true
			p.ranges.Rows = nil
			p.ranges.Ledgers = slices.Clone(got.Ledgers[:min(mostLedgerMaps, len(got.Ledgers))])
			p.moreMaps = len(got.Ledgers) - len(p.ranges.Ledgers)
			if len(list.Backlogs) == 1 {
				p.backlog = list.Backlogs[0]
			}
			p.table.SetRows(some)
			return nil
		}, nil
	})
}

func (p *subscription) ready() bool { return p.loaded }

func (p *subscription) key(m tea.KeyMsg, c common.Context) (page, tea.Cmd) {
	c.Height = max(3, c.Height/2)
	switch k := p.keys; {
	case common.Matches(m, k.Sort):
		p.by = (p.by + 1) % len(rangeOrders())
		return nil, p.start()
	case p.table.Update(m, c):
	case common.Matches(m, k.Pending):
		return newMessages(p.base, query{topic: p.topic, pending: p.name}), nil
	case common.Matches(m, k.Messages):
		return newMessages(p.base, query{topic: p.topic}), nil
	case common.Matches(m, k.Open):
		r, ok := p.table.Selected()
		if at, err := wire.ParsePosition(r.Lower); ok && err == nil {
			at.Entry++
			return newMessages(p.base, query{topic: p.topic}).from(at), nil
		}
	}
	return nil, nil
}

func (p *subscription) find(re *regexp.Regexp) page {
	return newMessages(p.base, query{topic: p.topic, pending: p.name, grep: re})
}

func (p *subscription) line() []common.Key {
	k := p.keys
	return []common.Key{k.Open, k.Pending, k.Messages, k.Grep, k.Sort}
}

func (p *subscription) view(c common.Context) string {
	r, b := p.ranges, p.backlog
	lines := []string{
		fmt.Sprintf("backlog %s in %s, %s, oldest %s", plural(b.Messages, "message"), plural(b.Entries, "entry", "entries"), format.Size(b.Bytes), format.Age(b.Oldest, p.now())),
		fmt.Sprintf("mark-delete %s, %s above, %s (%s), tail %s, %s in part", r.MarkDelete, plural(int64(r.Ranges), "range"),
			plural(int64(r.Holes), "hole"), plural(r.HoleEntries, "entry", "entries"), plural(r.TailEntries, "entry", "entries"), plural(r.Partials, "batch", "batches")),
	}
	for _, e := range b.Explanation {
		lines = append(lines, "- "+format.Plain(e))
	}
	lines = wrap(lines, c.Width)
	drawn := r.Ledgers[:min(len(r.Ledgers), max(1, c.Height/4))]
	maps := ledgerMaps(drawn, p.moreMaps+len(r.Ledgers)-len(drawn), c.Width)
	if len(maps) > 0 {
		maps = append(maps, "")
	}
	if room := max(3, c.Height-len(maps)-min(len(p.table.All())+1, max(4, c.Height/3))-1); len(lines) > room {
		lines = append(lines[:room-1], "…")
	}
	lines = append(append(lines, ""), maps...)
	c.Height = max(2, c.Height-len(lines))
	return strings.Join(lines, "\n") + "\n" + p.table.View(c)
}

// Position implements page.
func (p *subscription) Position() string {
	text := p.table.Position() + " by " + rangeOrders()[p.by][1]
	if p.ranges.Total > mostRanges {
		text += fmt.Sprintf(", the first of %s", format.Count(int64(p.ranges.Total)))
	}
	return text
}

func (p *subscription) selected() (text, what string) {
	r, ok := p.table.Selected()
	if !ok {
		return p.name, "the name"
	}
	return r.Upper, "the position"
}

func (p *subscription) document() (string, func(*format.Printer) error) {
	list, sum, total := p.table.Shown(), p.ranges, p.ranges.Total
	return "ranges", func(out *format.Printer) error {
		return format.List(out, list, format.ListOptions{Total: total, Summary: &sum})
	}
}
