package inspect

import (
	"context"
	"time"

	"spoolctl/storage"
)

// Topic is one line of `inspect topics`.
type Topic struct {
	Name          string            `json:"name" col:"TOPIC,name"`
	ID            uint64            `json:"topicId" col:"ID,wide" fmt:"plain"`
	Ledgers       int               `json:"ledgers" col:"LEDGERS" fmt:"count"`
	Entries       int64             `json:"entries" col:"ENTRIES" fmt:"count"`
	Messages      int64             `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes         int64             `json:"bytes" col:"BYTES" fmt:"bytes"`
	AverageSize   *float64          `json:"averageMessageBytes" col:"AVERAGE,wide"` // payload bytes a message; nil when there is none
	AddedMessages int64             `json:"addedMessages" col:"EVER,wide" fmt:"count"`
	Subscriptions int               `json:"subscriptions" col:"SUBS" fmt:"count"`
	Backlog       *int64            `json:"largestBacklog" col:"BACKLOG" fmt:"count"` // messages; nil without subscriptions
	FirstPublish  time.Time         `json:"firstPublish" col:"FIRST,wide" fmt:"time"`
	LastPublish   time.Time         `json:"lastPublish" col:"LAST" fmt:"time"`
	Created       time.Time         `json:"created" col:"CREATED,wide" fmt:"time"`
	Terminated    bool              `json:"terminated" col:"TERMINATED,wide"`
	Policies      []string          `json:"policies" col:"POLICIES,wide"` // names of the topic's own policies
	Properties    map[string]string `json:"properties" col:"PROPERTIES,wide"`
	Producers     []string          `json:"producers" col:"PRODUCERS,wide"` // seen in the entries, with Producers asked for
}

// Totals are sums over topics.
type Totals struct {
	Topics        int   `json:"topics" col:"TOPICS" fmt:"count"`
	Ledgers       int   `json:"ledgers" col:"LEDGERS" fmt:"count"`
	Entries       int64 `json:"entries" col:"ENTRIES" fmt:"count"`
	Messages      int64 `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes         int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
	Subscriptions int   `json:"subscriptions" col:"SUBSCRIPTIONS" fmt:"count"`
	Backlog       int64 `json:"backlog" col:"BACKLOG" fmt:"count"` // messages, all subscriptions together
	BacklogBytes  int64 `json:"backlogBytes" col:"BACKLOG_BYTES" fmt:"bytes"`
}

func (x *Totals) add(t *storage.TopicView) {
	st := t.Stats()
	x.Topics++
	x.Ledgers += st.Ledgers
	x.Entries += st.Entries
	x.Messages += st.Messages
	x.Bytes += st.Bytes
	x.Subscriptions += len(t.Cursors)
	for _, c := range t.Cursors {
		b := t.Backlog(c)
		x.Backlog += b.Messages
		x.BacklogBytes += b.Bytes
	}
}

// TopicsOptions are for Topics.
type TopicsOptions struct {
	Selector
	Producers bool // read all entries for the names of their producers
}

// TopicList is the answer of Topics.
type TopicList struct {
	Topics []Topic
	Totals Totals
}

// Topics lists the topics with what they hold.
func (s *Session) Topics(ctx context.Context, o TopicsOptions) (TopicList, error) {
	return again(s, func() (out TopicList, err error) {
		err = s.eachBrief(ctx, o.Selector, func(t *storage.TopicView) error {
			row := s.topicRow(t)
			if o.Producers {
				if row.Producers, err = s.producers(ctx, t); err != nil {
					return err
				}
			}
			out.Topics = append(out.Topics, row)
			out.Totals.add(t)
			return nil
		})
		return out, err
	})
}

func (s *Session) topicRow(t *storage.TopicView) Topic {
	st := t.Stats()
	row := Topic{
		Name: t.Name, ID: t.ID, Ledgers: st.Ledgers, Entries: st.Entries, Messages: st.Messages, Bytes: st.Bytes,
		AddedMessages: st.AddedMessages, Subscriptions: len(t.Cursors), LastPublish: fromMillis(st.LastPublish),
		Created: t.Created, Terminated: t.Terminated, Properties: t.Properties,
	}
	if st.Messages > 0 {
		row.AverageSize = new(float64(st.Bytes) / float64(st.Messages))
	}
	for _, l := range t.Ledgers {
		if l.FirstPublish > 0 && (row.FirstPublish.IsZero() || fromMillis(l.FirstPublish).Before(row.FirstPublish)) {
			row.FirstPublish = fromMillis(l.FirstPublish)
		}
	}
	for _, c := range t.Cursors {
		if b := t.Backlog(c).Messages; row.Backlog == nil || b > *row.Backlog {
			row.Backlog = &b
		}
	}
	var policies map[string]any
	if found, err := s.spool.Resource(storage.KindTopicPolicies, t.Name, &policies); err == nil && found {
		row.Policies = sortedKeys(policies)
	}
	return row
}
