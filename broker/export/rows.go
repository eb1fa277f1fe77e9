package export

import (
	"time"

	"spoolctl/broker/meter"
	"spoolctl/broker/topic"
	"spoolctl/storage"
)

// topicRow is what a scrape takes of one topic.
type topicRow struct {
	namespace string
	labels    string
	subs      []subRow

	persistent                                 bool
	producers, consumers                       int
	rateIn, bytesIn, rateOut, bytesOut         float64
	inMessages, inBytes, outMessages, outBytes int64
	storedEntries, storedMessages, storedBytes int64
	offloadedBytes                             int64
	ledgers                                    int
	rateWrites                                 float64
	sizes, latencies                           meter.Counts // of the last whole minute: bytes, microseconds
	backlogMessages, backlogBytes              int64
	quotaSize                                  int64 // 0: no quota
}

// subRow is what a scrape takes of one subscription.
type subRow struct {
	labels     string
	persistent bool
	backlog    storage.Backlog
	holes      int

	consumers                        int
	unacked, delayed, replay         int64
	blocked                          float64
	rateOut, bytesOut, rateRedeliver float64
	rateAck, rateDrop                float64
	outMessages, outBytes, expired   int64
	lastAck, lastSent, lastFlow      int64
}

// collect takes the loaded topics.
func collect(reg *topic.Registry, cluster string, now time.Time) []topicRow {
	loaded := reg.Loaded()
	rows := make([]topicRow, 0, len(loaded))
	base := label("", "cluster", cluster)
	for _, t := range loaded {
		ns := t.Name().NamespaceName().String()
		r := topicRow{
			namespace: ns, persistent: t.Persistent(), producers: len(t.Producers()),
			labels:     label(label(base, "namespace", ns), "topic", t.Name().String()),
			inMessages: t.In.Messages(), inBytes: t.In.Bytes(),
		}
		r.rateIn, r.bytesIn = t.In.Rate(now)
		if st := t.Storage(); st != nil {
			s := st.Stats()
			r.storedEntries, r.storedMessages, r.storedBytes, r.ledgers = s.Entries, s.Messages, s.Bytes, s.Ledgers
			r.offloadedBytes = t.Offloaded()
			r.rateWrites, _ = t.Writes.Rate(now)
			r.quotaSize, _ = t.Policies().QuotaSize()
			r.sizes, r.latencies = t.Writes.Sizes(now), t.Writes.Latencies(now)
		}
		for _, sub := range t.Subscriptions() {
			row := collectSub(sub, r.labels, now)
			r.consumers += row.consumers
			r.rateOut += row.rateOut
			r.bytesOut += row.bytesOut
			r.outMessages += row.outMessages
			r.outBytes += row.outBytes
			r.backlogMessages += row.backlog.Messages
			r.backlogBytes = max(r.backlogBytes, row.backlog.Bytes)
			r.subs = append(r.subs, row)
		}
		rows = append(rows, r)
	}
	return rows
}

func collectSub(sub *topic.Subscription, topicLabels string, now time.Time) subRow {
	snap, m := sub.Dispatch(), sub.Meters()
	row := subRow{
		labels: label(topicLabels, "subscription", sub.Name()), consumers: len(snap.Consumers),
		unacked: snap.Unacked, delayed: int64(snap.Delayed), replay: int64(snap.Replay),
		outMessages: m.Sent.Messages(), outBytes: m.Sent.Bytes(), expired: sub.Expired(),
		lastAck: m.LastAck.Load(), lastSent: m.LastSent.Load(), lastFlow: m.LastFlow.Load(),
	}
	if snap.Blocked {
		row.blocked = 1
	}
	row.rateOut, row.bytesOut = m.Sent.Rate(now)
	row.rateRedeliver, _ = m.Redelivered.Rate(now)
	row.rateAck, _ = m.Acks.Rate(now)
	row.rateDrop, _ = m.Dropped.Rate(now)
	if c := sub.Cursor(); c != nil {
		row.persistent, row.backlog, row.holes = true, c.Backlog(), c.RangeCount()
	}
	return row
}
