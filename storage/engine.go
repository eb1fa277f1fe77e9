package storage

import (
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// EngineOptions returns the options of the spool's database, for measuring the store against the bare engine.
func EngineOptions() *pebble.Options {
	quiet := slog.New(slog.DiscardHandler)
	return pebbleOptions(Options{}.withDefaults(), vfs.Default, pebbleLogger{log: quiet, work: quiet})
}
