package storage

import (
	"context"
	"errors"
	"slices"
	"sort"

	"spoolctl/storage/key"
	"spoolctl/storage/offload"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// Quarantine: an entry that cannot be what was written is passed over by readers, so that one damaged block does not keep
// everything behind it from being delivered. It stays where it is, and in the backlog of every cursor that has not passed
// it, for `inspect` and `salvage`; it is counted, and the first of a run is logged.

// damaged reports whether an entry's error is about the entry, and not about the disk or the reader.
func (e *CorruptError) damaged() bool {
	var object *offload.DamagedError
	return errors.As(e.Cause, &object) || pebble.IsCorruptionError(e.Cause) || errors.Is(e.Cause, ErrEntryNotFound) ||
		errors.Is(e.Cause, record.ErrMalformed) || errors.Is(e.Cause, key.ErrMalformed)
}

// endOfDamage returns the first entry after a damaged one that can be read. Every look at a damaged block costs Pebble tenths
// of a second, in which it searches for a flipped bit, so the steps grow, and then halve.
func (t *Topic) endOfDamage(ctx context.Context, e *CorruptError) int64 {
	if e.next != 0 {
		return e.next
	}
	readable := func(entry int64) bool {
		p := wire.Position{Ledger: e.Position.Ledger, Entry: entry}
		if !t.has(p) {
			return true // the ledger ends, or is gone
		}
		_, err := t.readStored(ctx, p, 1, 1, nil)
		var still *CorruptError
		return !errors.As(err, &still) || !still.damaged()
	}
	bad, good := e.Position.Entry, e.Position.Entry+1
	for step := int64(1); ctx.Err() == nil && !readable(good); step *= 2 {
		bad, good = good, good+step
	}
	return bad + 1 + int64(sort.Search(int(good-bad-1), func(i int) bool { return readable(bad + 1 + int64(i)) }))
}

// quarantine remembers damage and returns the position to read on from.
func (t *Topic) quarantine(ctx context.Context, e *CorruptError) wire.Position {
	next := t.endOfDamage(ctx, e)
	t.mu.Lock()
	defer t.mu.Unlock()
	ledger := e.Position.Ledger
	run, known := Range{Lower: wire.Position{Ledger: ledger, Entry: e.Position.Entry - 1}, Upper: wire.Position{Ledger: ledger, Entry: next - 1}}, int64(0)
	t.damaged = slices.DeleteFunc(t.damaged, func(r Range) bool { // becomes part of the run when it touches it
		if r.Lower.Ledger != ledger || r.Upper.Less(run.Lower) || run.Upper.Less(r.Lower) {
			return false
		}
		known += r.Entries()
		run.Lower.Entry = min(run.Lower.Entry, r.Lower.Entry)
		run.Upper.Entry = max(run.Upper.Entry, r.Upper.Entry)
		return true
	})
	t.damaged = append(t.damaged, run)
	t.s.stats.quarantined.Add(run.Entries() - known)
	if known == 0 {
		t.s.log.Error("an entry is damaged; readers pass over it, and it stays in the backlog. Look at it with spoolctl inspect verify",
			"topic", t.full, "position", e.Position.String(), "error", e.Cause)
	}
	return after(run.Upper)
}

// passDamaged returns the first position from p on that is not known to be damaged. The topic's lock is held.
func (t *Topic) passDamaged(p wire.Position) wire.Position {
	for i := range t.damaged {
		if r := &t.damaged[i]; r.Lower.Less(p) && !r.Upper.Less(p) {
			p = after(r.Upper)
		}
	}
	return p
}

// Quarantined returns the runs of entries that were found damaged since the topic was opened.
func (t *Topic) Quarantined() []Range {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return append([]Range(nil), t.damaged...)
}
