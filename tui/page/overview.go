package page

import (
	"fmt"
	"strings"
	"time"

	"spoolctl/format"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/tui/frame"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Overview shows the sums, one line for each broker, and the subscriptions with the largest backlogs.
type Overview struct {
	rows[frame.SubscriptionLine]
	brokers *component.Table[frame.BrokerLine]
	last    frame.Frame
}

// NewOverview returns the page.
func NewOverview() *Overview {
	return &Overview{rows: rows[frame.SubscriptionLine]{backlogTable()}, brokers: brokerTable()}
}

func brokerTable() *component.Table[frame.BrokerLine] {
	type line = frame.BrokerLine
	t := component.NewTable(func(r line) string { return r.Broker },
		component.Column[line]{Title: "BROKER", Left: true, Text: func(r line) string { return brokerName(r.Broker) }},
		component.Column[line]{Title: "STATE", Width: 7, Left: true, Text: func(r line) string { return r.State }},
		component.Column[line]{Title: "SEEN", Width: 6, Text: func(r line) string { return age(r.AgeSeconds) }},
		component.Column[line]{Title: "TOPICS", Width: 7, Optional: 1, Text: func(r line) string { return count(r.Topics) }},
		component.Column[line]{Title: "IN/s", Width: 7, Text: func(r line) string { return rate(r.RateIn) }},
		component.Column[line]{Title: "OUT/s", Width: 7, Text: func(r line) string { return rate(r.RateOut) }},
		component.Column[line]{Title: "BACKLOG", Width: 11, Text: func(r line) string { return count(r.Backlog) }},
		component.Column[line]{Title: "STORED", Width: 9, Optional: 2, Text: func(r line) string { return size(r.Storage) }},
	)
	t.Still = true
	t.Old = func(r line) bool { return r.State != frame.StateLive }
	return t
}

func backlogTable() *component.Table[frame.SubscriptionLine] {
	type line = frame.SubscriptionLine
	const backlogColumn = 2
	t := component.NewTable(subscriptionID,
		component.Column[line]{Title: "LARGEST BACKLOGS", Left: true, End: true, Text: func(r line) string { return topicName(r.Topic) }, Less: func(a, b line) bool { return a.Topic < b.Topic }},
		component.Column[line]{Title: "SUBSCRIPTION", Width: 12, Left: true, Text: func(r line) string { return format.Plain(r.Subscription) }, Less: func(a, b line) bool { return a.Subscription < b.Subscription }},
		component.Column[line]{Title: "BACKLOG", Width: 11, Text: func(r line) string { return count(r.Backlog) }, Less: func(a, b line) bool { return lessInt(a.Backlog, b.Backlog) }},
		component.Column[line]{Title: "CHANGE/s", Width: 9, Text: func(r line) string { return change(r.BacklogChange) }, Less: func(a, b line) bool { return lessFloat(a.BacklogChange, b.BacklogChange) }},
		component.Column[line]{Title: "DRAIN", Width: 6, Text: func(r line) string { return drain(r.Drain) }},
		component.Column[line]{Title: "STATE", Width: 11, Left: true, Optional: 1, Text: state},
	)
	t.Name = func(r line) string { return r.Topic + " " + r.Subscription }
	t.Old = func(r line) bool { return r.Stale }
	t.SortBy(backlogColumn, true)
	return t
}

func age(seconds *float64) string {
	if seconds == nil {
		return format.Unknown
	}
	return format.Duration(time.Duration(*seconds * float64(time.Second)).Round(time.Second))
}

// Title implements Page.
func (*Overview) Title() string { return "Overview" }

// SetFrame implements Page.
func (p *Overview) SetFrame(f frame.Frame) {
	p.last = f
	p.brokers.SetRows(f.Brokers)
	var behind []frame.SubscriptionLine
	for _, s := range f.Subscriptions {
		if s.Backlog != nil && *s.Backlog > 0 {
			behind = append(behind, s)
		}
	}
	p.table.SetRows(behind)
}

// Update implements Page.
func (p *Overview) Update(m tea.KeyMsg, c common.Context) Page {
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
func (p *Overview) View(c common.Context) string {
	t := p.last.Total
	spark := max(8, min(60, c.Width-46))
	lines := []string{
		fmt.Sprintf("in       %11s msg/s  %s  %s", rate(t.RateIn), component.Spark(t.SeriesIn, spark), perSecond(rateSize(t.BytesIn))),
		fmt.Sprintf("out      %11s msg/s  %s  %s", rate(t.RateOut), component.Spark(t.SeriesOut, spark), perSecond(rateSize(t.BytesOut))),
		fmt.Sprintf("backlog  %11s msg    %s  %s", count(t.Backlog), component.Spark(t.SeriesBacklog, spark), perSecond(change(t.BacklogChange))),
		fmt.Sprintf("stored   %11s        %s, %s, %s", size(t.Storage), things(t.Topics, "topic"), things(t.Producers, "producer"), things(t.Consumers, "consumer")),
		"",
	}
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], c.Width, "…")
	}
	for _, b := range p.last.Brokers {
		if b.Problem != "" {
			lines = append(lines, c.Styles.Bad.Render(ansi.Truncate("! "+format.Plain(b.Problem), c.Width, "…")))
		}
	}
	brokers := c
	brokers.Height = max(2, min(len(p.last.Brokers)+1, (c.Height-len(lines))/2))
	lines = append(lines, strings.Split(p.brokers.View(brokers), "\n")...)
	lines = append(lines, "")
	backlogs := c
	backlogs.Height = max(2, c.Height-len(lines))
	return strings.Join(lines, "\n") + "\n" + p.table.View(backlogs)
}
