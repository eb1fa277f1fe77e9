package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"spoolctl/storage/key"
	"spoolctl/storage/offload"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// OffloadPolicy says which of a topic's closed ledgers go to object storage by themselves.
type OffloadPolicy struct {
	Threshold   int64         // payload bytes that may be here only; the oldest ledgers above it go. Negative = none by itself
	DeletionLag time.Duration // how long the entries stay here too; negative = for ever
}

// OffloadStatus is how offloading stands for a topic.
type OffloadStatus struct {
	Running          bool
	Last             error     // what the last run ended with
	LastLedger       int64     // offloaded last, -1 = none since the topic was opened
	Succeeded        time.Time // when that was; zero = never
	Failed           time.Time // when a run failed last; zero = never
	FirstUnoffloaded wire.Position
}

// Errors of asking for offloading.
var (
	ErrNoBucket       = errors.New("no object store is configured")
	ErrOffloadRunning = errors.New("offloading is running already")
)

// offloading is a topic's part in it; the topic's lock guards it.
type offloading struct {
	policy OffloadPolicy
	asked  *wire.Position // everything before it is to go, whatever the policy
	status OffloadStatus
}

// SetOffloadPolicy sets what goes to object storage by itself.
func (t *Topic) SetOffloadPolicy(p OffloadPolicy) {
	t.mu.Lock()
	t.offload.policy = p
	t.mu.Unlock()
	t.s.offloader.wake()
}

// Offload asks for every closed ledger that ends before a position to be put into object storage, in the background. It
// returns ErrNoBucket or ErrOffloadRunning.
func (t *Topic) Offload(before wire.Position) error {
	if t.s.objects == nil {
		return ErrNoBucket
	}
	t.mu.Lock()
	if t.offload.asked != nil {
		t.mu.Unlock()
		return ErrOffloadRunning
	}
	t.offload.asked, t.offload.status.Running = &before, true
	t.mu.Unlock()
	t.s.offloader.wake()
	return nil
}

// OffloadStatus returns how offloading stands.
func (t *Topic) OffloadStatus() OffloadStatus {
	t.mu.RLock()
	defer t.mu.RUnlock()
	st := t.offload.status
	st.FirstUnoffloaded = t.ledgers.last().end()
	for _, l := range t.ledgers {
		if l.Object == "" {
			st.FirstUnoffloaded = wire.Position{Ledger: l.ID}
			break
		}
	}
	return st
}

// nextToOffload returns a copy of the oldest closed ledger that is to go by the policy or because it was asked for; nil when
// none is.
func (t *Topic) nextToOffload(asked *wire.Position) *Ledger {
	t.mu.RLock()
	defer t.mu.RUnlock()
	here, p := int64(0), t.offload.policy
	for _, l := range t.ledgers {
		if l.Object == "" {
			here += l.Bytes
		}
	}
	for _, l := range t.ledgers {
		if l.Object != "" || l.State != record.LedgerClosed || l.Entries == 0 || len(l.Lost) > 0 {
			continue // an object holds every entry of its ledger
		}
		if p.Threshold >= 0 && here > p.Threshold || asked != nil && !asked.Less(l.end()) {
			out := *l
			return &out
		}
		return nil
	}
	return nil
}

// offloader puts ledgers into object storage, one at a time, and deletes what is not needed here or there any more.
type offloader struct {
	s      *Store
	cancel context.CancelFunc
	wg     sync.WaitGroup
	woken  chan struct{}

	mu   sync.Mutex
	dead []string // objects of ledgers that are gone
}

// startOffloader begins the work; without an object store there is none.
func startOffloader(s *Store) *offloader {
	ctx, cancel := context.WithCancel(context.Background())
	o := &offloader{s: s, cancel: cancel, woken: make(chan struct{}, 1)}
	if s.objects != nil {
		o.wg.Go(func() { o.work(ctx) })
	}
	return o
}

