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

// Options are what a Monitor watches.
type Options struct {
	Sources  []Source
	Interval time.Duration    // between scrapes; a broker that was not heard of for two of them is stale. 0: only failures make it so
	Now      func() time.Time // default: time.Now
}

// Monitor keeps what was scraped from some brokers. It may be used by several goroutines. What it keeps grows with the
// number of topics, not with time.
type Monitor struct {
	o Options

	mu      sync.Mutex // never held while something is scraped
	brokers []broker
	totals  ring
	heard   bool   // a scrape was recorded
	frames  uint64 // made so far
}

// broker is what is kept of one source.
type broker struct {
	tried   bool
	err     error         // of the last attempt
	good    *scrape.Point // the last attempt that gave a snapshot, nil before the first
	backlog ring          // by topic
}

// The rows of Monitor.totals.
const (
	totalIn      = "in"
	totalOut     = "out"
	totalBacklog = "backlog"
)

// NewMonitor watches the sources.
func NewMonitor(o Options) *Monitor {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Monitor{o: o, brokers: make([]broker, len(o.Sources))}
}

// Sources is the number of brokers that are watched.
func (m *Monitor) Sources() int { return len(m.o.Sources) }

// Scrape tries one source and records the result: a failed attempt is a gap in the trends. An attempt that ctx ended is
// none.
func (m *Monitor) Scrape(ctx context.Context, source int) {
	at := m.o.Now()
	s, err := m.o.Sources[source].Scrape(ctx)
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = true
	m.brokers[source].record(at, s, err)
}

// record keeps the result of one attempt; s is nil when it failed.
func (b *broker) record(at time.Time, s *scrape.Snapshot, err error) {
	b.tried, b.err = true, err
	b.backlog.advance()
	if s == nil {
		return
	}
	p := &scrape.Point{At: at, Snapshot: s, Err: err}
	if b.good != nil {
		p.Rates = scrape.RatesBetween(b.good.Snapshot, s)
	}
	b.good = p
	for name, t := range s.Topics {
		b.backlog.set(name, t.Backlog)
	}
	if !s.Partial {
		b.backlog.keep(func(name string) bool { return s.Topics[name] != nil })
	}
}

// Sample adds a point to the trends of the totals. It is to be called every interval.
func (m *Monitor) Sample() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.heard {
		return
	}
	var sum total
	for i := range m.brokers {
		if m.state(i) == StateLive {
			sum.add(m.brokers[i].good)
		}
	}
	m.totals.advance()
	m.totals.set(totalIn, sum.in)
	m.totals.set(totalOut, sum.out)
	m.totals.set(totalBacklog, sum.backlog)
}

// Collect scrapes all sources at once and takes a sample.
func (m *Monitor) Collect(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range m.o.Sources {
		wg.Go(func() { m.Scrape(ctx, i) })
	}
	wg.Wait()
	m.Sample()
}

// grace is added to two intervals before a broker that does not answer counts as stale: a scrape takes time too.
const grace = 2 * time.Second

func (m *Monitor) state(i int) string {
	switch b := &m.brokers[i]; {
	case b.good == nil && !b.tried:
		return StateWaiting
	case b.good == nil:
		return StateDown
	case b.err != nil, m.o.Interval > 0 && m.o.Now().Sub(b.good.At) > 2*m.o.Interval+grace:
		return StateStale
	}
	return StateLive
}

// Frame shows what is known now. The frame is the caller's and does not change.
func (m *Monitor) Frame() Frame {
	m.mu.Lock()
	f := m.frame()
	m.mu.Unlock()
	sortLines(&f)
	return f
}

func (m *Monitor) frame() Frame {
	m.frames++
	f := Frame{Number: m.frames, At: m.o.Now().UTC(), Brokers: []BrokerLine{}, Topics: []TopicLine{}, Subscriptions: []SubscriptionLine{}}
	var sum total
	for i, src := range m.o.Sources {
		b := &m.brokers[i]
		line := BrokerLine{Broker: src.URL(), State: m.state(i)}
		if b.err != nil {
			line.Problem = b.err.Error()
		}
		if b.good != nil {
			age := f.At.Sub(b.good.At).Seconds()
			line.AgeSeconds = &age
			fillBroker(&line, b.good)
			f.addTopics(line.Broker, b, line.State != StateLive)
		}
		// A broker that does not answer adds nothing: old numbers are no present sum.
		if line.State == StateLive {
			sum.add(b.good)
		}
		f.Brokers = append(f.Brokers, line)
	}
	sum.fill(&f.Total.Totals)
	f.Total.SeriesIn, f.Total.SeriesOut, f.Total.SeriesBacklog = m.totals.series(totalIn), m.totals.series(totalOut), m.totals.series(totalBacklog)
	return f
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
