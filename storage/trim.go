package storage

import (
	"context"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// TrimPolicy says how long ledgers stay after every cursor has passed them. The zero value keeps nothing longer. Negative
// values keep for ever.
type TrimPolicy struct {
	RetentionTime  time.Duration // a closed ledger younger than this stays
	RetentionBytes int64         // consumed ledgers stay while the topic's payload is at most this
}

// Trimmable says whether a ledger may go, and if not, why.
type Trimmable struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason"` // one of the Reason constants, or "needed by NAME"
	Cursor string `json:"cursor"` // the slowest cursor that needs it, empty when none does
}

// Reasons for which a ledger stays or goes.
const (
	ReasonConsumed  = "every subscription has passed it"
	ReasonOpen      = "it is the newest ledger"
	ReasonRetention = "retention keeps it"
)

// mark is a cursor's name and what it has passed for certain (on disk, for a durable cursor).
type mark struct {
	name string
	at   wire.Position
}

// Trimmable reports for each ledger whether it may go: the one implementation, online and offline. Ledgers go from the
// front only.
func (ls Ledgers) trimmable(marks []mark, p TrimPolicy, now time.Time) []Trimmable {
	out := make([]Trimmable, len(ls))
	left := ls.End().Bytes - ls.Start().Bytes
	blocked := false
	for i, l := range ls {
		if i == len(ls)-1 || l.State == record.LedgerOpen {
			out[i] = Trimmable{Reason: ReasonOpen}
			blocked = true
			continue
		}
		slowest, needed := mark{}, false
		for _, m := range marks {
			if passed := l.Entries == 0 || !m.at.Less(wire.Position{Ledger: l.ID, Entry: l.Entries - 1}); !passed && (!needed || m.at.Less(slowest.at)) {
				slowest, needed = m, true
			}
		}
		switch {
		case needed:
			out[i] = Trimmable{Reason: "needed by " + slowest.name, Cursor: slowest.name}
			blocked = true
		case blocked || p.keeps(l, left, now):
			out[i] = Trimmable{Reason: ReasonRetention}
			blocked = true
		default:
			out[i] = Trimmable{OK: true, Reason: ReasonConsumed}
			left -= l.Bytes
		}
	}
	return out
}

func (p TrimPolicy) keeps(l *Ledger, left int64, now time.Time) bool {
	if p.RetentionTime < 0 || p.RetentionBytes < 0 {
		return true
	}
	return (p.RetentionTime > 0 && now.Sub(l.Closed) < p.RetentionTime) || (p.RetentionBytes > 0 && left <= p.RetentionBytes)
}

// SetTrimPolicy sets the topic's retention; it takes effect with the next trim.
func (t *Topic) SetTrimPolicy(p TrimPolicy) {
	t.mu.Lock()
	t.policy = p
	t.mu.Unlock()
	t.s.flusher.trim(t)
}

// TrimResult says what a trim removed.
type TrimResult struct {
	Ledgers        []int64
	Entries, Bytes int64
}

// Trim removes the ledgers that no cursor needs and retention does not keep; durable on return.
func (t *Topic) Trim(ctx context.Context) (TrimResult, error) {
	t.mu.RLock()
	p := t.policy
	t.mu.RUnlock()
	return t.trim(ctx, p)
}

func (t *Topic) trim(ctx context.Context, p TrimPolicy) (TrimResult, error) {
	drop := t.toTrim(p)
	var res TrimResult
	if len(drop) == 0 {
		return res, nil
	}
	for _, l := range drop {
		res.Ledgers = append(res.Ledgers, l.ID)
		res.Entries += l.Entries
		res.Bytes += l.Bytes
	}
	err := t.s.control(ctx, func(b *batch) error {
		// Readers stop looking for the ledgers before they are gone.
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.closed {
			return ErrClosed
		}
		for _, l := range drop {
			if err := t.s.dropLedger(b, t.id, l); err != nil {
				return err
			}
		}
		for len(t.ledgers) > 1 && t.ledgers[0].ID <= drop[len(drop)-1].ID {
			t.ledgers = t.ledgers[1:]
		}
		return nil
	})
	if err == nil {
		t.s.stats.trimmedLedgers.Add(int64(len(drop)))
		t.s.stats.trimmedBytes.Add(res.Bytes)
		t.s.offloader.gone(drop)
	}
	return res, err
}

// toTrim returns copies of the ledgers that may go now.
func (t *Topic) toTrim(p TrimPolicy) (drop []*Ledger) {
	var marks []mark
	for _, c := range t.Cursors() {
		marks = append(marks, mark{c.Name(), c.DurableMarkDelete()})
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for i, tr := range t.ledgers.trimmable(marks, p, t.s.opt.Now()) {
		if !tr.OK {
			break
		}
		l := *t.ledgers[i]
		drop = append(drop, &l)
	}
	return drop
}

// dropLedger adds the removal of a ledger to b; called by the committer. Its entries become garbage, which reclaim.go
// removes when their epoch is on disk.
func (s *Store) dropLedger(b *batch, topic uint64, l *Ledger) error {
	return firstError(s.dropEntries(b, l), b.Delete(key.ForLedger(topic, l.ID), nil))
}
