package page

import (
	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/tui/frame"

	tea "github.com/charmbracelet/bubbletea"
)

// Subscriptions lists the subscriptions of one topic of one broker.
type Subscriptions struct {
	rows[frame.SubscriptionLine]
	broker, topic string
}

// NewSubscriptions returns the page of a topic, by its full name, of the broker with a metrics page.
func NewSubscriptions(broker, topic string) *Subscriptions {
	type line = frame.SubscriptionLine
	const backlogColumn = 3
	t := component.NewTable(subscriptionID,
		component.Column[line]{Title: "SUBSCRIPTION", Left: true, End: true, Text: func(r line) string { return format.Plain(r.Subscription) }, Less: func(a, b line) bool { return a.Subscription < b.Subscription }},
		component.Column[line]{Title: "CONS", Width: 5, Text: func(r line) string { return count(r.Consumers) }, Less: func(a, b line) bool { return lessInt(a.Consumers, b.Consumers) }},
		component.Column[line]{Title: "OUT/s", Width: 7, Optional: 1, Text: func(r line) string { return rate(r.RateOut) }, Less: func(a, b line) bool { return lessFloat(a.RateOut, b.RateOut) }},
		component.Column[line]{Title: "BACKLOG", Width: 11, Text: func(r line) string { return count(r.Backlog) }, Less: func(a, b line) bool { return lessInt(a.Backlog, b.Backlog) }},
		component.Column[line]{Title: "CHANGE/s", Width: 9, Text: func(r line) string { return change(r.BacklogChange) }, Less: func(a, b line) bool { return lessFloat(a.BacklogChange, b.BacklogChange) }},
		component.Column[line]{Title: "DRAIN", Width: 7, Text: func(r line) string { return drain(r.Drain) }},
		component.Column[line]{Title: "UNACKED", Width: 8, Optional: 3, Text: func(r line) string { return count(r.Unacked) }, Less: func(a, b line) bool { return lessInt(a.Unacked, b.Unacked) }},
		component.Column[line]{Title: "HOLES", Width: 7, Optional: 2, Text: func(r line) string { return count(r.Holes) }, Less: func(a, b line) bool { return lessInt(a.Holes, b.Holes) }},
		component.Column[line]{Title: "STATE", Width: 11, Left: true, Text: state},
	)
	t.Name = func(r line) string { return r.Subscription }
	t.Old = func(r line) bool { return r.Stale }
	t.SortBy(backlogColumn, true)
	return &Subscriptions{rows: rows[line]{t}, broker: broker, topic: topic}
}

// enter opens the subscriptions of a topic.
func enter(broker, topic string, last frame.Frame) Page {
	p := NewSubscriptions(broker, topic)
	p.SetFrame(last)
	return p
}

func subscriptionID(r frame.SubscriptionLine) string {
	return r.Topic + "\x00" + r.Subscription + "\x00" + r.Broker
}

// state says in a word what is wrong with a subscription.
func state(r frame.SubscriptionLine) string {
	switch {
	case r.Blocked != nil && *r.Blocked:
		return "blocked"
	case r.Backlog != nil && *r.Backlog > 0 && r.Consumers != nil && *r.Consumers == 0:
		return "no consumer"
	}
	return ""
}

// Title implements Page.
func (p *Subscriptions) Title() string { return topicName(p.topic) }

// SetFrame implements Page.
func (p *Subscriptions) SetFrame(f frame.Frame) {
	var mine []frame.SubscriptionLine
	for _, s := range f.Subscriptions {
		if s.Topic == p.topic && s.Broker == p.broker {
			mine = append(mine, s)
		}
	}
	p.table.SetRows(mine)
}

// Update implements Page.
func (p *Subscriptions) Update(m tea.KeyMsg, c common.Context) Page {
	p.table.Update(m, c)
	return nil
}

// View implements Page.
func (p *Subscriptions) View(c common.Context) string { return p.table.View(c) }
