package inspect

import (
	"context"
	"time"

	"spoolctl/storage"
)

// Ledger is one line of `inspect ledgers`.
type Ledger struct {
	Topic        string    `json:"topic" col:"TOPIC,wide"`
	ID           int64     `json:"ledgerId" col:"LEDGER,name" fmt:"plain"`
	State        string    `json:"state" col:"STATE"`
	FirstEntry   *int64    `json:"firstEntry" col:"FIRST,wide"` // nil: empty
	LastEntry    *int64    `json:"lastEntry" col:"LAST,wide"`
	Entries      int64     `json:"entries" col:"ENTRIES" fmt:"count"`
	Lost         int64     `json:"lost" col:"LOST,wide" fmt:"count"` // of the entries, those that a salvage found missing
	Messages     int64     `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes        int64     `json:"bytes" col:"BYTES" fmt:"bytes"`
	Created      time.Time `json:"created" col:"CREATED" fmt:"time"`
	Closed       time.Time `json:"closed" col:"CLOSED,wide" fmt:"time"`
	FirstPublish time.Time `json:"firstPublish" col:"FIRST_PUBLISH,wide" fmt:"time"`
	LastPublish  time.Time `json:"lastPublish" col:"LAST_PUBLISH" fmt:"time"`
	Extents      int       `json:"extents" col:"EXTENTS,wide" fmt:"count"` // runs on disk
	Where        string    `json:"where" col:"WHERE"`                      // spool, object (storage), or both
	Object       *string   `json:"object" col:"OBJECT,wide"`               // its name; nil: it was not offloaded
	NeededBy     *string   `json:"neededBy" col:"NEEDED_BY"`               // the slowest subscription that has not passed it
	Trimmable    bool      `json:"trimmable" col:"TRIMMABLE"`
	Reason       string    `json:"reason" col:"REASON"` // why it may go or stays
}

// LedgerTotals are sums over ledgers.
type LedgerTotals struct {
	Ledgers        int   `json:"ledgers" col:"LEDGERS" fmt:"count"`
	Entries        int64 `json:"entries" col:"ENTRIES" fmt:"count"`
	Lost           int64 `json:"lost" col:"LOST" fmt:"count"`
	Messages       int64 `json:"messages" col:"MESSAGES" fmt:"count"`
	Bytes          int64 `json:"bytes" col:"BYTES" fmt:"bytes"`
	TrimmableBytes int64 `json:"trimmableBytes" col:"TRIMMABLE_BYTES" fmt:"bytes"`
}

// LedgerList is the answer of Ledgers.
type LedgerList struct {
	Ledgers []Ledger
	Totals  LedgerTotals
}

// Ledgers lists the ledgers of the chosen topics, and says of each who still
// needs it and whether the broker would remove it now.
func (s *Session) Ledgers(ctx context.Context, sel Selector) (LedgerList, error) {
	return again(s, func() (out LedgerList, err error) {
		err = s.eachTopic(ctx, sel, func(t *storage.TopicView) error {
			trim := t.Trimmable(s.retention(t), s.o.Now())
			for i, l := range t.Ledgers {
				row := Ledger{
					Topic: t.Name, ID: l.ID, State: l.State.String(), Entries: l.Entries, Messages: l.Messages, Bytes: l.Bytes,
					Created: l.Created, Closed: l.Closed, FirstPublish: fromMillis(l.FirstPublish), LastPublish: fromMillis(l.LastPublish),
					Extents: len(l.Extents), Where: whereIs(l), Trimmable: trim[i].OK, Reason: trim[i].Reason,
				}
				for _, r := range l.Lost {
					row.Lost += r.Len()
				}
				if l.Entries > 0 {
					row.FirstEntry, row.LastEntry = new(int64(0)), new(l.Entries-1)
				}
				if l.Object != "" {
					row.Object = &l.Object
				}
				if trim[i].Cursor != "" {
					row.NeededBy = &trim[i].Cursor
				}
				out.Ledgers = append(out.Ledgers, row)
				out.Totals.Ledgers++
				out.Totals.Entries += l.Entries
				out.Totals.Lost += row.Lost
				out.Totals.Messages += l.Messages
				out.Totals.Bytes += l.Bytes
				if trim[i].OK {
					out.Totals.TrimmableBytes += l.Bytes
				}
			}
			return nil
		})
		return out, err
	})
}
