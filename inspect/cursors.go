package inspect

import (
	"context"
	"errors"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// Cursor is one line of `inspect cursors`: the durable state of a
// subscription.
type Cursor struct {
	Topic          string            `json:"topic" col:"TOPIC"`
	Subscription   string            `json:"subscription" col:"SUBSCRIPTION,name"`
	ID             uint64            `json:"cursorId" col:"ID,wide" fmt:"plain"`
	MarkDelete     string            `json:"markDelete" col:"MARK_DELETE"`
	Ranges         int               `json:"ranges" col:"RANGES" fmt:"count"`          // acknowledged ranges above mark-delete
	AckedAbove     int64             `json:"ackedAbove" col:"ACKED_ABOVE" fmt:"count"` // entries in them
	Partials       int64             `json:"partialBatches" col:"PARTIAL" fmt:"count"` // batches acknowledged in part
	BacklogEntries int64             `json:"backlogEntries" col:"BACKLOG_ENTRIES,wide" fmt:"count"`
	Backlog        int64             `json:"backlogMessages" col:"BACKLOG" fmt:"count"`
	BacklogBytes   int64             `json:"backlogBytes" col:"BACKLOG_BYTES" fmt:"bytes"`
	OldestUnacked  time.Time         `json:"oldestUnacked" col:"OLDEST" fmt:"age"` // publish time of the next message; zero without backlog
	Created        time.Time         `json:"created" col:"CREATED,wide" fmt:"time"`
	LastActive     time.Time         `json:"lastActive" col:"LAST_ACTIVE,wide" fmt:"time"`
	Properties     map[string]string `json:"properties" col:"PROPERTIES,wide"`
	Positions      map[string]int64  `json:"positionProperties" col:"POSITION_PROPERTIES,wide"`
}

// CursorTotals are sums over subscriptions.
type CursorTotals struct {
	Subscriptions  int   `json:"subscriptions" col:"SUBSCRIPTIONS" fmt:"count"`
	BacklogEntries int64 `json:"backlogEntries" col:"BACKLOG_ENTRIES" fmt:"count"`
	Backlog        int64 `json:"backlogMessages" col:"BACKLOG" fmt:"count"`
	BacklogBytes   int64 `json:"backlogBytes" col:"BACKLOG_BYTES" fmt:"bytes"`
}

func (c *CursorTotals) add(b storage.Backlog) {
	c.Subscriptions++
	c.BacklogEntries += b.Entries
	c.Backlog += b.Messages
	c.BacklogBytes += b.Bytes
}

// CursorList is the answer of Cursors.
type CursorList struct {
	Cursors []Cursor
	Totals  CursorTotals
}

// Cursors lists the subscriptions of the chosen topics.
func (s *Session) Cursors(ctx context.Context, sel Selector) (CursorList, error) {
	return again(s, func() (out CursorList, err error) {
		err = s.eachBrief(ctx, sel, func(t *storage.TopicView) error {
			oldest := s.oldestOf(ctx, t)
			for _, c := range t.Cursors {
				b := t.Backlog(c)
				at, err := oldest(c)
				if err != nil {
					return err
				}
				out.Cursors = append(out.Cursors, Cursor{
					Topic: t.Name, Subscription: c.Name, ID: c.ID, MarkDelete: c.MarkDelete.String(),
					Ranges: c.Acks.Count(), AckedAbove: c.Acks.Entries(), Partials: c.Acks.Partials(),
					BacklogEntries: b.Entries, Backlog: b.Messages, BacklogBytes: b.Bytes,
					OldestUnacked: at, Created: c.Created, LastActive: c.LastActive,
					Properties: c.Properties, Positions: c.Positions,
				})
				out.Totals.add(b)
			}
			return nil
		})
		return out, err
	})
}

// oldestOf returns a function that tells the publish time of the oldest entry
// that a cursor has not acknowledged; cursors at one place cost one read.
func (s *Session) oldestOf(ctx context.Context, t *storage.TopicView) func(*storage.CursorState) (time.Time, error) {
	known := map[wire.Position]time.Time{}
	return func(c *storage.CursorState) (time.Time, error) {
		p := c.NextUnacked(t.Ledgers, wire.Earliest())
		if at, ok := known[p]; ok {
			return at, nil
		}
		h, err := s.headerAt(ctx, t, p)
		switch {
		case err == nil:
			known[p] = fromMillis(h.PublishTime)
		case errors.Is(err, storage.ErrEntryNotFound) && !t.Ledgers.Has(p): // nothing is waiting
			known[p] = time.Time{}
		case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
			return time.Time{}, err
		case errors.As(err, new(*storage.OffloadedError)):
			known[p] = publishedByRecord(t, p)
		default:
			s.skip(t, p, err)
			known[p] = time.Time{}
		}
		return known[p], nil
	}
}
