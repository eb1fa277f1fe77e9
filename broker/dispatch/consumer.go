package dispatch

import (
	"sync/atomic"
	"time"

	"spoolctl/broker/meter"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// Outlet is the connection behind a consumer. Its methods, except CloseConsumer, are
// called with the dispatcher's lock held: they must not block and must not call back.
type Outlet interface {
	// Writable is false while so much is waiting to be written that no more
	// messages should be read for this client. When it turns true again the
	// connection calls Consumer.Wake for its consumers.
	Writable() bool
	// Overloaded is true when even messages that nobody can read again later
	// (non-persistent ones) should be dropped.
	Overloaded() bool
	// Deliver queues messages in order and wakes the writer once. The slice is the
	// caller's again on return; the Data of its elements may be kept.
	Deliver(batch []Delivery)
	// ActiveChange tells a failover consumer whether it is the active one.
	ActiveChange(consumerID uint64, active bool)
	// CloseConsumer tells the client to make the consumer again, and forgets it. The
	// consumer has been removed from its dispatcher.
	CloseConsumer(c *Consumer)
	// ReachedEnd tells that a terminated topic holds nothing more for a consumer.
	ReachedEnd(consumerID uint64)
}

// Delivery is one message frame to be sent: the header's fields and the stored entry.
type Delivery struct {
	wire.Message
	Data []byte // from the checksum magic on; immutable
}

// KeyRange is an inclusive range of key hashes, within 0..65535.
type KeyRange struct{ Start, End int32 }

// ConsumerOptions describes a consumer; it does not change while the consumer lives.
type ConsumerOptions struct {
	ID         uint64 // chosen by the client, unique in its connection
	Name       string
	Type       pb.CommandSubscribe_SubType
	Priority   int32 // lower is more important
	Partition  int32 // index of the topic's partition, -1 when it is none
	Ranges     []KeyRange
	Sticky     bool // Key_Shared with fixed Ranges
	OutOfOrder bool // Key_Shared that does not keep the order of a key
	// ReadCompacted: of what was compacted only the last message of each key; exclusive and failover consumers only.
	ReadCompacted bool
	Metadata      map[string]string
	Address       string // the client's, like "127.0.0.1:5000"
	Version       string // the client's CONNECT client_version
	Epoch         uint64 // consumer_epoch of SUBSCRIBE
	HasEpoch      bool
	Connected     time.Time
	Outlet        Outlet
}

// Consumer is one attached consumer. The dispatcher's lock guards the fields below
// the options; counters are atomic.
type Consumer struct {
	ConsumerOptions
	d Dispatcher

	permits int64 // messages the client may still be sent; negative after a batch overdrew it
	unacked int64 // messages sent and not acknowledged (shared and key_shared only)
	blocked bool  // too many unacked
	epoch   uint64
	// held is what was sent and is not wholly acknowledged (shared and key_shared only).
	held map[wire.Position]held
	// waiting holds the positions whose key belongs to this consumer (key_shared only).
	waiting  *positions[uint16]
	waitHash map[uint16]int
	out      []Delivery // collected during a pass
	outBytes int64
	outMsgs  int64
	outAgain int64
	// tellActive is set until the client was told whether it is the active consumer.
	tellActive bool

	Sent        meter.Flow // messages and bytes sent
	Redelivered meter.Flow // of these, sent again
	Acks        meter.Flow // messages acknowledged
	lastFlow    atomic.Int64
	lastSent    atomic.Int64
	lastAck     atomic.Int64
	entriesSent atomic.Int64
}

// held is one entry in a client's hands.
type held struct {
	messages int32 // still unacknowledged
	of       int32 // all messages of the entry
	bytes    int32
	hash     uint16
}

// NewConsumer makes a consumer that is not attached yet.
func NewConsumer(o ConsumerOptions) *Consumer {
	return &Consumer{ConsumerOptions: o, epoch: o.Epoch}
}

// Flow gives the consumer permits for messages more.
func (c *Consumer) Flow(messages int) { c.d.Flow(c, messages) }

// Wake tries to dispatch again, after the client's connection has drained.
func (c *Consumer) Wake() { c.d.Wake() }

// Dispatcher is the one that the consumer is attached to.
func (c *Consumer) Dispatcher() Dispatcher { return c.d }

// ready says whether the consumer may be sent something now.
func (c *Consumer) ready() bool { return c.permits > 0 && !c.blocked && c.Outlet.Writable() }

// collect puts a message into the batch of the running pass and takes its permits.
func (c *Consumer) collect(d Delivery, messages int64) {
	d.ConsumerID = c.ID
	d.Partition = c.Partition
	if c.HasEpoch {
		d.ConsumerEpoch, d.HasEpoch = c.epoch, true
	}
	c.out = append(c.out, d)
	c.outMsgs += messages
	c.outBytes += int64(len(d.Data))
	if d.RedeliveryCount > 0 {
		c.outAgain += messages
	}
	c.permits -= messages
}

// flush sends what collect gathered; m are the subscription's meters.
func (c *Consumer) flush(now time.Time, m *Meters) {
	if len(c.out) == 0 {
		return
	}
	c.Outlet.Deliver(c.out)
	c.Sent.Add(now, c.outMsgs, c.outBytes)
	m.Sent.Add(now, c.outMsgs, c.outBytes)
	if c.outAgain > 0 {
		c.Redelivered.Add(now, c.outAgain, 0)
		m.Redelivered.Add(now, c.outAgain, 0)
	}
	c.entriesSent.Add(int64(len(c.out)))
	c.lastSent.Store(now.UnixMilli())
	clear(c.out)
	c.out = c.out[:0]
	c.outMsgs, c.outBytes, c.outAgain = 0, 0, 0
}

// acked counts acknowledged messages.
func (c *Consumer) acked(now time.Time, messages int64, m *Meters) {
	c.Acks.Add(now, messages, 0)
	m.Acks.Add(now, messages, 0)
	c.lastAck.Store(now.UnixMilli())
	m.LastAck.Store(now.UnixMilli())
}
