package storage

import (
	"context"
	"fmt"
)

// Roll closes the open ledger when it has entries, so that appends go on in a new one; durable on return.
func (t *Topic) Roll(ctx context.Context) error {
	if err := t.rollFilled(); err != nil {
		return err
	}
	return t.s.control(ctx, func(*batch) error { return nil })
}

func (t *Topic) rollFilled() error {
	t.appendMu.Lock()
	defer t.appendMu.Unlock()
	if t.closing {
		return ErrClosed
	}
	if w := t.writer; w != nil && !w.failed.Load() {
		if w.rec.Entries == 0 {
			return nil
		}
	} else {
		t.mu.RLock()
		empty := t.ledgers.last().Entries == 0
		t.mu.RUnlock()
		if empty {
			return nil
		}
	}
	_, err := t.roll()
	return err
}

// Truncate moves every cursor to the end and removes all ledgers but the newest, which is empty then unless entries were
// added meanwhile; retention is not asked. Durable on return.
func (t *Topic) Truncate(ctx context.Context) (TrimResult, error) {
	if err := t.Roll(ctx); err != nil {
		return TrimResult{}, fmt.Errorf("truncate %s: %w", t.full, err)
	}
	for _, c := range t.Cursors() {
		if err := c.Clear(ctx); err != nil {
			return TrimResult{}, fmt.Errorf("truncate %s: %w", t.full, err)
		}
	}
	t.mu.Lock()
	if l := t.compact.ledger; l != nil {
		t.compact.ledger, t.compact.stale = nil, append(t.compact.stale, l)
	}
	t.mu.Unlock()
	if err := t.dropStale(ctx); err != nil {
		return TrimResult{}, fmt.Errorf("truncate %s: %w", t.full, err)
	}
	return t.trim(ctx, TrimPolicy{})
}
