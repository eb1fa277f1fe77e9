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

// Overview shows the sums and one line for each broker.
type Overview struct {
	table *component.Table[frame.BrokerLine]
	last  frame.Frame
}

// NewOverview returns the page.
func NewOverview() *Overview {
	type line = frame.BrokerLine
	return &Overview{table: component.NewTable(func(r line) string { return r.Broker },
		component.Column[line]{Title: "BROKER", Left: true, Text: func(r line) string { return format.Clean(r.Broker) }, Less: func(a, b line) bool { return a.Broker < b.Broker }},
		component.Column[line]{Title: "STATE", Width: 6, Left: true, Text: func(r line) string { return r.State }, Less: func(a, b line) bool { return a.State < b.State }},
		component.Column[line]{Title: "AGE", Width: 6, Text: func(r line) string { return age(r.AgeSeconds) }},
		component.Column[line]{Title: "TOPICS", Width: 7, Text: func(r line) string { return count(r.Topics) }, Less: func(a, b line) bool { return lessInt(a.Topics, b.Topics) }},
		component.Column[line]{Title: "IN/s", Width: 8, Text: func(r line) string { return rate(r.RateIn) }, Less: func(a, b line) bool { return lessFloat(a.RateIn, b.RateIn) }},
		component.Column[line]{Title: "OUT/s", Width: 8, Text: func(r line) string { return rate(r.RateOut) }, Less: func(a, b line) bool { return lessFloat(a.RateOut, b.RateOut) }},
		component.Column[line]{Title: "BACKLOG", Width: 11, Text: func(r line) string { return count(r.Backlog) }, Less: func(a, b line) bool { return lessInt(a.Backlog, b.Backlog) }},
		component.Column[line]{Title: "STORAGE", Width: 9, Text: func(r line) string { return size(r.Storage) }, Less: func(a, b line) bool { return lessInt(a.Storage, b.Storage) }},
	)}
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
	p.table.SetRows(f.Brokers)
}

// SetFilter implements Page.
func (p *Overview) SetFilter(text string) error { return p.table.SetFilter(text) }

// Position implements Page.
func (p *Overview) Position() string { return p.table.Position() }

// Update implements Page.
func (p *Overview) Update(m tea.KeyMsg, c common.Context) Page {
	p.table.Update(m, c)
	return nil
}

// View implements Page.
func (p *Overview) View(c common.Context) string {
	t := p.last.Total
	spark := max(8, min(40, c.Width-40))
	lines := []string{
		fmt.Sprintf("in       %9s msg/s  %s", rate(t.RateIn), component.Spark(t.SeriesIn, spark)),
		fmt.Sprintf("out      %9s msg/s  %s", rate(t.RateOut), component.Spark(t.SeriesOut, spark)),
		fmt.Sprintf("backlog  %9s msg    %s  %s/s", count(t.Backlog), component.Spark(t.SeriesBacklog, spark), change(t.BacklogChange)),
		fmt.Sprintf("bytes    in %s/s  out %s/s  stored %s", rateSize(t.BytesIn), rateSize(t.BytesOut), size(t.Storage)),
		fmt.Sprintf("clients  %s producers  %s consumers  on %s topics", count(t.Producers), count(t.Consumers), count(t.Topics)),
		"",
	}
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], c.Width, "…")
	}
	for _, b := range p.last.Brokers {
		if b.Problem != "" {
			lines = append(lines, c.Styles.Bad.Render(ansi.Truncate("! "+format.Clean(b.Problem), c.Width, "…")))
		}
	}
	rest := c
	rest.Height = max(2, c.Height-len(lines))
	return strings.Join(lines, "\n") + "\n" + p.table.View(rest)
}

func rateSize(v *float64) string {
	if v == nil {
		return format.Unknown
	}
	return format.Size(int64(*v))
}