func (o *offloader) stop() {
	o.cancel()
	o.wg.Wait()
}

// wake asks for a look before the next tick.
func (o *offloader) wake() {
	select {
	case o.woken <- struct{}{}:
	default:
	}
}

// gone notes the object of a ledger that is gone.
func (o *offloader) gone(ls []*Ledger) {
	o.mu.Lock()
	for _, l := range ls {
		if l.Object != "" {
			o.dead = append(o.dead, l.Object)
		}
	}
	o.mu.Unlock()
	o.wake()
}

// sweepEvery is how often objects are looked for that no ledger refers to.
const sweepEvery = 24 * time.Hour

func (o *offloader) work(ctx context.Context) {
	tick := time.NewTicker(o.s.opt.OffloadInterval)
	defer tick.Stop()
	var swept time.Time
	for ctx.Err() == nil {
		if now := o.s.opt.Now(); swept.IsZero() || now.Sub(swept) >= sweepEvery {
			if err := o.sweep(ctx); err == nil {
				swept = now
			} else if ctx.Err() == nil {
				o.s.log.Error("objects that no ledger needs cannot be removed; trying again", "error", err)
			}
		}
		for _, t := range o.s.openTopics() {
			o.topic(ctx, t)
		}
		o.deleteObjects(ctx)
		select {
		case <-tick.C:
		case <-o.woken:
		case <-ctx.Done():
		}
	}
}

// topic does what is to do for one topic.
func (o *offloader) topic(ctx context.Context, t *Topic) {
	t.mu.RLock()
	asked := t.offload.asked
	t.mu.RUnlock()
	var err error
	for l := t.nextToOffload(asked); l != nil && err == nil; l = t.nextToOffload(asked) {
		err = o.ledger(ctx, t, l)
	}
	t.mu.Lock()
	st := &t.offload.status
	if asked != nil { // else somebody may just have asked: his turn comes
		st.Last, st.Running, t.offload.asked = err, false, nil
	}
	if err != nil {
		st.Last, st.Failed = err, o.s.opt.Now()
	}
	t.mu.Unlock()
	err = firstError(err, o.deleteLocal(ctx, t))
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		o.s.log.Error("offloading failed; trying again", "topic", t.full, "error", err)
	}
}

// ledger puts one ledger into object storage and records it.
func (o *offloader) ledger(ctx context.Context, t *Topic, l *Ledger) error {
	t.mu.RLock()
	spans := Ledgers{l}.spans(wire.Position{Ledger: l.ID}, l.end(), l.Entries)
	t.mu.RUnlock()
	var value []byte
	obj, err := offload.Write(ctx, offload.WriteOptions{
		Bucket: o.s.objects.bucket, Ledger: offload.Ref{Spool: o.s.objects.spool, Ledger: l.ID, Entries: l.Entries},
		Source: func(ctx context.Context, each func(int64, []byte) error) error {
			return t.reader().walk(ctx, spans, func(e Entry) error {
				value = append(record.AppendHeader(value[:0], e.Header), e.Data...)
				return each(e.Position.Entry, value)
			})
		},
	})
	if err != nil && !t.has(wire.Position{Ledger: l.ID}) {
		return nil // it was trimmed meanwhile
	}
	if err != nil {
		return err
	}
	now := o.s.opt.Now()
	err = t.changeLedger(ctx, l.ID, func(_ *batch, l *Ledger) error {
		l.Object, l.ObjectBytes, l.Offloaded = obj.Name, obj.Size, now
		return nil
	})
	if errors.Is(err, errLedgerGone) {
		return offload.Delete(ctx, o.s.objects.bucket, obj)
	}
	if err != nil {
		return err // whether it is recorded is not known: the sweep finds out
	}
	t.mu.Lock()
	t.offload.status.LastLedger, t.offload.status.Succeeded, t.offload.status.Last = l.ID, now, nil
	t.mu.Unlock()
	o.s.log.Info("a ledger was offloaded", "topic", t.full, "ledger", l.ID, "entries", l.Entries, "object", obj.Name, "bytes", obj.Size)
	return nil
}

