package storage

import (
	"context"
	"errors"
	"math"
	"sync"

	"spoolctl/storage/offload"
	"spoolctl/storage/record"
	"spoolctl/wire"
)

// maxOpenObjects is how many objects stay open for their next reader: each holds its index and up to 4 MiB of blocks.
const maxOpenObjects = 16

// objects reads entries that are in object storage.
type objects struct {
	bucket offload.Bucket
	spool  string // its uuid

	mu   sync.Mutex
	open map[string]*openObject // by name
	uses int64
}

type openObject struct {
	r       *offload.Reader
	readers int
	lastUse int64 // by objects.uses
}

func newObjects(b offload.Bucket, spool string) *objects {
	if b == nil {
		return nil
	}
	return &objects{bucket: b, spool: spool, open: map[string]*openObject{}}
}

// object returns where the ledger's entries are in object storage; the spool is filled in by whoever reads it.
func (l *Ledger) object() *offload.Object {
	return &offload.Object{Ref: offload.Ref{Ledger: l.ID, Entries: l.Entries}, Name: l.Object, Size: l.ObjectBytes}
}

// use runs f with a reader of the object.
func (o *objects) use(ctx context.Context, obj offload.Object, f func(*offload.Reader) error) error {
	if o == nil {
		return &OffloadedError{Ledger: obj.Ledger, Object: obj.Name}
	}
	obj.Spool = o.spool
	x := o.held(obj.Name)
	if x == nil {
		r, err := offload.Open(ctx, offload.OpenOptions{Bucket: o.bucket, Object: obj})
		if err != nil {
			return err
		}
		x = o.hold(obj.Name, r)
	}
	defer o.release(x)
	return f(x.r)
}

// held takes an open object, nil when it is not open.
func (o *objects) held(name string) *openObject {
	o.mu.Lock()
	defer o.mu.Unlock()
	x := o.open[name]
	if x != nil {
		x.readers++
		o.uses++
		x.lastUse = o.uses
	}
	return x
}

// hold keeps a reader open, closing another one when there are too many; if somebody was faster, r is closed.
func (o *objects) hold(name string, r *offload.Reader) *openObject {
	var surplus *offload.Reader
	o.mu.Lock()
	x := o.open[name]
	if x == nil {
		x = &openObject{r: r}
		o.open[name] = x
		surplus = o.oldest()
	} else {
		surplus = r
	}
	x.readers++
	o.uses++
	x.lastUse = o.uses
	o.mu.Unlock()
	if surplus != nil {
		surplus.Close()
	}
	return x
}

// oldest takes out the reader that was used longest ago, nil while there is room. The lock is held.
func (o *objects) oldest() (r *offload.Reader) {
	if len(o.open) <= maxOpenObjects {
		return nil
	}
	least, which := int64(math.MaxInt64), ""
	for name, x := range o.open {
		if x.readers == 0 && x.lastUse > 0 && x.lastUse < least {
			least, which = x.lastUse, name
		}
	}
	if which != "" {
		r = o.open[which].r
		delete(o.open, which)
	}
	return r
}

func (o *objects) release(x *openObject) {
	o.mu.Lock()
	defer o.mu.Unlock()
	x.readers--
}

// close closes every reader; nobody may read any more.
func (o *objects) close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	open := o.open
	o.open = nil
	o.mu.Unlock()
	for _, x := range open {
		x.r.Close()
	}
}

// walkObject is walk for a span in an object.
func (er entryReader) walkObject(ctx context.Context, sp span, each func(Entry) error) error {
	want := sp.first
	pos := func() wire.Position { return wire.Position{Ledger: sp.ledger, Entry: want} }
	err := er.objects.use(ctx, *sp.object, func(r *offload.Reader) error {
		return r.Read(ctx, sp.first, int(sp.last-sp.first), math.MaxInt, func(entry int64, v []byte) error {
			if entry != want {
				return er.missing(pos(), nil, entry)
			}
			h, data, err := record.ParseHeader(v)
			if err != nil {
				return er.corrupt(pos(), nil, err)
			}
			if err := each(Entry{pos(), h, data}); err != nil {
				return err
			}
			want++
			return nil
		})
	})
	var bad *offload.DamagedError
	switch {
	case errors.As(err, &bad):
		return &CorruptError{Topic: er.topic, Position: pos(), Cause: err, next: bad.Next}
	case err == nil && want != sp.last:
		return er.missing(pos(), nil, sp.last)
	}
	return err
}
