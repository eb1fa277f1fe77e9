package frame

import (
	"context"
	"sync"
	"time"

	"spoolctl/live/scrape"
)

// Source is a broker's metrics page; *scrape.Scraper is one.
type Source interface {
	URL() string
	Scrape(ctx context.Context) (*scrape.Snapshot, error)
}

// trendPoints is how many scrapes a sparkline shows, and so how many are kept.
const trendPoints = 60

// Monitor keeps what was scraped from some brokers. It is not safe for concurrent use; Scrape is.
type Monitor struct {
	sources []Source
	history []*scrape.History
	now     func() time.Time
}

// NewMonitor watches the sources. now is the clock; nil is time.Now.
func NewMonitor(sources []Source, now func() time.Time) *Monitor {
	if now == nil {
		now = time.Now
	}
	m := &Monitor{sources: sources, now: now}
	for range sources {
		m.history = append(m.history, scrape.NewHistory(trendPoints))
	}
	return m
}

// Result is one attempt to scrape one source.
type Result struct {
	Source   int
	At       time.Time
	Snapshot *scrape.Snapshot // nil when it failed
	Err      error
}

// Scrape tries one source. It changes nothing; Record takes the result.
func (m *Monitor) Scrape(ctx context.Context, source int) Result {
	at := m.now()
	s, err := m.sources[source].Scrape(ctx)
	return Result{source, at, s, err}
}

// Record keeps a result.
func (m *Monitor) Record(r Result) { m.history[r.Source].Add(r.At, r.Snapshot, r.Err) }

// Collect scrapes all sources at once and records the results.
func (m *Monitor) Collect(ctx context.Context) {
	results := make([]Result, len(m.sources))
	var wg sync.WaitGroup
	for i := range m.sources {
		wg.Go(func() { results[i] = m.Scrape(ctx, i) })
	}
	wg.Wait()
	for _, r := range results {
		m.Record(r)
	}
}

// Frame shows what is known now.
func (m *Monitor) Frame() Frame {
	f := Frame{At: m.now().UTC(), Brokers: []BrokerLine{}, Topics: []TopicLine{}, Subscriptions: []SubscriptionLine{}}
	var sum total
	for i, src := range m.sources {
		points := m.history[i].Points()
		line := BrokerLine{Broker: src.URL(), State: StateDown}
		good := lastGood(points)
		if good != nil {
			topics, subs := topicLines(src.URL(), *good, points)
			f.Topics, f.Subscriptions = append(f.Topics, topics...), append(f.Subscriptions, subs...)
			age := m.now().Sub(good.At).Seconds()
			line.State, line.AgeSeconds = StateStale, &age
			fillBroker(&line, good)
		}
		if n := len(points); n > 0 {
			if err := points[n-1].Err; err != nil {
				line.Problem = err.Error()
			}
			if good == &points[n-1] && good.Err == nil {
				line.State = StateLive
			}
		}
		// A broker that does not answer adds nothing: old numbers are no present sum.
		if line.State == StateLive {
			sum.add(good)
		}
		f.Brokers = append(f.Brokers, line)
	}
	sum.fill(&f.Total)
	f.Total.SeriesIn = m.sums(func(p scrape.Point) scrape.Value { return p.Rates.Total.MsgIn })
	f.Total.SeriesOut = m.sums(func(p scrape.Point) scrape.Value { return p.Rates.Total.MsgOut })
	f.Total.SeriesBacklog = m.sums(func(p scrape.Point) scrape.Value { return p.Snapshot.Total().Backlog })
	sortLines(&f)
	return f
}

func lastGood(points []scrape.Point) *scrape.Point {
	for i := len(points) - 1; i >= 0; i-- {
		if points[i].Snapshot != nil {
			return &points[i]
		}
	}
	return nil
}

func fillBroker(line *BrokerLine, p *scrape.Point) {
	t := p.Snapshot.Total()
	line.RateIn, line.RateOut = prefer(p.Rates.Total.MsgIn, t.RateIn), prefer(p.Rates.Total.MsgOut, t.RateOut)
	line.Backlog, line.Storage, line.Topics = whole(t.Backlog), whole(t.StorageSize), whole(t.Topics)
	if s, known := p.Snapshot.Started.Get(); known {
		at := time.UnixMilli(int64(s * 1000)).UTC()
		line.Started = &at
	}
}

// sums adds up one value of all sources, scrape by scrape from the newest back; a gap of one is a gap of the sum.
func (m *Monitor) sums(pick func(scrape.Point) scrape.Value) []*float64 {
	longest := 0
	for _, h := range m.history {
		longest = max(longest, len(h.Points()))
	}
	out := make([]*float64, longest)
	for i := range out {
		var sum scrape.Value
		for _, h := range m.history {
			points := h.Points()
			at := len(points) - longest + i
			if at < 0 || points[at].Snapshot == nil {
				continue
			}
			sum = sum.Add(pick(points[at]))
		}
		out[i] = number(sum)
	}
	return out
}

// total adds up brokers.
type total struct {
	in, out, bytesIn, bytesOut, backlog, change, storage, topics, producers, consumers scrape.Value
}

func (s *total) add(p *scrape.Point) {
	t, r := p.Snapshot.Total(), p.Rates.Total
	either := func(a, b scrape.Value) scrape.Value {
		if a.Known() {
			return a
		}
		return b
	}
	s.in, s.out = s.in.Add(either(r.MsgIn, t.RateIn)), s.out.Add(either(r.MsgOut, t.RateOut))
	s.bytesIn, s.bytesOut = s.bytesIn.Add(either(r.BytesIn, t.ThroughputIn)), s.bytesOut.Add(either(r.BytesOut, t.ThroughputOut))
	s.backlog, s.change, s.storage = s.backlog.Add(t.Backlog), s.change.Add(r.Backlog), s.storage.Add(t.StorageSize)
	s.topics, s.producers, s.consumers = s.topics.Add(t.Topics), s.producers.Add(t.Producers), s.consumers.Add(t.Consumers)
}

func (s *total) fill(l *TotalLine) {
	l.RateIn, l.RateOut, l.BytesIn, l.BytesOut = number(s.in), number(s.out), number(s.bytesIn), number(s.bytesOut)
	l.Backlog, l.BacklogChange, l.Storage = whole(s.backlog), number(s.change), whole(s.storage)
	l.Topics, l.Producers, l.Consumers = whole(s.topics), whole(s.producers), whole(s.consumers)
}