// deleteLocal removes entries whose object has been there for as long as the policy wants.
func (o *offloader) deleteLocal(ctx context.Context, t *Topic) error {
	t.mu.RLock()
	var due []int64
	for _, l := range t.ledgers {
		if lag := t.offload.policy.DeletionLag; l.Object != "" && !l.LocalDeleted && lag >= 0 && o.s.opt.Now().Sub(l.Offloaded) >= lag {
			due = append(due, l.ID)
		}
	}
	t.mu.RUnlock()
	for _, id := range due {
		err := t.changeLedger(ctx, id, func(b *batch, l *Ledger) error {
			l.LocalDeleted = true
			if err := o.s.dropEntries(b, l); err != nil {
				return err
			}
			l.Extents, l.parts = nil, nil
			return nil
		})
		if err != nil && !errors.Is(err, errLedgerGone) {
			return err
		}
	}
	return nil
}

var errLedgerGone = errors.New("the ledger is gone")

// changeLedger changes the record of a closed ledger; durable on return. It returns errLedgerGone when it was trimmed.
func (t *Topic) changeLedger(ctx context.Context, id int64, change func(*batch, *Ledger) error) error {
	return t.s.control(ctx, func(b *batch) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.closed {
			return ErrClosed
		}
		l := t.ledgers.byID(id)
		if l == nil {
			return errLedgerGone
		}
		changed := *l
		if err := change(b, &changed); err != nil {
			return err
		}
		if err := b.Set(key.ForLedger(t.id, id), changed.Append(nil), nil); err != nil {
			return err
		}
		*l = changed
		return nil
	})
}

// dropEntries makes garbage of a ledger's entries here; see reclaim.go.
func (s *Store) dropEntries(b *batch, l *Ledger) error {
	s.committer.forgetLedger(l.ID)
	for epoch := range l.epochs() {
		g := Garbage{epoch, l.ID}
		if err := b.Set(g.key(), binary.AppendUvarint(nil, 1), nil); err != nil {
			return err
		}
		b.garbage = append(b.garbage, g)
	}
	lower, upper := key.ForExtents(l.ID)
	return b.DeleteRange(lower, upper, nil)
}

// deleteObjects removes the objects of ledgers that are gone; what fails is left to the sweep.
func (o *offloader) deleteObjects(ctx context.Context) {
	o.mu.Lock()
	dead := o.dead
	o.dead = nil
	o.mu.Unlock()
	for _, name := range dead {
		if err := offload.Delete(ctx, o.s.objects.bucket, offload.Object{Name: name}); err != nil && ctx.Err() == nil {
			o.s.log.Error("an object that no ledger needs cannot be removed; trying again within a day", "object", name, "error", err)
		}
	}
}

// sweep removes the objects of this spool that no ledger refers to: of ledgers that went while the object store could not
// be reached, and of uploads that were not recorded. No upload runs meanwhile.
func (o *offloader) sweep(ctx context.Context) error {
	needed := map[string]struct{}{}
	lower, upper := key.Ledger.Bounds()
	err := scan(o.s.db, lower, upper, func(_, v []byte) error {
		l, err := record.ParseLedger(v)
		if err != nil {
			return err
		}
		if l.Object != "" {
			needed[l.Object] = struct{}{}
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("look for objects in use: %w", err)
	}
	keep := func(_ int64, name string) bool {
		_, ok := needed[name]
		return ok
	}
	for x, err := range offload.Orphans(ctx, o.s.objects.bucket, o.s.objects.spool, keep) {
		if err != nil {
			return err
		}
		if err := offload.Delete(ctx, o.s.objects.bucket, offload.Object{Name: x.Name}); err != nil {
			return err
		}
		o.s.log.Info("an object that no ledger needs was removed", "object", x.Name, "bytes", x.Size)
	}
	return nil
}
