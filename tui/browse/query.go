package browse

import (
	"context"
	"math"
	"regexp"
	"slices"
	"time"

	"spoolctl/inspect"
	"spoolctl/wire"
)

// limits bound a part of the messages; one message always fits.
type limits struct {
	messages int
	bytes    int // of payload
	time     time.Duration
}

// whole are the limits of what a page holds.
func whole() limits { return limits{messages: 200, bytes: 4 << 20, time: math.MaxInt64} }

// left is what remains when some messages are held already.
func (l limits) left(held []inspect.Message) limits {
	l.messages -= len(held)
	for _, m := range held {
		l.bytes -= len(m.Payload)
	}
	return l
}

// full reports whether nothing more fits.
func (l limits) full() bool { return l.messages <= 0 || l.bytes <= 0 }

// before is how many entries before a place are read along: the chunks of a large message stand in several entries, and the
// message is shown at its last one.
const before = 32

// query chooses the messages that are paged through.
type query struct {
	topic   string         // in full
	pending string         // when not empty, only what this subscription would get next
	grep    *regexp.Regexp // when not nil, only messages in which it matches somewhere; see inspect.Filter
}

// place is where a part of the messages begins. The zero value is the beginning of the topic.
type place struct {
	after *wire.MessageID // behind this message
	at    wire.Position   // at this position or behind it
	since time.Time       // published at this time or later
}

// part is some messages in a row.
type part struct {
	rows []inspect.Message
	seen int64          // messages that were looked at
	last wire.MessageID // the last one of them
	edge bool           // there is nothing more in the direction that was read
}

// options are those of the whole query.
func (q query) options() inspect.MessagesOptions {
	return inspect.MessagesOptions{Selector: inspect.Selector{Globs: []string{exactly(q.topic)}}, Pending: q.pending}
}

// total is how many messages there are to look at; 0 when that is not known.
func (q query) total(ctx context.Context, s *inspect.Session) (int64, error) {
	list, err := s.Messages(ctx, q.options())
	if err != nil {
		return 0, err
	}
	return list.Total(), nil
}

// ledgers are those of the topic.
func (q query) ledgers(ctx context.Context, s *inspect.Session) ([]inspect.Ledger, error) {
	list, err := s.Ledgers(ctx, q.options().Selector)
	return list.Ledgers, err
}

// each hands the messages that o chooses to take, until it wants no more.
func (q query) each(ctx context.Context, s *inspect.Session, o inspect.MessagesOptions, take func(wire.MessageID, inspect.Message) (more bool)) error {
	list, err := s.Messages(ctx, o)
	if err != nil {
		return err
	}
	for m, err := range list.Rows {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		id, err := wire.ParseMessageID(m.ID)
		if err != nil {
			return err
		}
		if !take(id, m) {
			return nil
		}
	}
	return nil
}

// forward reads what follows a place. A part that is not at the edge says by its last message where to go on; at least one
// message is looked at.
func (q query) forward(ctx context.Context, s *inspect.Session, from place, most limits) (out part, err error) {
	ledgers, err := q.ledgers(ctx, s)
	if err != nil || len(ledgers) == 0 {
		return part{edge: true}, err
	}
	o := q.options()
	o.Since = from.since
	first := wire.MessageID{Position: from.at, Partition: -1, Batch: -1}
	if from.after != nil {
		first = *from.after
		out.last = first
	}
	if from.since.IsZero() {
		o.From = new(back(ledgers, first.Position, before))
	}
	// The messages that do not match count, too: they are not left to the session to leave out.
	chosen := inspect.Filter{Grep: q.grep}
	began, full := time.Now(), false
	err = q.each(ctx, s, o, func(id wire.MessageID, m inspect.Message) bool {
		if id.Less(first) || (from.after != nil && id == first) {
			return true
		}
		out.seen++
		if out.last.Less(id) {
			out.last = id
		}
		if chosen.Match(&m) {
			m.Payload = slices.Clone(m.Payload)
			out.rows = append(out.rows, m)
			most = most.left(out.rows[len(out.rows)-1:])
		}
		full = most.full() || time.Since(began) >= most.time
		return !full
	})
	out.edge = !full
	return out, err
}

// backward reads what stands before a message.
func (q query) backward(ctx context.Context, s *inspect.Session, to wire.MessageID) (out part, err error) {
	ledgers, err := q.ledgers(ctx, s)
	if err != nil || len(ledgers) == 0 {
		return part{edge: true}, err
	}
	start := wire.Position{Ledger: ledgers[0].ID}
	most := whole()
	for step, all := int64(16), true; all && !out.edge && !most.full(); step *= 2 {
		from := back(ledgers, to.Position, step)
		var rows []inspect.Message
		rows, all, err = q.between(ctx, s, ledgers, from, to, most)
		if err != nil {
			return out, err
		}
		most = most.left(rows)
		out.rows = append(rows, out.rows...)
		out.edge = all && from == start
		to = wire.MessageID{Position: from, Partition: -1, Batch: -1}
	}
	return out, nil
}

// between returns the last messages in [from, to) that fit into the limits, and whether that is all of them.
func (q query) between(ctx context.Context, s *inspect.Session, ledgers []inspect.Ledger, from wire.Position, to wire.MessageID, most limits) (out []inspect.Message, all bool, err error) {
	all = true
	o := q.options()
	o.From = new(back(ledgers, from, before))
	bytes := 0
	err = q.each(ctx, s, o, func(id wire.MessageID, m inspect.Message) bool {
		if !id.Less(to) {
			return false
		}
		if id.Position.Less(from) {
			return true
		}
		m.Payload = slices.Clone(m.Payload)
		out = append(out, m)
		for bytes += len(m.Payload); len(out) > 1 && (len(out) > most.messages || bytes > most.bytes); out = out[1:] {
			bytes -= len(out[0].Payload)
			out[0], all = inspect.Message{}, false // its payload may go
		}
		return true
	})
	return out, all, err
}

// back is the position n entries before p, or the first one. A p behind the last entry stands for the end.
func back(ledgers []inspect.Ledger, p wire.Position, n int64) wire.Position {
	i := len(ledgers) - 1
	for i > 0 && ledgers[i].ID > p.Ledger {
		i--
	}
	for entry := p.Entry; i >= 0; i-- {
		l := ledgers[i]
		switch {
		case l.ID > p.Ledger: // p is before the first entry
			entry = 0
		case l.ID < p.Ledger, entry > l.Entries:
			entry = l.Entries
		}
		if entry >= n {
			return wire.Position{Ledger: l.ID, Entry: entry - n}
		}
		n -= max(0, entry)
	}
	return wire.Position{Ledger: ledgers[0].ID}
}
