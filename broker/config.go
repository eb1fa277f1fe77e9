package broker

import (
	"context"
	"log/slog"
	"time"

	"spoolctl/broker/auth"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/storage/offload"
)

// Config is the daemon's configuration. DefaultConfig gives the defaults; settings.go
// names the fields that files, the environment and flags can set.
type Config struct {
	Spool string // the spool's directory

	Bind           string // address to listen on
	Port           int    // binary protocol; 0 = a free one
	WebPort        int    // HTTP; 0 = a free one
	TLSPort        int    // binary protocol over TLS; 0 = none. Used when TLS is there
	WebTLSPort     int    // HTTPS; 0 = none. Used when TLS is there
	AdvertisedHost string // what lookup tells clients; empty = the address they reached

	Cluster        string
	BatchIndexAck  bool
	topic.Defaults // the broker's policies, Sync included

	MaxMessageSize           int
	MaxConnections           int
	MaxConnectionsPerAddress int
	MaxPartitions            int

	ExpiryCheck    time.Duration // how often messages and subscriptions are looked at for their age; 0 = never, as the next two
	QuotaCheck     time.Duration
	InactiveCheck  time.Duration
	ProducerMemory time.Duration // of deduplication, for a producer that stores nothing; 0 = for ever

	KeepAlive     time.Duration
	FailoverDelay time.Duration
	StopDeadline  time.Duration // a stop that takes longer turns into a hard one

	CompactionCheck time.Duration // how often topics are looked at for being compacted; 0 = never

	CursorFlushInterval time.Duration
	Ledger              storage.LedgerLimits
	StoreDeadline       time.Duration // how long a message may wait to be stored before it is refused
	MinFreeBytes        int64         // messages are refused while less is free on the spool's disk; 0 = never, as the next
	MinFreeInodes       int64
	HealthLatch         time.Duration // how long damage that was read makes the daemon unhealthy; 0 = not at all, -1 = until it is started again
	MaxLoads            int           // topics that are loaded at a time; 0 = no limit, as the next
	MaxDeletes          int
	OffloadBucket       string // URL of the object store that ledgers are offloaded to; empty = none

	LogLevel slog.Level

	// What follows cannot be set from a file.
	Version    string
	Logger     *slog.Logger       // nil = nothing is logged
	Auth       auth.Authenticator // nil = everybody is anonymous
	Authorizer auth.Authorizer    // nil = everything is allowed
	Now        func() time.Time   // nil = time.Now
	// OpenBucket opens the object store of a URL; nil = there is none to be had.
	OpenBucket func(ctx context.Context, url string) (Bucket, error)
	// Ready is called once when clients can connect.
	Ready func(e Endpoint)
}

// Bucket is an open object store. The daemon closes it.
type Bucket interface {
	offload.Bucket
	// Check returns an error when it cannot be reached.
	Check(ctx context.Context) error
	Close() error
}

// DefaultConfig is what holds when nothing is configured; the numbers are Pulsar's. Unlike in Pulsar nothing is deleted by
// default: topics that nobody uses stay.
func DefaultConfig() Config {
	return Config{
		Spool: "./spool", Bind: "127.0.0.1", Port: 6650, WebPort: 8080,
		Cluster: "standalone", BatchIndexAck: true, MaxMessageSize: 5 << 20,
		Defaults: topic.Defaults{
			AutoCreateTopics: true, DefaultPartitions: 1, AutoCreateSubscriptions: true,
			UnackedPerConsumer: 50_000, UnackedPerSubscription: 200_000,
			QuotaPolicy: topic.QuotaHold, InactiveMode: topic.InactiveNoSubscriptions, InactiveAfter: time.Minute,
			OffloadAfter: -1, OffloadLag: 4 * time.Hour,
		},
		ExpiryCheck: 5 * time.Minute, QuotaCheck: time.Minute, InactiveCheck: time.Minute, ProducerMemory: 6 * time.Hour,
		KeepAlive: 30 * time.Second, FailoverDelay: time.Second, StopDeadline: 30 * time.Second,
		CompactionCheck:     time.Minute,
		CursorFlushInterval: 100 * time.Millisecond,
		Ledger:              storage.LedgerLimits{MaxEntries: 50_000, MaxBytes: 2 << 30, MaxAge: 4 * time.Hour},
		StoreDeadline:       30 * time.Second, MinFreeBytes: 512 << 20, MinFreeInodes: 1000, HealthLatch: 5 * time.Minute,
		MaxLoads: 5000,
	}
}
