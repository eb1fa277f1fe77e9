package inspect

import (
	"cmp"
	"context"
	"slices"

	"spoolctl/storage"
	"spoolctl/wire"
)

// The levels of Session.Usage.
const (
	ByTenant       = "tenant"
	ByNamespace    = "namespace"
	BySubscription = "subscription"
)

// UsageLevels lists the levels of Usage; ByTopic is one.
func UsageLevels() []string { return []string{ByTenant, ByNamespace, ByTopic, BySubscription} }

// Usage is one line of `inspect usage`.
type Usage struct {
	Name            string `json:"name" col:"NAME,name"`
	Subscription    string `json:"subscription" col:"SUBSCRIPTION"` // on the subscription level only
	Topics          int    `json:"topics" col:"TOPICS" fmt:"count"`
	Entries         int64  `json:"entries" col:"ENTRIES,wide" fmt:"count"`
	Messages        int64  `json:"messages" col:"MESSAGES" fmt:"count"`
	LogicalBytes    int64  `json:"logicalBytes" col:"LOGICAL" fmt:"bytes"`   // as stored by producers; of a subscription: what it keeps from being trimmed
	PhysicalBytes   *int64 `json:"physicalBytes" col:"PHYSICAL" fmt:"bytes"` // share of the tables; nil of a subscription
	LogEntries      *int64 `json:"entriesInLog" col:"IN_LOG" fmt:"count"`    // of the entries, those that only the log holds: not in physicalBytes
	BacklogMessages int64  `json:"backlogMessages" col:"BACKLOG" fmt:"count"`
	BacklogBytes    int64  `json:"backlogBytes" col:"BACKLOG_BYTES" fmt:"bytes"`
}

// UsageList is the answer of Usage.
type UsageList struct {
	Rows   []Usage
	Totals Usage
}

// Usage accounts the spool's space to tenants, namespaces, topics or
// subscriptions.
func (s *Session) Usage(ctx context.Context, by string, sel Selector) (UsageList, error) {
	return again(s, func() (out UsageList, err error) {
		chosen, err := s.choose(ctx, sel)
		if err != nil {
			return out, err
		}
		take := make(map[uint64]bool, len(chosen))
		for _, h := range chosen {
			take[h.ID] = true
		}
		a := &accounts{s: s, by: by, rows: map[[2]string]*usageRow{}}
		u, err := s.readDiskUse(ctx, func(t *storage.TopicView, share topicShare) {
			if take[t.ID] {
				a.add(t, share)
			}
		})
		if err != nil {
			return out, s.degrade(ctx, err)
		}
		out.Totals.Name, out.Totals.Topics = "all", len(chosen)
		for _, r := range a.rows {
			for _, share := range r.shares {
				sum(&r.PhysicalBytes, u.physical(share))
			}
			out.Rows = append(out.Rows, r.Usage)
			out.Totals.sum(r.Usage)
		}
		slices.SortFunc(out.Rows, func(a, b Usage) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subscription, b.Subscription))
		})
		return out, nil
	})
}

type usageRow struct {
	Usage
	shares []topicShare
}

type accounts struct {
	s    *Session
	by   string
	rows map[[2]string]*usageRow
}

func (a *accounts) row(name, sub string) *usageRow {
	k := [2]string{name, sub}
	if a.rows[k] == nil {
		a.rows[k] = &usageRow{Usage: Usage{Name: name, Subscription: sub}}
	}
	return a.rows[k]
}

func (a *accounts) add(t *storage.TopicView, share topicShare) {
	if a.by == BySubscription {
		for _, c := range t.Cursors {
			b := t.Backlog(c)
			r := a.row(t.Name, c.Name)
			r.Topics, r.Entries, r.Messages = 1, b.Entries, b.Messages
			r.LogicalBytes = a.s.freed(t, c)
			r.BacklogMessages, r.BacklogBytes = b.Messages, b.Bytes
		}
		return
	}
	r := a.row(a.name(t.Name), "")
	st := t.Stats()
	r.Topics++
	r.Entries += st.Entries
	r.Messages += st.Messages
	r.LogicalBytes += st.Bytes
	sum(&r.LogEntries, share.inLog)
	r.shares = append(r.shares, share)
	for _, c := range t.Cursors {
		b := t.Backlog(c)
		r.BacklogMessages += b.Messages
		r.BacklogBytes += b.Bytes
	}
}

func (a *accounts) name(topic string) string {
	n, err := wire.ParseTopic(topic)
	switch {
	case err != nil || a.by == ByTopic:
		return topic
	case a.by == ByTenant:
		return n.NamespaceName().Tenant
	}
	return n.NamespaceName().String()
}

func (u *Usage) sum(o Usage) {
	u.Entries += o.Entries
	u.Messages += o.Messages
	u.LogicalBytes += o.LogicalBytes
	if o.PhysicalBytes != nil {
		sum(&u.PhysicalBytes, *o.PhysicalBytes)
		sum(&u.LogEntries, *o.LogEntries)
	}
	u.BacklogMessages += o.BacklogMessages
	u.BacklogBytes += o.BacklogBytes
}
