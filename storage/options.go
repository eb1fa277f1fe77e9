package storage

import (
	"log/slog"
	"time"

	"spoolctl/storage/offload"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SyncMode says when an operation counts as stored.
type SyncMode uint8

// The sync modes.
const (
	SyncBatch SyncMode = iota // when its batch is fsynced: it survives a power loss
	SyncNone                  // when it is applied: a power loss may take the last moments, a killed process loses nothing that was handed to the system
)

// LedgerLimits say when a topic goes on in a new ledger. The defaults are Pulsar's.
type LedgerLimits struct {
	MaxEntries int64         // default 50 000
	MaxBytes   int64         // payload bytes, default 2 GiB
	MaxAge     time.Duration // default 4 h
}

// Options configure a store. The zero value of a field means its default.
type Options struct {
	Dir    string       // the spool
	FS     vfs.FS       // default: the operating system's
	Logger *slog.Logger // default: nothing is logged
	// EngineLogger takes what Pebble says of its work, at the level of debugging; its errors go to Logger. Default: Logger.
	EngineLogger *slog.Logger
	Now          func() time.Time

	Sync                SyncMode
	Ledger              LedgerLimits
	CursorFlushInterval time.Duration // a changed cursor is durable at the latest this much later; default 100 ms
	TailCacheBytes      int64         // memory for recent entries of topics that are read at their end, all together; default 32 MiB
	MemTableBytes       uint64        // Pebble's memtable, and so about an epoch; default 48 MiB
	BlockCacheBytes     int64         // default 64 MiB
	QueueBytes          int64         // payload bytes that may wait in the commit queue before Append blocks; default 16 MiB
	QueueOps            int           // operations that may wait there, likewise; default 16 384
	StoreDeadline       time.Duration // how long an append may wait before it is refused; default 30 s
	BackgroundDeadline  time.Duration // how long flushes and compactions may fail, one after the other, before nothing is written any more; default 15 s
	HealthLatch         time.Duration // how long Health reports damage that was read; default 5 min, negative = until the store is closed

	// Entries are refused while less than this is free on the file system; negative = no limit.
	MinFreeBytes  int64 // default 512 MiB: memtables and the log have room until it was noticed
	MinFreeInodes int64 // default 1000
	// FreeInodes tells how many files more the file system of a directory can hold; default: the operating system.
	FreeInodes func(dir string) (n uint64, known bool)

	// Bucket is where ledgers are offloaded to; nil = nowhere. It belongs to the caller and must stay open until Close returned.
	Bucket          offload.Bucket
	OffloadInterval time.Duration // between two looks for ledgers to offload, besides when one is closed; default 1 min

	// Limits of what goes on at a time, what is more waits; 0 = no limit.
	MaxLoads   int // topics being opened
	MaxDeletes int // topics being deleted
}

const (
	maxBatchOps = 2048 // operations in one commit batch
	// maxBatchBytes is payload in one commit batch, unless one entry alone is larger: with keys and headers it fits into 2 MiB,
	// which is what the batch's memory then grows to.
	maxBatchBytes = 2<<20 - maxBatchOps*entryOverhead
	maxInFlight   = 8         // batches that are applied and wait for their fsync
	maxUnflushed  = 2         // epochs whose memtables wait for being flushed, before commits wait for them
	maxEntryBytes = 256 << 20 // far above any message size limit; keeps one entry inside a memtable batch
)

func (o Options) withDefaults() Options {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.EngineLogger == nil {
		o.EngineLogger = o.Logger
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ledger.MaxAge == 0 {
		o.Ledger.MaxAge = 4 * time.Hour
	}
	if o.CursorFlushInterval == 0 {
		o.CursorFlushInterval = 100 * time.Millisecond
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 48 << 20
	}
	def(&o.Ledger.MaxEntries, 50_000)
	def(&o.Ledger.MaxBytes, 2<<30)
	def(&o.TailCacheBytes, 32<<20)
	def(&o.BlockCacheBytes, 64<<20)
	def(&o.QueueBytes, 16<<20)
	if o.QueueOps == 0 {
		o.QueueOps = 16 << 10
	}
	if o.BackgroundDeadline == 0 {
		o.BackgroundDeadline = 15 * time.Second
	}
	if o.HealthLatch == 0 {
		o.HealthLatch = 5 * time.Minute
	}
	def(&o.MinFreeBytes, 512<<20)
	def(&o.MinFreeInodes, 1000)
	if o.FreeInodes == nil {
		o.FreeInodes = freeInodes
	}
	if o.OffloadInterval == 0 {
		o.OffloadInterval = time.Minute
	}
	if o.StoreDeadline == 0 {
		o.StoreDeadline = 30 * time.Second
	}
	return o
}
