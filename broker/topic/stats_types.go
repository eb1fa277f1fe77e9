package topic

// The structs below have the JSON names of Pulsar's admin API. A field that is not
// known is absent, never a constant 0. Rates are per second over the last ten seconds,
// counters run since the topic was loaded, times are milliseconds since 1970 unless
// they are texts, sizes are bytes, msgBacklog counts messages.

// TopicStats is a topic at one moment.
type TopicStats struct {
	MsgRateIn                       float64                       `json:"msgRateIn"`
	MsgThroughputIn                 float64                       `json:"msgThroughputIn"`
	MsgRateOut                      float64                       `json:"msgRateOut"`
	MsgThroughputOut                float64                       `json:"msgThroughputOut"`
	BytesInCounter                  int64                         `json:"bytesInCounter"`
	MsgInCounter                    int64                         `json:"msgInCounter"`
	BytesOutCounter                 int64                         `json:"bytesOutCounter"`
	MsgOutCounter                   int64                         `json:"msgOutCounter"`
	AverageMsgSize                  float64                       `json:"averageMsgSize"`
	MsgChunkPublished               bool                          `json:"msgChunkPublished"`
	StorageSize                     *int64                        `json:"storageSize,omitempty"` // persistent topics only, as the next three
	BacklogSize                     *int64                        `json:"backlogSize,omitempty"`
	EarliestMsgPublishTimeInBacklog *int64                        `json:"earliestMsgPublishTimeInBacklogs,omitempty"`
	BacklogQuotaLimitSize           *int64                        `json:"backlogQuotaLimitSize,omitempty"` // absent without a quota
	BacklogQuotaLimitTime           *int64                        `json:"backlogQuotaLimitTime,omitempty"` // seconds
	NonContiguousRanges             *int                          `json:"nonContiguousDeletedMessagesRanges,omitempty"`
	OffloadedStorageSize            *int64                        `json:"offloadedStorageSize,omitempty"` // part of storageSize; persistent topics only
	LastOffloadLedgerID             *int64                        `json:"lastOffloadLedgerId,omitempty"`  // since the topic was loaded, as the next two
	LastOffloadSuccessTimeStamp     int64                         `json:"lastOffloadSuccessTimeStamp,omitempty"`
	LastOffloadFailureTimeStamp     int64                         `json:"lastOffloadFailureTimeStamp,omitempty"`
	Compaction                      *CompactionStats              `json:"compaction,omitempty"`  // absent unless a compaction ended since the topic was loaded
	MsgDropRate                     *float64                      `json:"msgDropRate,omitempty"` // non-persistent topics only
	Publishers                      []PublisherStats              `json:"publishers"`
	WaitingPublishers               int                           `json:"waitingPublishers"`
	Subscriptions                   map[string]*SubscriptionStats `json:"subscriptions"`
	Replication                     map[string]struct{}           `json:"replication"` // always empty: one node
	DeduplicationStatus             string                        `json:"deduplicationStatus"`
	TopicEpoch                      *uint64                       `json:"topicEpoch,omitempty"`
	TopicCreationTimeStamp          int64                         `json:"topicCreationTimeStamp"`
	LastPublishTimeStamp            int64                         `json:"lastPublishTimeStamp,omitempty"`
}

// CompactionStats tell of a topic's last compaction.
type CompactionStats struct {
	Removed   *int64 `json:"lastCompactionRemovedEventCount,omitempty"` // messages; absent when none succeeded
	Succeeded int64  `json:"lastCompactionSucceedTimestamp,omitempty"`
	Failed    int64  `json:"lastCompactionFailedTimestamp,omitempty"`
	Took      int64  `json:"lastCompactionDurationTimeInMills"`
}

// PublisherStats is one producer.
type PublisherStats struct {
	AccessMode         string            `json:"accessMode"`
	MsgRateIn          float64           `json:"msgRateIn"`
	MsgThroughputIn    float64           `json:"msgThroughputIn"`
	AverageMsgSize     float64           `json:"averageMsgSize"`
	ChunkedMessageRate float64           `json:"chunkedMessageRate"`
	ProducerID         uint64            `json:"producerId"`
	ProducerName       string            `json:"producerName"`
	Address            string            `json:"address"`
	ConnectedSince     string            `json:"connectedSince"`
	ClientVersion      string            `json:"clientVersion"`
	Metadata           map[string]string `json:"metadata"`
}

