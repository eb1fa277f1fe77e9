package frame

import "spoolctl/live/scrape"

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

func (s *total) fill(l *Totals) {
	l.RateIn, l.RateOut, l.BytesIn, l.BytesOut = number(s.in), number(s.out), number(s.bytesIn), number(s.bytesOut)
	l.Backlog, l.BacklogChange, l.Storage = whole(s.backlog), number(s.change), whole(s.storage)
	l.Topics, l.Producers, l.Consumers = whole(s.topics), whole(s.producers), whole(s.consumers)
}
