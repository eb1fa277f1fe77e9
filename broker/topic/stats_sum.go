package topic

// NewTopicStats makes the statistics of no topic at all, to which others can be added.
func NewTopicStats() *TopicStats {
	return &TopicStats{
		Publishers: []PublisherStats{}, Subscriptions: map[string]*SubscriptionStats{},
		Replication: map[string]struct{}{}, DeduplicationStatus: "Disabled",
	}
}

// Add sums the statistics of a partition into those of its partitioned topic: numbers
// add up, publishers and consumers are appended, subscriptions are merged by name.
func (s *TopicStats) Add(p *TopicStats) {
	s.MsgRateIn += p.MsgRateIn
	s.MsgThroughputIn += p.MsgThroughputIn
	s.MsgRateOut += p.MsgRateOut
	s.MsgThroughputOut += p.MsgThroughputOut
	s.BytesInCounter += p.BytesInCounter
	s.MsgInCounter += p.MsgInCounter
	s.BytesOutCounter += p.BytesOutCounter
	s.MsgOutCounter += p.MsgOutCounter
	if s.MsgRateIn > 0 {
		s.AverageMsgSize = s.MsgThroughputIn / s.MsgRateIn
	}
	s.MsgChunkPublished = s.MsgChunkPublished || p.MsgChunkPublished
	s.StorageSize = plus(s.StorageSize, p.StorageSize)
	s.BacklogSize = plus(s.BacklogSize, p.BacklogSize)
	s.NonContiguousRanges = plus(s.NonContiguousRanges, p.NonContiguousRanges)
	s.OffloadedStorageSize = plus(s.OffloadedStorageSize, p.OffloadedStorageSize)
	s.LastOffloadSuccessTimeStamp = max(s.LastOffloadSuccessTimeStamp, p.LastOffloadSuccessTimeStamp)
	s.LastOffloadFailureTimeStamp = max(s.LastOffloadFailureTimeStamp, p.LastOffloadFailureTimeStamp)
	s.MsgDropRate = plus(s.MsgDropRate, p.MsgDropRate)
	s.EarliestMsgPublishTimeInBacklog = earliest(s.EarliestMsgPublishTimeInBacklog, p.EarliestMsgPublishTimeInBacklog)
	s.Publishers = append(s.Publishers, p.Publishers...)
	s.WaitingPublishers += p.WaitingPublishers
	if s.TopicCreationTimeStamp == 0 || p.TopicCreationTimeStamp < s.TopicCreationTimeStamp {
		s.TopicCreationTimeStamp = p.TopicCreationTimeStamp
	}
	s.LastPublishTimeStamp = max(s.LastPublishTimeStamp, p.LastPublishTimeStamp)
	for name, sub := range p.Subscriptions {
		if mine := s.Subscriptions[name]; mine != nil {
			mine.add(sub)
			continue
		}
		first := *sub
		first.Consumers = append([]ConsumerStats{}, sub.Consumers...)
		s.Subscriptions[name] = &first
	}
}

func (s *SubscriptionStats) add(p *SubscriptionStats) {
	s.MsgRateOut += p.MsgRateOut
	s.MsgThroughputOut += p.MsgThroughputOut
	s.BytesOutCounter += p.BytesOutCounter
	s.MsgOutCounter += p.MsgOutCounter
	s.MsgRateRedeliver += p.MsgRateRedeliver
	s.MessageAckRate += p.MessageAckRate
	s.MsgBacklog += p.MsgBacklog
	s.BacklogSize = plus(s.BacklogSize, p.BacklogSize)
	s.EarliestMsgPublishTimeInBacklog = earliest(s.EarliestMsgPublishTimeInBacklog, p.EarliestMsgPublishTimeInBacklog)
	s.BlockedSubscriptionOnUnackedMsgs = s.BlockedSubscriptionOnUnackedMsgs || p.BlockedSubscriptionOnUnackedMsgs
	s.MsgDelayed += p.MsgDelayed
	s.MsgInReplay += p.MsgInReplay
	s.UnackedMessages += p.UnackedMessages
	s.MsgDropRate = plus(s.MsgDropRate, p.MsgDropRate)
	if s.Type == "" {
		s.Type = p.Type
	}
	if s.ActiveConsumerName == "" {
		s.ActiveConsumerName = p.ActiveConsumerName
	}
	if s.KeySharedMode == "" {
		s.KeySharedMode = p.KeySharedMode
	}
	s.LastConsumedFlowTimestamp = max(s.LastConsumedFlowTimestamp, p.LastConsumedFlowTimestamp)
	s.LastConsumedTimestamp = max(s.LastConsumedTimestamp, p.LastConsumedTimestamp)
	s.LastAckedTimestamp = max(s.LastAckedTimestamp, p.LastAckedTimestamp)
	s.Consumers = append(s.Consumers, p.Consumers...)
	s.AllowOutOfOrderDelivery = s.AllowOutOfOrderDelivery || p.AllowOutOfOrderDelivery
	s.IsReplicated = s.IsReplicated || p.IsReplicated
	s.DrainingHashesCount += p.DrainingHashesCount
	s.NonContiguousRanges = plus(s.NonContiguousRanges, p.NonContiguousRanges)
}

// plus adds numbers of which each may be unknown.
func plus[N int | int64 | float64](a, b *N) *N {
	switch {
	case b == nil:
		return a
	case a == nil:
		return new(*b)
	}
	return new(*a + *b)
}

// earliest is the smaller of two times of which each may be unknown.
func earliest(a, b *int64) *int64 {
	switch {
	case b == nil:
		return a
	case a == nil || *b < *a:
		return new(*b)
	}
	return a
}
