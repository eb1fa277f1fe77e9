package page

import (
	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/tui/frame"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// Topics lists the topics of all brokers; entering one lists its subscriptions.
type Topics struct {
	table *component.Table[frame.TopicLine]
	last  frame.Frame
}

// NewTopics returns the page, sorted by the largest backlog.
func NewTopics() *Topics {
	type line = frame.TopicLine
	const backlogColumn = 4
	t := component.NewTable(func(r line) string { return r.Topic },
		component.Column[line]{Title: "TOPIC", Left: true, Text: func(r line) string { return format.Clean(r.Topic) }, Less: func(a, b line) bool { return a.Topic < b.Topic }},
		component.Column[line]{Title: "SUBS", Width: 5, Text: func(r line) string { return count(r.Subscriptions) }, Less: func(a, b line) bool { return lessInt(a.Subscriptions, b.Subscriptions) }},
		component.Column[line]{Title: "IN/s", Width: 8, Text: func(r line) string { return rate(r.RateIn) }, Less: func(a, b line) bool { return lessFloat(a.RateIn, b.RateIn) }},
		component.Column[line]{Title: "OUT/s", Width: 8, Text: func(r line) string { return rate(r.RateOut) }, Less: func(a, b line) bool { return lessFloat(a.RateOut, b.RateOut) }},
		component.Column[line]{Title: "BACKLOG", Width: 11, Text: func(r line) string { return count(r.Backlog) }, Less: func(a, b line) bool { return lessInt(a.Backlog, b.Backlog) }},
		component.Column[line]{Title: "TREND", Width: 8, Left: true, Text: func(r line) string { return component.Spark(r.Trend, 8) }},
		component.Column[line]{Title: "DRAIN", Width: 7, Text: func(r line) string { return drain(r.Drain) }},
		component.Column[line]{Title: "SIZE", Width: 9, Text: func(r line) string { return size(r.Storage) }, Less: func(a, b line) bool { return lessInt(a.Storage, b.Storage) }},
	)
	t.SortBy(backlogColumn, true)
	return &Topics{table: t}
}

// Title implements Page.
func (*Topics) Title() string { return "Topics" }

// SetFrame implements Page.
func (p *Topics) SetFrame(f frame.Frame) {
	p.last = f
	p.table.SetRows(f.Topics)
}

// SetFilter implements Page.
func (p *Topics) SetFilter(text string) error { return p.table.SetFilter(text) }

// Position implements Page.
func (p *Topics) Position() string { return p.table.Position() }

// Update implements Page.
func (p *Topics) Update(m tea.KeyMsg, c common.Context) Page {
	if p.table.Update(m, c) || !key.Matches(m, c.Keys.Open) {
		return nil
	}
	row, ok := p.table.Selected()
	if !ok {
		return nil
	}
	next := NewSubscriptions(row.Topic)
	next.SetFrame(p.last)
	return next
}

// View implements Page.
func (p *Topics) View(c common.Context) string { return p.table.View(c) }
