package page

import (
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/tui/frame"

	tea "github.com/charmbracelet/bubbletea"
)

// Topics lists the topics of all brokers; entering one lists its subscriptions.
type Topics struct {
	rows[frame.TopicLine]
	last frame.Frame
}

// trendWidth is how many values of a trend a row shows.
const trendWidth = 10

// NewTopics returns the page, sorted by the largest backlog. several says that there is more than one broker.
func NewTopics(several bool) *Topics {
	type line = frame.TopicLine
	const backlogColumn = 4
	columns := []component.Column[line]{
		{Title: "TOPIC", Left: true, End: true, Text: func(r line) string { return topicName(r.Topic) }, Less: func(a, b line) bool { return a.Topic < b.Topic }},
		{Title: "SUBS", Width: 5, Text: func(r line) string { return count(r.Subscriptions) }, Less: func(a, b line) bool { return lessInt(a.Subscriptions, b.Subscriptions) }},
		{Title: "IN/s", Width: 7, Text: func(r line) string { return rate(r.RateIn) }, Less: func(a, b line) bool { return lessFloat(a.RateIn, b.RateIn) }},
		{Title: "OUT/s", Width: 7, Text: func(r line) string { return rate(r.RateOut) }, Less: func(a, b line) bool { return lessFloat(a.RateOut, b.RateOut) }},
		{Title: "BACKLOG", Width: 11, Text: func(r line) string { return count(r.Backlog) }, Less: func(a, b line) bool { return lessInt(a.Backlog, b.Backlog) }},
		{Title: "TREND", Width: trendWidth, Left: true, Optional: 2, Text: func(r line) string { return component.Spark(r.Trend, trendWidth) }},
		{Title: "CHANGE/s", Width: 9, Optional: 4, Text: func(r line) string { return change(r.BacklogChange) }, Less: func(a, b line) bool { return lessFloat(a.BacklogChange, b.BacklogChange) }},
		{Title: "DRAIN", Width: 7, Text: func(r line) string { return drain(r.Drain) }},
		{Title: "STORED", Width: 9, Optional: 3, Text: func(r line) string { return size(r.Storage) }, Less: func(a, b line) bool { return lessInt(a.Storage, b.Storage) }},
	}
	if several {
		columns = append(columns, component.Column[line]{Title: "BROKER", Width: 18, Left: true, End: true, Optional: 1, Text: func(r line) string { return brokerName(r.Broker) }, Less: func(a, b line) bool { return a.Broker < b.Broker }})
	}
	t := component.NewTable(func(r line) string { return r.Topic + "\x00" + r.Broker }, columns...)
	t.Name = func(r line) string { return r.Topic }
	t.Old = func(r line) bool { return r.Stale }
	t.SortBy(backlogColumn, true)
	return &Topics{rows: rows[line]{t}}
}

// Title implements Page.
func (*Topics) Title() string { return "Topics" }

// SetFrame implements Page.
func (p *Topics) SetFrame(f frame.Frame) {
	p.last = f
	p.table.SetRows(f.Topics)
}

// Update implements Page.
func (p *Topics) Update(m tea.KeyMsg, c common.Context) Page {
	if p.table.Update(m, c) || !common.Matches(m, c.Keys.Open) {
		return nil
	}
	row, ok := p.table.Selected()
	if !ok {
		return nil
	}
	return enter(row.Broker, row.Topic, p.last)
}

// View implements Page.
func (p *Topics) View(c common.Context) string { return p.table.View(c) }
