package inspect

import (
	"context"
	"fmt"
	"slices"

	"spoolctl/storage"
)

// TopicShape is what two sources must agree on about a topic. A nil pointer or
// an empty text is not known by the source, and not compared.
type TopicShape struct {
	Topic      string
	Entries    *int64
	Messages   *int64
	Bytes      *int64
	Last       string // position of the last entry
	Terminated *bool
	Ledgers    map[int64]LedgerShape
	Cursors    map[string]CursorShape
}

// LedgerShape is what is compared of a ledger.
type LedgerShape struct{ Entries, Bytes *int64 }

// CursorShape is what is compared of a subscription.
type CursorShape struct {
	MarkDelete string
	Ranges     *int64 // acknowledged ranges above it
	Backlog    *int64 // messages
}

// Difference is one line of `inspect diff`.
type Difference struct {
	Topic string `json:"topic" col:"TOPIC"`
	What  string `json:"what" col:"WHAT"`   // topic, ledger or subscription
	Name  string `json:"name" col:"NAME"`   // of the ledger or subscription
	Field string `json:"field" col:"FIELD"` // existence, or what differs
	A     string `json:"a" col:"A"`
	B     string `json:"b" col:"B"`
}

// DiffTotals are sums over what was compared.
type DiffTotals struct {
	Topics        int `json:"topics" col:"TOPICS" fmt:"count"` // on either side
	Ledgers       int `json:"ledgers" col:"LEDGERS" fmt:"count"`
	Subscriptions int `json:"subscriptions" col:"SUBSCRIPTIONS" fmt:"count"`
	Differences   int `json:"differences" col:"DIFFERENCES" fmt:"count"`
}

// Shapes reads the shapes of the chosen topics.
func (s *Session) Shapes(ctx context.Context, sel Selector) ([]TopicShape, error) {
	return again(s, func() (out []TopicShape, err error) {
		err = s.eachTopic(ctx, sel, func(t *storage.TopicView) error {
			st := t.Stats()
			shape := TopicShape{
				Topic: t.Name, Entries: &st.Entries, Messages: &st.Messages, Bytes: &st.Bytes, Terminated: &t.Terminated,
				Last: t.Ledgers.LastConfirmed().String(), Ledgers: map[int64]LedgerShape{}, Cursors: map[string]CursorShape{},
			}
			for _, l := range t.Ledgers {
				shape.Ledgers[l.ID] = LedgerShape{&l.Entries, &l.Bytes}
			}
			for _, c := range t.Cursors {
				b := t.Backlog(c)
				shape.Cursors[c.Name] = CursorShape{MarkDelete: c.MarkDelete.String(), Ranges: new(int64(c.Acks.Count())), Backlog: &b.Messages}
			}
			out = append(out, shape)
			return nil
		})
		return out, err
	})
}

// Diff compares the shapes of two sources.
func Diff(a, b []TopicShape) (out []Difference, totals DiffTotals) {
	d := &differ{}
	left, right := byTopic(a), byTopic(b)
	for _, name := range union(left, right) {
		totals.Topics++
		x, inA := left[name]
		y, inB := right[name]
		if d.topic, d.what, d.name = name, "topic", ""; !d.both(inA, inB) {
			continue
		}
		d.number("entries", x.Entries, y.Entries)
		d.number("messages", x.Messages, y.Messages)
		d.number("bytes", x.Bytes, y.Bytes)
		d.text("last entry", x.Last, y.Last)
		if x.Terminated != nil && y.Terminated != nil {
			d.text("terminated", fmt.Sprint(*x.Terminated), fmt.Sprint(*y.Terminated))
		}
		for _, id := range union(x.Ledgers, y.Ledgers) {
			totals.Ledgers++
			l, inA := x.Ledgers[id]
			m, inB := y.Ledgers[id]
			if d.what, d.name = "ledger", fmt.Sprint(id); d.both(inA, inB) {
				d.number("entries", l.Entries, m.Entries)
				d.number("bytes", l.Bytes, m.Bytes)
			}
		}
		for _, sub := range union(x.Cursors, y.Cursors) {
			totals.Subscriptions++
			c, inA := x.Cursors[sub]
			e, inB := y.Cursors[sub]
			if d.what, d.name = "subscription", sub; d.both(inA, inB) {
				d.text("mark-delete", c.MarkDelete, e.MarkDelete)
				d.number("ranges", c.Ranges, e.Ranges)
				d.number("backlog", c.Backlog, e.Backlog)
			}
		}
	}
	totals.Differences = len(d.out)
	return d.out, totals
}

func byTopic(list []TopicShape) map[string]TopicShape {
	out := make(map[string]TopicShape, len(list))
	for _, t := range list {
		out[t.Topic] = t
	}
	return out
}

// union is the keys of both maps, sorted.
func union[K int64 | string, V any](a, b map[K]V) []K {
	return slices.Compact(slices.Sorted(func(yield func(K) bool) {
		for _, m := range []map[K]V{a, b} {
			for k := range m {
				if !yield(k) {
					return
				}
			}
		}
	}))
}

// differ collects differences of one thing after the other.
type differ struct {
	topic, what, name string
	out               []Difference
}

func (d *differ) add(field, a, b string) {
	d.out = append(d.out, Difference{d.topic, d.what, d.name, field, a, b})
}

// both reports whether the thing is on both sides, and notes when it is not.
func (d *differ) both(a, b bool) bool {
	there := func(yes bool) string {
		if yes {
			return "there"
		}
		return "missing"
	}
	if a != b {
		d.add("existence", there(a), there(b))
	}
	return a && b
}

func (d *differ) number(field string, a, b *int64) {
	if a != nil && b != nil && *a != *b {
		d.add(field, fmt.Sprint(*a), fmt.Sprint(*b))
	}
}

func (d *differ) text(field, a, b string) {
	if a != "" && b != "" && a != b {
		d.add(field, a, b)
	}
}
