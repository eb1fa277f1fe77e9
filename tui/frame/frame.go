package frame

import (
	"cmp"
	"slices"
	"time"

	"spoolctl/live/scrape"
)

// Frame is what is known at one moment. Pointers are nil when nobody knows.
type Frame struct {
	At            time.Time          `json:"at"`
	Brokers       []BrokerLine       `json:"brokers"`
	Total         TotalLine          `json:"total"`
	Topics        []TopicLine        `json:"topics"`
	Subscriptions []SubscriptionLine `json:"subscriptions"`
}

// States of a broker line.
const (
	StateLive  = "live"  // the last scrape succeeded
	StateStale = "stale" // it failed; what is shown is older
	StateDown  = "down"  // none has succeeded yet
)

// BrokerLine is one broker.
type BrokerLine struct {
	Broker     string     `json:"broker" col:"BROKER,name"`
	State      string     `json:"state" col:"STATE"`
	AgeSeconds *float64   `json:"ageSeconds" col:"AGE" fmt:"seconds"` // since the last good scrape
	Started    *time.Time `json:"started" col:"UPTIME" fmt:"age"`
	RateIn     *float64   `json:"rateIn" col:"IN/s" fmt:"rate"`
	RateOut    *float64   `json:"rateOut" col:"OUT/s" fmt:"rate"`
	Backlog    *int64     `json:"backlog" col:"BACKLOG"`
	Storage    *int64     `json:"storageBytes" col:"STORAGE" fmt:"bytes"`
	Topics     *int64     `json:"topics" col:"TOPICS"`
	Problem    string     `json:"problem" col:"PROBLEM"`
}

// TotalLine is the sum over the brokers that answer. Series run from old to new, one value for each scrape of the first
// broker; nil is a gap.
type TotalLine struct {
	RateIn        *float64   `json:"rateIn"`
	RateOut       *float64   `json:"rateOut"`
	BytesIn       *float64   `json:"bytesInPerSecond"`
	BytesOut      *float64   `json:"bytesOutPerSecond"`
	Backlog       *int64     `json:"backlog"`
	BacklogChange *float64   `json:"backlogChange"` // messages per second
	Storage       *int64     `json:"storageBytes"`
	Topics        *int64     `json:"topics"`
	Producers     *int64     `json:"producers"`
	Consumers     *int64     `json:"consumers"`
	SeriesIn      []*float64 `json:"seriesIn"`
	SeriesOut     []*float64 `json:"seriesOut"`
	SeriesBacklog []*float64 `json:"seriesBacklog"`
}

// TopicLine is one topic of one broker.
type TopicLine struct {
	Topic         string     `json:"topic" col:"TOPIC,name"`
	Broker        string     `json:"broker" col:"BROKER,wide"`
	Subscriptions *int64     `json:"subscriptions" col:"SUBS"`
	RateIn        *float64   `json:"rateIn" col:"IN/s" fmt:"rate"`
	RateOut       *float64   `json:"rateOut" col:"OUT/s" fmt:"rate"`
	Backlog       *int64     `json:"backlog" col:"BACKLOG"`
	BacklogChange *float64   `json:"backlogChange" col:"CHANGE/s" fmt:"rate"`
	Drain         string     `json:"drain" col:"DRAIN"` // time to an empty backlog, "never", or empty when not known
	Storage       *int64     `json:"storageBytes" col:"SIZE" fmt:"bytes"`
	Trend         []*float64 `json:"trend" col:"TREND,wide"` // backlog, old to new
}

// SubscriptionLine is one subscription of a topic.
type SubscriptionLine struct {
	Topic         string   `json:"topic" col:"TOPIC"`
	Subscription  string   `json:"subscription" col:"SUBSCRIPTION,name"`
	Broker        string   `json:"broker" col:"BROKER,wide"`
	Consumers     *int64   `json:"consumers" col:"CONSUMERS"`
	RateOut       *float64 `json:"rateOut" col:"OUT/s" fmt:"rate"`
	Backlog       *int64   `json:"backlog" col:"BACKLOG"`
	BacklogChange *float64 `json:"backlogChange" col:"CHANGE/s" fmt:"rate"`
	Drain         string   `json:"drain" col:"DRAIN"`
	Unacked       *int64   `json:"unacked" col:"UNACKED"`
	Holes         *int64   `json:"holes" col:"HOLES"`
	Blocked       *bool    `json:"blocked" col:"BLOCKED"`
}

func number(v scrape.Value) *float64 {
	if f, known := v.Get(); known {
		return &f
	}
	return nil
}

func whole(v scrape.Value) *int64 {
	if f, known := v.Get(); known {
		n := int64(f)
		return &n
	}
	return nil
}

// prefer returns a when it is known, else b: rates that were measured between scrapes before those the broker averaged.
func prefer(a, b scrape.Value) *float64 {
	if a.Known() {
		return number(a)
	}
	return number(b)
}

func drainText(backlog, change scrape.Value) string {
	d, never, known := scrape.Drain(backlog, change)
	switch {
	case !known:
		return ""
	case never:
		return "never"
	}
	return d.Round(time.Second).String()
}

// topicLines makes the lines of one broker's newest good scrape, by name. history is what was kept of it.
func topicLines(broker string, p scrape.Point, history []scrape.Point) (topics []TopicLine, subs []SubscriptionLine) {
	for name, t := range p.Snapshot.Topics {
		r := p.Rates.Topics[name]
		line := TopicLine{
			Topic: name, Broker: broker, Subscriptions: whole(t.SubscriptionCount),
			RateIn: prefer(r.MsgIn, t.RateIn), RateOut: prefer(r.MsgOut, t.RateOut),
			Backlog: whole(t.Backlog), BacklogChange: number(r.Backlog), Drain: drainText(t.Backlog, r.Backlog),
			Storage: whole(t.StorageSize), Trend: series(history, func(h scrape.Point) scrape.Value {
				if old := h.Snapshot.Topics[name]; old != nil {
					return old.Backlog
				}
				return scrape.Value{}
			}),
		}
		topics = append(topics, line)
		for subName, s := range t.Subscriptions {
			sr := r.Subscriptions[subName]
			sub := SubscriptionLine{
				Topic: name, Subscription: subName, Broker: broker, Consumers: whole(s.Consumers),
				RateOut: prefer(sr.MsgOut, s.RateOut), Backlog: whole(s.Backlog), BacklogChange: number(sr.Backlog),
				Drain: drainText(s.Backlog, sr.Backlog), Unacked: whole(s.Unacked), Holes: whole(s.Holes),
			}
			if b, known := s.Blocked.Get(); known {
				blocked := b != 0
				sub.Blocked = &blocked
			}
			subs = append(subs, sub)
		}
	}
	return topics, subs
}

// series picks one value of each point; failed scrapes are gaps.
func series(points []scrape.Point, pick func(scrape.Point) scrape.Value) []*float64 {
	out := make([]*float64, len(points))
	for i, p := range points {
		if p.Snapshot != nil {
			out[i] = number(pick(p))
		}
	}
	return out
}

func sortLines(f *Frame) {
	slices.SortFunc(f.Topics, func(a, b TopicLine) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Broker, b.Broker))
	})
	slices.SortFunc(f.Subscriptions, func(a, b SubscriptionLine) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Subscription, b.Subscription), cmp.Compare(a.Broker, b.Broker))
	})
}
