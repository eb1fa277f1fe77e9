package scrape

import "time"

// Rates are changes per second between two scrapes.
type Rates struct {
	// Interval between the scrapes.
	Interval time.Duration
	// Reset: the broker restarted in between, so the rates count from there.
	Reset bool
	// Topics by full name; a topic that the earlier scrape did not have is missing.
	Topics map[string]TopicRates
	// Total of the broker.
	Total TopicRates
}

// TopicRates are per second.
type TopicRates struct {
	MsgIn, BytesIn, MsgOut, BytesOut Value
	// Backlog is the change of the backlog: negative while it drains.
	Backlog       Value
	Subscriptions map[string]SubscriptionRates
}

// SubscriptionRates are per second.
type SubscriptionRates struct {
	MsgOut, BytesOut, Backlog Value
}

// RatesBetween compares two scrapes. Whatever one of them lacks is unknown.
func RatesBetween(before, after *Snapshot) Rates {
	r := Rates{Topics: map[string]TopicRates{}}
	if before == nil || after == nil {
		return r
	}
	r.Interval = after.At.Sub(before.At)
	if r.Interval <= 0 {
		return r
	}
	c := comparison{seconds: r.Interval.Seconds()}
	was, is := before.Started, after.Started
	c.restarted = was.known && is.known && was.v != is.v
	r.Reset = c.restarted
	for name, now := range after.Topics {
		if old := before.Topics[name]; old != nil {
			r.Topics[name] = c.topic(old, now)
		}
	}
	r.Total = c.total(before, after, r.Topics)
	return r
}

type comparison struct {
	seconds   float64
	restarted bool
}

func (c comparison) topic(old, now *Topic) TopicRates {
	t := TopicRates{
		MsgIn: c.counter(old.InMessages, now.InMessages), BytesIn: c.counter(old.InBytes, now.InBytes),
		MsgOut: c.counter(old.OutMessages, now.OutMessages), BytesOut: c.counter(old.OutBytes, now.OutBytes),
		Backlog:       c.gauge(old.Backlog, now.Backlog),
		Subscriptions: map[string]SubscriptionRates{},
	}
	var msgs, bytes Value
	for name, s := range now.Subscriptions {
		was := old.Subscriptions[name]
		if was == nil {
			continue
		}
		one := SubscriptionRates{
			MsgOut: c.counter(was.OutMessages, s.OutMessages), BytesOut: c.counter(was.OutBytes, s.OutBytes),
			Backlog: c.gauge(was.Backlog, s.Backlog),
		}
		t.Subscriptions[name] = one
		msgs, bytes = msgs.Add(one.MsgOut), bytes.Add(one.BytesOut)
	}
	// Pulsar writes the out totals per subscription only.
	if !t.MsgOut.known {
		t.MsgOut = msgs
	}
	if !t.BytesOut.known {
		t.BytesOut = bytes
	}
	return t
}

// total adds up the topics: a sum of counters would fall when a topic goes.
// Brokers without topic rows have totals of their own.
func (c comparison) total(before, after *Snapshot, topics map[string]TopicRates) TopicRates {
	if len(after.Topics) == 0 {
		old, now := before.Total(), after.Total()
		return c.topic(&old, &now)
	}
	var sum TopicRates
	for _, t := range topics {
		sum.MsgIn, sum.BytesIn = sum.MsgIn.Add(t.MsgIn), sum.BytesIn.Add(t.BytesIn)
		sum.MsgOut, sum.BytesOut = sum.MsgOut.Add(t.MsgOut), sum.BytesOut.Add(t.BytesOut)
		sum.Backlog = sum.Backlog.Add(t.Backlog)
	}
	return sum
}

// counter is the increase per second. A counter that went back, or whose
// broker restarted, began again at 0.
func (c comparison) counter(old, now Value) Value {
	switch {
	case !old.known || !now.known:
		return Value{}
	case c.restarted || now.v < old.v:
		return Known(now.v / c.seconds)
	}
	return Known((now.v - old.v) / c.seconds)
}

func (c comparison) gauge(old, now Value) Value {
	if !old.known || !now.known {
		return Value{}
	}
	return Known((now.v - old.v) / c.seconds)
}

// Drain is how long a backlog takes at its present change per second: unknown
// when either is; never is true when it does not shrink.
func Drain(backlog, change Value) (d time.Duration, never, known bool) {
	switch {
	case !backlog.known:
		return 0, false, false
	case backlog.v == 0:
		return 0, false, true
	case !change.known:
		return 0, false, false
	case change.v >= 0:
		return 0, true, true
	}
	seconds := backlog.v / -change.v
	if seconds > float64(1<<63-1)/float64(time.Second) {
		return 0, true, true
	}
	return time.Duration(seconds * float64(time.Second)), false, true
}
