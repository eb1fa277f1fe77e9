package frame

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"spoolctl/live/scrape"
)

// Frame is what is known at one moment. Pointers are nil when nobody knows.
type Frame struct {
	Number        uint64             `json:"-"` // frames of one monitor are counted from 1
	At            time.Time          `json:"at"`
	Brokers       []BrokerLine       `json:"brokers"`
	Total         TotalLine          `json:"total"`
	Topics        []TopicLine        `json:"topics"`
	Subscriptions []SubscriptionLine `json:"subscriptions"`
}

// States of a broker line.
const (
	StateWaiting = "waiting" // no scrape has ended yet
	StateLive    = "live"    // the last scrape succeeded
	StateStale   = "stale"   // it failed, gave half an answer, or takes too long; what is shown is older
	StateDown    = "down"    // none has succeeded yet
)

// BrokerLine is one broker.
type BrokerLine struct {
	Broker     string     `json:"broker" col:"BROKER,name"`
	State      string     `json:"state" col:"STATE"`
	AgeSeconds *float64   `json:"ageSeconds" col:"AGE" fmt:"seconds"` // since the last good scrape
	Started    *time.Time `json:"started" col:"UPTIME" fmt:"age"`
	RateIn     *float64   `json:"rateIn" col:"IN/s" fmt:"rate"`
	RateOut    *float64   `json:"rateOut" col:"OUT/s" fmt:"rate"`
	Backlog    *int64     `json:"backlog" col:"BACKLOG" fmt:"count"`
	Storage    *int64     `json:"storageBytes" col:"STORAGE" fmt:"bytes"`
	Topics     *int64     `json:"topics" col:"TOPICS"`
	Problem    string     `json:"problem" col:"PROBLEM"`
}

// TotalLine is the sum over the brokers that answer, now and, one value for each interval, before.
type TotalLine struct {
	Totals
	SeriesIn      Series `json:"seriesIn"`
	SeriesOut     Series `json:"seriesOut"`
	SeriesBacklog Series `json:"seriesBacklog"`
}

// Totals are the sums of a moment.
type Totals struct {
	RateIn        *float64 `json:"rateIn" col:"IN/s" fmt:"rate"`
	RateOut       *float64 `json:"rateOut" col:"OUT/s" fmt:"rate"`
	BytesIn       *float64 `json:"bytesInPerSecond" col:"BYTES IN/s" fmt:"bytes"`
	BytesOut      *float64 `json:"bytesOutPerSecond" col:"BYTES OUT/s" fmt:"bytes"`
	Backlog       *int64   `json:"backlog" col:"BACKLOG" fmt:"count"`
	BacklogChange *float64 `json:"backlogChange" col:"CHANGE/s" fmt:"rate"` // messages per second
	Storage       *int64   `json:"storageBytes" col:"STORED" fmt:"bytes"`
	Topics        *int64   `json:"topics" col:"TOPICS" fmt:"count"`
	Producers     *int64   `json:"producers" col:"PRODUCERS" fmt:"count"`
	Consumers     *int64   `json:"consumers" col:"CONSUMERS" fmt:"count"`
}

// TopicLine is one topic of one broker.
type TopicLine struct {
	Topic         string   `json:"topic" col:"TOPIC,name"`
	Broker        string   `json:"broker" col:"BROKER,wide"`
	Subscriptions *int64   `json:"subscriptions" col:"SUBS"`
	RateIn        *float64 `json:"rateIn" col:"IN/s" fmt:"rate"`
	RateOut       *float64 `json:"rateOut" col:"OUT/s" fmt:"rate"`
	Backlog       *int64   `json:"backlog" col:"BACKLOG" fmt:"count"`
	BacklogChange *float64 `json:"backlogChange" col:"CHANGE/s" fmt:"rate"`
	Drain         *string  `json:"drain" col:"DRAIN"` // time to an empty backlog, or "never"
	Storage       *int64   `json:"storageBytes" col:"SIZE" fmt:"bytes"`
	Stale         bool     `json:"stale" col:"STALE,wide"` // the broker does not answer now
	Trend         Series   `json:"trend" col:"TREND,wide"` // backlog, one value for each scrape
}

// SubscriptionLine is one subscription of a topic.
type SubscriptionLine struct {
	Topic         string   `json:"topic" col:"TOPIC"`
	Subscription  string   `json:"subscription" col:"SUBSCRIPTION,name"`
	Broker        string   `json:"broker" col:"BROKER,wide"`
	Consumers     *int64   `json:"consumers" col:"CONSUMERS"`
	RateOut       *float64 `json:"rateOut" col:"OUT/s" fmt:"rate"`
	Backlog       *int64   `json:"backlog" col:"BACKLOG" fmt:"count"`
	BacklogChange *float64 `json:"backlogChange" col:"CHANGE/s" fmt:"rate"`
	Drain         *string  `json:"drain" col:"DRAIN"`
	Unacked       *int64   `json:"unacked" col:"UNACKED"`
	Holes         *int64   `json:"holes" col:"HOLES"`
	Blocked       *bool    `json:"blocked" col:"BLOCKED"`
	Stale         bool     `json:"stale" col:"STALE,wide"`
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

// Never is the time to drain of a backlog that does not shrink.
const Never = "never"

func drain(backlog, change scrape.Value) *string {
	d, never, known := scrape.Drain(backlog, change)
	if !known {
		return nil
	}
	text := d.Round(time.Second).String()
	if never {
		text = Never
	}
	return &text
}

// addTopics adds the lines of one broker's newest snapshot.
func (f *Frame) addTopics(url string, b *broker, stale bool) {
	space := make([]float64, 0, len(b.good.Snapshot.Topics)*b.backlog.n)
	for name, t := range b.good.Snapshot.Topics {
		r := b.good.Rates.Topics[name]
		line := TopicLine{
			Topic: name, Broker: url, Subscriptions: whole(t.SubscriptionCount),
			RateIn: prefer(r.MsgIn, t.RateIn), RateOut: prefer(r.MsgOut, t.RateOut),
			Backlog: whole(t.Backlog), BacklogChange: number(r.Backlog), Drain: drain(t.Backlog, r.Backlog),
			Storage: whole(t.StorageSize), Stale: stale,
		}
		line.Trend, space = b.backlog.appendTo(space, name)
		f.Topics = append(f.Topics, line)
		for subName, s := range t.Subscriptions {
			sr := r.Subscriptions[subName]
			sub := SubscriptionLine{
				Topic: name, Subscription: subName, Broker: url, Consumers: whole(s.Consumers),
				RateOut: prefer(sr.MsgOut, s.RateOut), Backlog: whole(s.Backlog), BacklogChange: number(sr.Backlog),
				Drain: drain(s.Backlog, sr.Backlog), Unacked: whole(s.Unacked), Holes: whole(s.Holes), Stale: stale,
			}
			if b, known := s.Blocked.Get(); known {
				blocked := b != 0
				sub.Blocked = &blocked
			}
			f.Subscriptions = append(f.Subscriptions, sub)
		}
	}
}

func sortLines(f *Frame) {
	slices.SortFunc(f.Topics, func(a, b TopicLine) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return strings.Compare(a.Broker, b.Broker)
	})
	slices.SortFunc(f.Subscriptions, func(a, b SubscriptionLine) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(a.Subscription, b.Subscription), strings.Compare(a.Broker, b.Broker))
	})
}
