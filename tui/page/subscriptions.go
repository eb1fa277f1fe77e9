package page

import (
	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/tui/frame"

	tea "github.com/charmbracelet/bubbletea"
)

// Subscriptions lists the subscriptions of one topic.
type Subscriptions struct {
	topic string
	table *component.Table[frame.SubscriptionLine]
}

// NewSubscriptions returns the page of a topic, by its full name.
func NewSubscriptions(topic string) *Subscriptions {
	type line = frame.SubscriptionLine
	const backlogColumn = 3
	t := component.NewTable(func(r line) string { return r.Subscription },
		component.Column[line]{Title: "SUBSCRIPTION", Left: true, Text: func(r line) string { return format.Clean(r.Subscription) }, Less: func(a, b line) bool { return a.Subscription < b.Subscription }},
		component.Column[line]{Title: "CONSUMERS", Width: 10, Text: func(r line) string { return count(r.Consumers) }, Less: func(a, b line) bool { return lessInt(a.Consumers, b.Consumers) }},
		component.Column[line]{Title: "OUT/s", Width: 8, Text: func(r line) string { return rate(r.RateOut) }, Less: func(a, b line) bool { return lessFloat(a.RateOut, b.RateOut) }},
		component.Column[line]{Title: "BACKLOG", Width: 11, Text: func(r line) string { return count(r.Backlog) }, Less: func(a, b line) bool { return lessInt(a.Backlog, b.Backlog) }},
		component.Column[line]{Title: "CHANGE/s", Width: 10, Text: func(r line) string { return change(r.BacklogChange) }, Less: func(a, b line) bool { return lessFloat(a.BacklogChange, b.BacklogChange) }},
		component.Column[line]{Title: "DRAIN", Width: 7, Text: func(r line) string { return drain(r.Drain) }},
		component.Column[line]{Title: "UNACKED", Width: 9, Text: func(r line) string { return count(r.Unacked) }, Less: func(a, b line) bool { return lessInt(a.Unacked, b.Unacked) }},
		component.Column[line]{Title: "HOLES", Width: 7, Text: func(r line) string { return count(r.Holes) }, Less: func(a, b line) bool { return lessInt(a.Holes, b.Holes) }},
		component.Column[line]{Title: "STATE", Width: 8, Left: true, Text: state},
	)
	t.SortBy(backlogColumn, true)
	return &Subscriptions{topic: topic, table: t}
}

// state says in a word what is wrong with a subscription.
func state(r frame.SubscriptionLine) string {
	switch {
	case r.Blocked != nil && *r.Blocked:
		return "blocked"
	case r.Backlog != nil && *r.Backlog > 0 && r.Consumers != nil && *r.Consumers == 0:
		return "no one"
	}
	return ""
}

// Title implements Page.
func (p *Subscriptions) Title() string { return format.Clean(p.topic) }

// SetFrame implements Page.
func (p *Subscriptions) SetFrame(f frame.Frame) {
	var rows []frame.SubscriptionLine
	for _, s := range f.Subscriptions {
		if s.Topic == p.topic {
			rows = append(rows, s)
		}
	}
	p.table.SetRows(rows)
}

// SetFilter implements Page.
func (p *Subscriptions) SetFilter(text string) error { return p.table.SetFilter(text) }

// Position implements Page.
func (p *Subscriptions) Position() string { return p.table.Position() }

// Update implements Page.
func (p *Subscriptions) Update(m tea.KeyMsg, c common.Context) Page {
	p.table.Update(m, c)
	return nil
}

// View implements Page.
func (p *Subscriptions) View(c common.Context) string { return p.table.View(c) }
