package topic

import (
	"context"
	"fmt"
	"strings"
	"time"

	"spoolctl/broker/dispatch"
	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire/pb"
)

// maxListedRanges bounds how many acknowledged ranges internal statistics spell out.
const maxListedRanges = 1000

// StatsOptions choose what Stats looks at.
type StatsOptions struct {
	Earliest         bool // read the publish time of the oldest message of every backlog
	ExcludePublisher bool
	ExcludeConsumers bool
}

// TimeText is the form of times in Pulsar's statistics.
func TimeText(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z07:00") }

// Stats describes the topic.
func (t *Topic) Stats(ctx context.Context, o StatsOptions) (*TopicStats, error) {
	now := t.r.opt.Now()
	st := NewTopicStats()
	st.MsgInCounter, st.BytesInCounter = t.In.Messages(), t.In.Bytes()
	st.MsgChunkPublished = t.chunks.Load() > 0
	st.TopicCreationTimeStamp, st.LastPublishTimeStamp = t.created.UnixMilli(), t.lastIn.Load()
	if t.store != nil && t.Policies().Deduplicate {
		st.DeduplicationStatus = "Enabled"
	}
	st.MsgRateIn, st.MsgThroughputIn = t.In.Rate(now)
	if st.MsgRateIn > 0 {
		st.AverageMsgSize = st.MsgThroughputIn / st.MsgRateIn
	}
	t.mu.Lock()
	st.WaitingPublishers = len(t.waiting)
	if t.hasEpoch {
		epoch := t.epoch
		st.TopicEpoch = &epoch
	}
	t.mu.Unlock()
	if !o.ExcludePublisher {
		for _, p := range t.Producers() {
			st.Publishers = append(st.Publishers, p.stats(now))
		}
	}
	var backlog, oldest int64
	var ranges int
	var dropped float64
	for _, s := range t.Subscriptions() {
		sub, err := s.stats(ctx, now, o)
		if err != nil {
			return nil, err
		}
		st.Subscriptions[s.name] = sub
		st.MsgRateOut += sub.MsgRateOut
		st.MsgThroughputOut += sub.MsgThroughputOut
		st.MsgOutCounter += sub.MsgOutCounter
		st.BytesOutCounter += sub.BytesOutCounter
		if sub.BacklogSize != nil {
			backlog = max(backlog, *sub.BacklogSize)
		}
		if sub.NonContiguousRanges != nil {
			ranges += *sub.NonContiguousRanges
		}
		if e := sub.EarliestMsgPublishTimeInBacklog; e != nil && (oldest == 0 || *e < oldest) {
			oldest = *e
		}
		if sub.MsgDropRate != nil {
			dropped += *sub.MsgDropRate
		}
	}
	if t.store == nil {
		st.MsgDropRate = &dropped
		return st, nil
	}
	t.backgroundStats(st)
	size := t.store.Stats().Bytes
	st.StorageSize, st.BacklogSize, st.NonContiguousRanges = &size, &backlog, &ranges
	if limit, set := t.Policies().QuotaSize(); set {
		st.BacklogQuotaLimitSize = &limit
	}
	if limit, set := t.Policies().QuotaAge(); set {
		seconds := int64(limit / time.Second)
		st.BacklogQuotaLimitTime = &seconds
	}
	if oldest != 0 {
		st.EarliestMsgPublishTimeInBacklog = &oldest
	}
	return st, nil
}

func (p *Producer) stats(now time.Time) PublisherStats {
	s := PublisherStats{
		AccessMode: p.Access.String(), ProducerID: p.ID, ProducerName: p.Name,
		Address: "/" + p.Address, ConnectedSince: TimeText(p.Connected), ClientVersion: p.Version,
		Metadata: orEmpty(p.Metadata),
	}
	s.MsgRateIn, s.MsgThroughputIn = p.In.Rate(now)
	s.ChunkedMessageRate, _ = p.Chunks.Rate(now)
	if s.MsgRateIn > 0 {
		s.AverageMsgSize = s.MsgThroughputIn / s.MsgRateIn
	}
	return s
}

func (s *Subscription) stats(ctx context.Context, now time.Time, o StatsOptions) (*SubscriptionStats, error) {
	snap := s.disp().Snapshot()
	m := &s.meters
	st := &SubscriptionStats{
		MsgOutCounter: m.Sent.Messages(), BytesOutCounter: m.Sent.Bytes(),
		BlockedSubscriptionOnUnackedMsgs: snap.Blocked, MsgDelayed: int64(snap.Delayed), MsgInReplay: int64(snap.Replay),
		UnackedMessages: snap.Unacked, ActiveConsumerName: snap.Active, TotalMsgExpired: s.expired.Load(), LastExpireTimestamp: s.lapsed.Load(),
		LastConsumedFlowTimestamp: m.LastFlow.Load(), LastConsumedTimestamp: m.LastSent.Load(), LastAckedTimestamp: m.LastAck.Load(),
		Consumers: []ConsumerStats{}, IsDurable: s.durable, Durable: s.durable, IsReplicated: s.replicated,
		ConsumersAfterMarkDelete: map[string]string{}, DrainingHashesCount: snap.Draining,
		SubscriptionProperties: orEmpty(s.Properties()),
	}
	st.MsgRateOut, st.MsgThroughputOut = m.Sent.Rate(now)
	st.MsgRateRedeliver, _ = m.Redelivered.Rate(now)
	st.MessageAckRate, _ = m.Acks.Rate(now)
	if len(snap.Consumers) > 0 {
		st.Type = s.Type().String()
	}
	if s.Type() == pb.CommandSubscribe_Key_Shared {
		for _, c := range snap.Consumers {
			st.KeySharedMode = "AUTO_SPLIT"
			if c.Sticky {
				st.KeySharedMode = "STICKY"
			}
			st.AllowOutOfOrderDelivery = st.AllowOutOfOrderDelivery || c.OutOfOrder
		}
	}
	if !o.ExcludeConsumers {
		for i := range snap.Consumers {
			st.Consumers = append(st.Consumers, consumerStats(&snap.Consumers[i], now))
		}
	}
	if s.cursor == nil {
		rate, _ := m.Dropped.Rate(now)
		st.MsgDropRate = &rate
		return st, nil
	}
	b := s.cursor.Backlog()
	n := s.cursor.RangeCount()
	st.MsgBacklog, st.BacklogSize, st.NonContiguousRanges = b.Messages, &b.Bytes, &n
	if o.Earliest && b.Entries > 0 {
		e, err := s.Peek(ctx, 1)
		if err != nil && !fault.Is(err, fault.MessageNotFound) {
			return nil, err
		}
		if err == nil {
			st.EarliestMsgPublishTimeInBacklog = &e.Header.PublishTime
		}
	}
	return st, nil
}

func consumerStats(c *dispatch.ConsumerSnapshot, now time.Time) ConsumerStats {
	s := ConsumerStats{
		MsgOutCounter: c.Sent.Messages(), BytesOutCounter: c.Sent.Bytes(),
		ConsumerName: c.Name, AvailablePermits: c.Permits, UnackedMessages: c.Unacked, BlockedConsumerOnUnackedMsgs: c.Blocked,
		Address: "/" + c.Address, ConnectedSince: TimeText(c.Connected), ClientVersion: c.Version,
		LastAckedTimestamp: c.LastAck, LastConsumedTimestamp: c.LastSent, LastConsumedFlowTimestamp: c.LastFlow,
		Metadata: orEmpty(c.Metadata),
	}
	s.MsgRateOut, s.MsgThroughputOut = c.Sent.Rate(now)
	s.MsgRateRedeliver, _ = c.Redelivered.Rate(now)
	s.MessageAckRate, _ = c.Acks.Rate(now)
	if c.Entries > 0 {
		s.AvgMessagesPerEntry = (c.Sent.Messages() + c.Entries - 1) / c.Entries
	}
	for _, k := range c.Ranges {
		s.KeyHashRanges = append(s.KeyHashRanges, fmt.Sprintf("[%d, %d]", k.Start, k.End))
		s.KeyHashRangeArrays = append(s.KeyHashRangeArrays, [2]int32{k.Start, k.End})
	}
	return s
}

// ConsumerStats describes one attached consumer, for CONSUMER_STATS.
func (c *Consumer) ConsumerStats() ConsumerStats {
	now := c.Sub.t.r.opt.Now()
	for _, snap := range c.Sub.Dispatch().Consumers {
		if snap.Consumer == c.Consumer {
			return consumerStats(&snap, now)
		}
	}
	return ConsumerStats{}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// InternalStats describes a persistent topic's ledgers and cursors.
func (t *Topic) InternalStats(metadata bool) (*ManagedLedgerInternalStats, error) {
	if t.store == nil {
		return nil, fault.New(fault.NotAllowed, "internal statistics are for persistent topics only")
	}
	sum := t.store.Stats()
	st := &ManagedLedgerInternalStats{
		EntriesAddedCounter: sum.AddedEntries, NumberOfEntries: sum.Entries, TotalSize: sum.Bytes,
		LastConfirmedEntry: t.store.LastConfirmed().String(), State: "LedgerOpened",
		Ledgers: []InternalLedger{}, Cursors: map[string]*InternalCursorStats{}, SchemaLedgers: []InternalLedger{},
		CompactedLedger: InternalLedger{LedgerID: -1, Entries: -1, Size: -1},
	}
	if c := t.store.Compaction(); c.Ledger >= 0 {
		st.CompactedLedger = InternalLedger{LedgerID: c.Ledger, Entries: c.Entries, Size: c.Bytes}
	}
	if t.Terminated() {
		st.State = "Terminated"
	}
	for _, l := range t.store.Ledgers() {
		il := InternalLedger{LedgerID: l.ID, Entries: l.Entries, Size: l.Bytes, Offloaded: l.Object != ""}
		if metadata {
			il.Metadata = fmt.Sprintf("{messages=%d, created=%s}", l.Messages, TimeText(l.Created))
		}
		if l.State == record.LedgerOpen {
			st.CurrentLedgerEntries, st.CurrentLedgerSize = l.Entries, l.Bytes
			il.Entries, il.Size = 0, 0
		}
		st.LastLedgerCreatedTimestamp = TimeText(l.Created)
		st.Ledgers = append(st.Ledgers, il)
	}
	if c := t.store.Cursor(storage.CompactionCursor); c != nil {
		st.Cursors[c.Name()] = cursorStats(c)
		st.Cursors[c.Name()].ReadPosition = t.store.Next(c.MarkDelete()).String()
	}
	for _, s := range t.Subscriptions() {
		c := s.cursorStats()
		st.Cursors[s.name] = c
		if c.Active && s.cursor.Backlog().Entries == 0 {
			st.WaitingCursorsCount++
		}
	}
	return st, nil
}

func (s *Subscription) cursorStats() *InternalCursorStats {
	snap := s.disp().Snapshot()
	c := cursorStats(s.cursor)
	c.ReadPosition, c.Active = snap.ReadPosition.String(), len(snap.Consumers) > 0
	return c
}

// cursorStats describes a cursor, but for what its reader knows.
func cursorStats(cursor *storage.Cursor) *InternalCursorStats {
	state := cursor.State()
	c := &InternalCursorStats{
		MarkDeletePosition: state.MarkDelete.String(), DurableMarkDeletePosition: cursor.DurableMarkDelete().String(),
		MessagesConsumedCounter: state.Consumed.Messages, State: "Open", TotalNonContiguousRanges: state.Acks.Count(),
		Properties: state.Positions,
	}
	if !cursor.Durable() {
		c.State = "NoLedger"
	}
	if c.Properties == nil {
		c.Properties = map[string]int64{}
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, r := range state.Acks.Ranges(maxListedRanges) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "(%s..%s]", r.Lower, r.Upper)
	}
	b.WriteByte(']')
	c.IndividuallyDeletedMessages = b.String()
	return c
}