// SubscriptionStats is one subscription.
type SubscriptionStats struct {
	MsgRateOut                       float64           `json:"msgRateOut"`
	MsgThroughputOut                 float64           `json:"msgThroughputOut"`
	BytesOutCounter                  int64             `json:"bytesOutCounter"`
	MsgOutCounter                    int64             `json:"msgOutCounter"`
	MsgRateRedeliver                 float64           `json:"msgRateRedeliver"`
	MessageAckRate                   float64           `json:"messageAckRate"`
	MsgBacklog                       int64             `json:"msgBacklog"`
	BacklogSize                      *int64            `json:"backlogSize,omitempty"`
	EarliestMsgPublishTimeInBacklog  *int64            `json:"earliestMsgPublishTimeInBacklog,omitempty"`
	BlockedSubscriptionOnUnackedMsgs bool              `json:"blockedSubscriptionOnUnackedMsgs"`
	MsgDelayed                       int64             `json:"msgDelayed"`
	MsgInReplay                      int64             `json:"msgInReplay"`
	UnackedMessages                  int64             `json:"unackedMessages"`
	MsgDropRate                      *float64          `json:"msgDropRate,omitempty"`
	Type                             string            `json:"type,omitempty"`
	ActiveConsumerName               string            `json:"activeConsumerName,omitempty"`
	TotalMsgExpired                  int64             `json:"totalMsgExpired"`
	LastExpireTimestamp              int64             `json:"lastExpireTimestamp,omitempty"`
	LastConsumedFlowTimestamp        int64             `json:"lastConsumedFlowTimestamp,omitempty"`
	LastConsumedTimestamp            int64             `json:"lastConsumedTimestamp,omitempty"`
	LastAckedTimestamp               int64             `json:"lastAckedTimestamp,omitempty"`
	Consumers                        []ConsumerStats   `json:"consumers"`
	IsDurable                        bool              `json:"isDurable"`
	Durable                          bool              `json:"durable"`
	IsReplicated                     bool              `json:"isReplicated"`
	AllowOutOfOrderDelivery          bool              `json:"allowOutOfOrderDelivery"`
	KeySharedMode                    string            `json:"keySharedMode,omitempty"`
	ConsumersAfterMarkDelete         map[string]string `json:"consumersAfterMarkDeletePosition"`
	DrainingHashesCount              int               `json:"drainingHashesCount"`
	NonContiguousRanges              *int              `json:"nonContiguousDeletedMessagesRanges,omitempty"`
	SubscriptionProperties           map[string]string `json:"subscriptionProperties"`
}

// ConsumerStats is one consumer.
type ConsumerStats struct {
	MsgRateOut                   float64           `json:"msgRateOut"`
	MsgThroughputOut             float64           `json:"msgThroughputOut"`
	BytesOutCounter              int64             `json:"bytesOutCounter"`
	MsgOutCounter                int64             `json:"msgOutCounter"`
	MsgRateRedeliver             float64           `json:"msgRateRedeliver"`
	MessageAckRate               float64           `json:"messageAckRate"`
	ConsumerName                 string            `json:"consumerName"`
	AvailablePermits             int64             `json:"availablePermits"`
	UnackedMessages              int64             `json:"unackedMessages"`
	AvgMessagesPerEntry          int64             `json:"avgMessagesPerEntry,omitempty"`
	BlockedConsumerOnUnackedMsgs bool              `json:"blockedConsumerOnUnackedMsgs"`
	Address                      string            `json:"address"`
	ConnectedSince               string            `json:"connectedSince"`
	ClientVersion                string            `json:"clientVersion"`
	LastAckedTimestamp           int64             `json:"lastAckedTimestamp,omitempty"`
	LastConsumedTimestamp        int64             `json:"lastConsumedTimestamp,omitempty"`
	LastConsumedFlowTimestamp    int64             `json:"lastConsumedFlowTimestamp,omitempty"`
	KeyHashRanges                []string          `json:"keyHashRanges,omitempty"`
	KeyHashRangeArrays           [][2]int32        `json:"keyHashRangeArrays,omitempty"`
	Metadata                     map[string]string `json:"metadata"`
}

// ManagedLedgerInternalStats is a persistent topic's storage as Pulsar's internalStats show it.
type ManagedLedgerInternalStats struct {
	EntriesAddedCounter        int64                           `json:"entriesAddedCounter"`
	NumberOfEntries            int64                           `json:"numberOfEntries"`
	TotalSize                  int64                           `json:"totalSize"`
	CurrentLedgerEntries       int64                           `json:"currentLedgerEntries"`
	CurrentLedgerSize          int64                           `json:"currentLedgerSize"`
	LastLedgerCreatedTimestamp string                          `json:"lastLedgerCreatedTimestamp,omitempty"`
	WaitingCursorsCount        int                             `json:"waitingCursorsCount"`
	LastConfirmedEntry         string                          `json:"lastConfirmedEntry"`
	State                      string                          `json:"state"`
	Ledgers                    []InternalLedger                `json:"ledgers"`
	Cursors                    map[string]*InternalCursorStats `json:"cursors"`
	SchemaLedgers              []InternalLedger                `json:"schemaLedgers"`
	CompactedLedger            InternalLedger                  `json:"compactedLedger"`
}

// InternalLedger is one ledger; entries and size of the open one are 0, as in Pulsar.
type InternalLedger struct {
	LedgerID        int64  `json:"ledgerId"`
	Entries         int64  `json:"entries"`
	Size            int64  `json:"size"`
	Offloaded       bool   `json:"offloaded"`
	Metadata        string `json:"metadata,omitempty"`
	UnderReplicated bool   `json:"underReplicated"`
}

// InternalCursorStats is one cursor.
type InternalCursorStats struct {
	MarkDeletePosition          string           `json:"markDeletePosition"`
	DurableMarkDeletePosition   string           `json:"durableMarkDeletePosition"` // ours: what is on disk
	ReadPosition                string           `json:"readPosition"`
	MessagesConsumedCounter     int64            `json:"messagesConsumedCounter"`
	IndividuallyDeletedMessages string           `json:"individuallyDeletedMessages"`
	State                       string           `json:"state"`
	Active                      bool             `json:"active"`
	TotalNonContiguousRanges    int              `json:"totalNonContiguousDeletedMessagesRange"`
	Properties                  map[string]int64 `json:"properties"`
}
