package storage

import (
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchOptions are the options of the spool's database, for measuring against the bare engine.
func BenchOptions() *pebble.Options {
	o := Options{}.withDefaults()
	return pebbleOptions(o, vfs.Default, pebbleLogger{slog.New(slog.DiscardHandler)})
}
