package scenario

import (
	"context"
	"sync"

	"spoolctl/bench/load"
	"spoolctl/bench/peer"
	"spoolctl/storage"
)

// kinds compares the storage kinds, without a broker, by what counts as stored.
func kinds() Scenario {
	const size, many, few = kib, 400_000, 20_000
	ring := sync.OnceValue(func() *load.Ring { return load.NewRing(size) })
	pebble := func(mode storage.SyncMode) func(context.Context, *Env) ([]float64, error) {
		return func(ctx context.Context, e *Env) ([]float64, error) {
			return value(peer.PublishStore(ctx, e.data("spool"), ring(), e.messages(many), mode))
		}
	}
	files := func(messages, every int) func(context.Context, *Env) ([]float64, error) {
		return func(_ context.Context, e *Env) ([]float64, error) {
			return value(peer.PublishFiles(e.data("files"), ring(), e.messages(messages), every))
		}
	}
	unit := []string{perSecond}
	return Scenario{
		Name: "kinds", What: "storage kinds and sync modes, 1 KiB, one topic, without a broker",
		Sides: []Side{
			{"pebble, batch: fsynced with others", unit, pebble(storage.SyncBatch)},
			{"pebble, none: left to the system", unit, pebble(storage.SyncNone)},
			{"files, each fsynced", unit, files(few/20, 1)},
			{"files, 128 fsynced at a time", unit, files(few, 128)},
			{"files, left to the system", unit, files(few, 0)},
		},
	}
}
