package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
)

// reclaim removes garbage whose epoch is in tables. It excises spans, which drops or cuts tables and rewrites nothing; range
// deletions would make every table beside them be compacted. Garbage of the newest epochs waits: excising a memtable would
// force a flush. A crash in between leaves the notes about the garbage, and it is removed again.
func (f *flusher) reclaim(ctx context.Context) {
	ready := f.takeReady()
	if len(ready) == 0 {
		return
	}
	done, err := f.excise(ctx, ready)
	if len(done) > 0 {
		err = errors.Join(err, f.s.control(ctx, func(b *batch) error {
			for _, g := range done {
				if err := b.Delete(g.key(), nil); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if err != nil {
		f.garbage(ready) // tried again; what is gone already does no harm
		if !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
			f.s.log.Error("space of deleted entries cannot be reclaimed; trying again", "error", err)
		}
	}
}

// takeReady takes the garbage that may go, by epoch and ledger.
func (f *flusher) takeReady() (ready []Garbage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.ended) > 0 {
		select {
		case <-f.ended[0].flushed:
			f.flushed = f.ended[0].epoch
			f.ended = f.ended[1:]
			continue
		default:
		}
		break
	}
	wait := f.dead[:0:0]
	for _, g := range f.dead {
		if g.Epoch <= f.flushed {
			ready = append(ready, g)
		} else {
			wait = append(wait, g)
		}
	}
	f.dead = wait
	slices.SortFunc(ready, func(a, b Garbage) int { return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Ledger, b.Ledger)) })
	return slices.Compact(ready)
}

// excise removes spans, ledgers with neighbouring ids of one epoch together, and returns what is gone.
func (f *flusher) excise(ctx context.Context, g []Garbage) (done []Garbage, err error) {
	for i := 0; i < len(g); {
		j := i + 1
		for j < len(g) && g[j].Epoch == g[i].Epoch && g[j].Ledger == g[j-1].Ledger+1 {
			j++
		}
		if err := errors.Join(ctx.Err(), f.s.fence.err()); err != nil {
			return done, err
		}
		err := f.s.db.Excise(ctx, pebble.KeyRange{Start: key.ForEntry(g[i].Epoch, g[i].Ledger, 0), End: key.ForEntry(g[i].Epoch, g[j-1].Ledger+1, 0)})
		if err != nil {
			return done, err
		}
		done = append(done, g[i:j]...)
		i = j
	}
	return done, nil
}
