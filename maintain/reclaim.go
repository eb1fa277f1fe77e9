package maintain

import (
	"context"

	"spoolctl/storage"
	"spoolctl/storage/key"

	"github.com/cockroachdb/pebble/v2"
)

// reclaiming adds to an apply that the space of deleted ledgers is given back at once. The notes about them stay: the
// broker removes them as it does after a crash.
func reclaiming(apply func(context.Context, string) error) func(context.Context, string) error {
	return func(ctx context.Context, dir string) error {
		if err := apply(ctx, dir); err != nil {
			return err
		}
		s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
		if err != nil {
			return err
		}
		garbage := s.Meta().Garbage
		if err := s.Close(); err != nil || len(garbage) == 0 {
			return err
		}
		return onDB(func(ctx context.Context, db *pebble.DB) error {
			if err := db.Flush(); err != nil {
				return err
			}
			for _, g := range garbage {
				span := pebble.KeyRange{Start: key.ForEntry(g.Epoch, g.Ledger, 0), End: key.ForEntry(g.Epoch, g.Ledger+1, 0)}
				if err := db.Excise(ctx, span); err != nil {
					return err
				}
			}
			return nil
		})(ctx, dir)
	}
}
