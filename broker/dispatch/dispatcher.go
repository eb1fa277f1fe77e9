package dispatch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"spoolctl/broker/meter"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// Pulsar's defaults of maxUnackedMessagesPerConsumer and …PerSubscription.
const (
	DefaultUnackedPerConsumer     = 50_000
	DefaultUnackedPerSubscription = 200_000
)

// Bounds of one read; a pass makes as many reads as there are permits for.
const (
	readEntries = 1024
	readBytes   = 1 << 20
)

// Source is where a subscription's entries come from; *storage.Cursor is one.
type Source interface {
	Pending(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []storage.PendingEntry) ([]storage.PendingEntry, wire.Position, error)
	// PendingCompacted is Pending for consumers of the compacted topic.
	PendingCompacted(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []storage.PendingEntry) ([]storage.PendingEntry, wire.Position, error)
	MarkDelete() wire.Position
	Acked(p wire.Position) bool
}

// Meters are a subscription's counters. They outlive the dispatcher, which is
// replaced when a subscription changes its type.
type Meters struct {
	Sent        meter.Flow
	Redelivered meter.Flow
	Acks        meter.Flow
	Dropped     meter.Flow // non-persistent messages that no consumer had permits for
	LastFlow    atomic.Int64
	LastSent    atomic.Int64
	LastAck     atomic.Int64
}

// Options configure a dispatcher.
type Options struct {
	Type       pb.CommandSubscribe_SubType
	Source     Source // nil only for NewDirect
	Partition  int    // index of the topic's partition, -1 when it is none
	Meters     *Meters
	Logger     func() *slog.Logger // asked when there is something to say; nil: nothing is said
	Now        func() time.Time
	Terminated func() bool // whether the topic will get no more entries; nil: never
	// Hungry counts the topic's dispatchers that must be told of new entries: while it is 0, Data need not be called. nil: not
	// counted.
	Hungry *atomic.Int32

	UnackedPerConsumer     int           // 0 = no limit
	UnackedPerSubscription int           // 0 = no limit
	FailoverDelay          time.Duration // how long a pre-empted active consumer may still acknowledge
}

// Acked tells a dispatcher what an acknowledgement left of an entry.
type Acked struct {
	Position wire.Position
	Left     int32 // messages of the entry still unacknowledged; 0 = the entry is done
	Messages int32 // messages acknowledged, for counting where nothing is kept in flight
}

// Dispatcher gives one subscription's messages to its consumers. All methods may be
// called from any goroutine; none blocks on the spool or on a socket except Close.
type Dispatcher interface {
	// Add attaches a consumer. It fails with ConsumerBusy or ConsumerAssign.
	Add(c *Consumer) error
	// Remove detaches a consumer; what it held is given to others.
	Remove(c *Consumer)
	// Flow gives a consumer permits.
	Flow(c *Consumer, messages int)
	// Sizes fills in the sizes of entries that were sent to a consumer and are known
	// still, so that the store need not look them up.
	Sizes(c *Consumer, acks []storage.Ack)
	// Acked tells what the cursor recorded for a consumer (nil: for nobody in
	// particular, as with skipping). The cursor has it already.
	Acked(c *Consumer, acks []Acked)
	// Redeliver makes messages in a consumer's hands deliverable again: those at
	// the positions, or all with nil.
	Redeliver(c *Consumer, positions []wire.Position, epoch uint64, hasEpoch bool)
	// Data says that entries were committed; see Options.Hungry.
	Data()
	// Wake tries again, whatever changed.
	Wake()
	// Reset starts over at the cursor's mark-delete position after that was moved.
	Reset()
	// Consumers lists who is attached.
	Consumers() []*Consumer
	// Type is the subscription type this dispatcher serves.
	Type() pb.CommandSubscribe_SubType
	// Snapshot describes the state for statistics.
	Snapshot() Snapshot
	// Close ends dispatching and waits for a running pass.
	Close()
}

// Snapshot is a dispatcher's state at one moment.
type Snapshot struct {
	Active       string        // name of the active consumer (exclusive, failover)
	Unacked      int64         // messages in flight (shared, key_shared)
	Blocked      bool          // the subscription's unacked budget is used up
	Replay       int           // entries waiting to be sent again
	Delayed      int           // entries whose time has not come
	ReadPosition wire.Position // the next entry to be read
	Draining     int           // key hashes whose messages are still with a former owner
	Consumers    []ConsumerSnapshot
}

// ConsumerSnapshot is one consumer's part of a Snapshot.
type ConsumerSnapshot struct {
	*Consumer
	Permits  int64
	Unacked  int64
	Blocked  bool
	Ranges   []KeyRange // key_shared only
	LastFlow int64      // ms since 1970, 0 = never; the same for the next two
	LastSent int64
	LastAck  int64
	Entries  int64 // entries sent ever
}

// New makes the dispatcher of a persistent subscription; o.Source must be set.
func New(o Options) Dispatcher {
	o = o.withDefaults()
	switch o.Type {
	case pb.CommandSubscribe_Shared:
		return newShared(o)
	case pb.CommandSubscribe_Key_Shared:
		return newKeyShared(o)
	default:
		return newSingle(o)
	}
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = func() *slog.Logger { return slog.New(slog.DiscardHandler) }
	}
	if o.Meters == nil {
		o.Meters = new(Meters)
	}
	return o
}
