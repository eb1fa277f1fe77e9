package inspect

import (
	"context"
	"errors"

	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
)

// Transaction is one line of `inspect transactions`.
type Transaction struct {
	Key  string `json:"key" col:"KEY,name"` // as people read it
	Size int    `json:"size" col:"SIZE" fmt:"bytes"`
}

// Transactions lists the records of transactions. This program writes none
// yet: what is found was written by another version and is named, not
// decoded.
func (s *Session) Transactions(ctx context.Context) ([]Transaction, error) {
	return again(s, func() (out []Transaction, err error) {
		lower, upper := key.Txn.Bounds()
		it, err := s.spool.Reader().NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return nil, s.degrade(ctx, err)
		}
		for ok := it.First(); ok && ctx.Err() == nil; ok = it.Next() {
			v, err := it.ValueAndErr()
			if err != nil {
				break // the iterator keeps it
			}
			out = append(out, Transaction{Key: key.Format(it.Key()), Size: len(v)})
		}
		if err := errors.Join(it.Error(), it.Close(), ctx.Err()); err != nil {
			return nil, s.degrade(ctx, err)
		}
		return out, nil
	})
}
