package dispatch

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// retryRead is the pause after a read from the spool failed.
const retryRead = time.Second

// base is what all dispatchers have. mu guards it, the consumers' dispatch state and
// the fields of the type that embeds it. It is never held while reading the spool.
type base struct {
	// hungry is true while entries could be sent if there were any; without it a
	// commit need not start a pass.
	hungry hunger

	Options
	pump   pump
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	consumers []*Consumer
	read      wire.Position // the next entry to be read
	gen       uint64        // grows whenever a read under way is made void
	closed    bool
	buf       []storage.PendingEntry // used by the one running pass

	// sizeHint is the average of messages in an entry, at least 1.
	sizeHint float64
}

func (b *base) init(o Options, pass func()) {
	b.Options = o
	b.hungry.all = o.Hungry
	if b.hungry.all == nil {
		b.hungry.all = new(atomic.Int32)
	}
	b.sizeHint = 1
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.pump.init(pass)
	if o.Source != nil {
		b.read = after(o.Source.MarkDelete())
	}
}

func (b *base) Type() pb.CommandSubscribe_SubType { return b.Options.Type }

func (b *base) Data() {
	if b.hungry.is.Load() {
		b.pump.kick()
	}
}

func (b *base) Wake() { b.pump.kick() }

func (b *base) Consumers() []*Consumer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.consumers)
}

func (b *base) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.pump.stop()
	b.hungry.set(false)
}

// hunger says whether a dispatcher wants entries, and counts those that do. What is stored before a dispatcher turns hungry
// it finds by itself; of what is stored after that, it must be told.
type hunger struct {
	is  atomic.Bool
	all *atomic.Int32
}

func (h *hunger) set(hungry bool) {
	switch {
	case h.is.Swap(hungry) == hungry:
	case hungry:
		h.all.Add(1)
	default:
		h.all.Add(-1)
	}
}

// attach puts a consumer into the list; the list is ordered by priority, then by
// arrival. The caller holds mu.
func (b *base) attach(c *Consumer) error {
	if b.closed {
		return fault.New(fault.NotReady, "the subscription is closing; try again")
	}
	at := len(b.consumers)
	for at > 0 && b.consumers[at-1].Priority > c.Priority {
		at--
	}
	b.consumers = slices.Insert(b.consumers, at, c)
	return nil
}

// detach takes a consumer out of the list; false when it is not there. The caller holds mu.
func (b *base) detach(c *Consumer) bool {
	at := slices.Index(b.consumers, c)
	if at < 0 {
		return false
	}
	b.consumers = slices.Delete(b.consumers, at, at+1)
	return true
}

// permit books a FLOW. The caller holds mu.
func (b *base) permit(c *Consumer, messages int) {
	c.permits += int64(messages)
	now := b.Now().UnixMilli()
	c.lastFlow.Store(now)
	b.Meters.LastFlow.Store(now)
}

// entriesFor estimates how many entries hold so many messages.
func (b *base) entriesFor(messages int64) int {
	n := int(float64(messages) / b.sizeHint)
	return max(1, min(n, readEntries))
}

// learn updates the average size of an entry.
func (b *base) learn(messages int32) {
	b.sizeHint = max(1, b.sizeHint*0.9+float64(messages)*0.1)
}

// failed books a failed read: try again later.
func (b *base) failed(err error) {
	if b.ctx.Err() != nil {
		return
	}
	b.Logger().Error("cannot read entries for a subscription; trying again", "error", err, "in", retryRead)
	now := b.Now()
	b.pump.kickAt(now, now.Add(retryRead))
}

// snapshot describes what base knows. The caller holds mu.
func (b *base) snapshot() Snapshot {
	s := Snapshot{ReadPosition: b.read}
	for _, c := range b.consumers {
		s.Consumers = append(s.Consumers, ConsumerSnapshot{
			Consumer: c, Permits: c.permits, Unacked: c.unacked, Blocked: c.blocked,
			LastFlow: c.lastFlow.Load(), LastSent: c.lastSent.Load(), LastAck: c.lastAck.Load(),
			Entries: c.entriesSent.Load(),
		})
	}
	return s
}

// unackedIn counts the messages of an entry that are still to be delivered.
func unackedIn(e *storage.PendingEntry) int32 {
	if e.Remaining == nil {
		return max(1, e.Header.Messages)
	}
	var n int
	for _, w := range e.Remaining {
		n += bits.OnesCount64(w)
	}
	return int32(n)
}

// sum counts the messages of acknowledgements.
func sum(acks []Acked) (n int64) {
	for _, a := range acks {
		n += int64(a.Messages)
	}
	return n
}
