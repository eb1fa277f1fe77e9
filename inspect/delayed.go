package inspect

import (
	"context"
	"iter"
	"time"

	"spoolctl/storage"
)

// Delayed is one line of `inspect delayed`: an entry that a subscription gets
// later.
type Delayed struct {
	Topic        string    `json:"topic" col:"TOPIC"`
	Subscription string    `json:"subscription" col:"SUBSCRIPTION"`
	Position     string    `json:"position" col:"POSITION,name"`
	DeliverAt    time.Time `json:"deliverAt" col:"DELIVER_AT" fmt:"time"`
	PublishTime  time.Time `json:"publishTime" col:"PUBLISHED,wide" fmt:"time"`
	Producer     string    `json:"producer" col:"PRODUCER,wide"`
	Key          *string   `json:"key" col:"KEY"`
	Messages     int32     `json:"messages" col:"MESSAGES" fmt:"count"`
	Size         int       `json:"size" col:"SIZE" fmt:"bytes"`
}

// DelayedTotals are counted while the rows are produced.
type DelayedTotals struct {
	Entries  int64     `json:"entries" col:"ENTRIES" fmt:"count"`
	Messages int64     `json:"messages" col:"MESSAGES" fmt:"count"`
	Next     time.Time `json:"next" col:"NEXT" fmt:"time"` // the earliest delivery; zero without entries
	Last     time.Time `json:"last" col:"LAST" fmt:"time"`
}

// DelayedOptions are for Session.Delayed.
type DelayedOptions struct {
	Selector
	Subscription string // only this one
	Past         bool   // with those whose time has come
}

// DelayedList is the answer of Delayed.
type DelayedList struct {
	Rows   iter.Seq2[Delayed, error]
	Totals *DelayedTotals // complete when Rows has ended
}

// Delayed lists what the subscriptions of the chosen topics have not
// acknowledged and get only later. Nothing on disk lists it: the backlogs are
// read.
func (s *Session) Delayed(ctx context.Context, o DelayedOptions) (*DelayedList, error) {
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return nil, err
	}
	out := &DelayedList{Totals: &DelayedTotals{}}
	now := s.o.Now()
	out.Rows = func(yield func(Delayed, error) bool) {
		for _, t := range views {
			for _, c := range t.Cursors {
				if o.Subscription != "" && c.Name != o.Subscription {
					continue
				}
				more := true
				err := s.walkPending(ctx, t, c, t.Ledgers.First(), func(e storage.PendingEntry) bool {
					if row, ok := delayedRow(t, c, e, now, o.Past); ok {
						out.Totals.add(row)
						more = yield(row, nil)
					}
					return more
				}, func() bool { return true })
				if err != nil {
					yield(Delayed{}, err)
					return
				}
				if !more {
					return
				}
			}
		}
	}
	return out, nil
}

func delayedRow(t *storage.TopicView, c *storage.CursorState, e storage.PendingEntry, now time.Time, past bool) (Delayed, bool) {
	d := decodeEntry(e.Entry)
	at := fromMillis(d.meta.DeliverAt)
	if d.err != nil || at.IsZero() || (!past && !at.After(now)) {
		return Delayed{}, false
	}
	return Delayed{
		Topic: t.Name, Subscription: c.Name, Position: e.Position.String(), DeliverAt: at, PublishTime: fromMillis(e.Header.PublishTime),
		Producer: string(d.meta.ProducerName), Key: keyOf(&d.meta), Messages: e.Header.Messages, Size: len(e.Data),
	}, true
}

func (x *DelayedTotals) add(d Delayed) {
	x.Entries++
	x.Messages += int64(d.Messages)
	if x.Next.IsZero() || d.DeliverAt.Before(x.Next) {
		x.Next = d.DeliverAt
	}
	if d.DeliverAt.After(x.Last) {
		x.Last = d.DeliverAt
	}
}
