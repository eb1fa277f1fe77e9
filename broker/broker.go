package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"

	"spoolctl/broker/conn"
	"spoolctl/broker/topic"
	"spoolctl/storage"
)

// endpointFile, in the spool, says where the daemon listens while it runs.
const endpointFile = "broker.json"

// Endpoint is where a running daemon is reached; the content of SPOOL/broker.json.
type Endpoint struct {
	PID     int `json:"pid"`
	Port    int `json:"port"`
	WebPort int `json:"webPort"`
}

// Broker is a running daemon.
type Broker struct {
	cfg      Config // from its sources
	dynamic  *dynamic
	log      *slog.Logger
	started  time.Time
	bucket   Bucket     // nil = none is configured
	engine   *engineLog // of the database
	store    *storage.Store
	registry *topic.Registry
	server   *conn.Server
	web      *http.Server
	binary   net.Listener
	http     net.Listener
	serving  sync.WaitGroup

	effective atomic.Pointer[Config] // cfg with what was changed at run time
}

// Run starts the daemon, serves until ctx ends, and stops it in stages.
func Run(ctx context.Context, cfg Config) error {
	b, err := Start(ctx, cfg)
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.cfg.StopDeadline)
	defer cancel()
	return b.Stop(stop)
}

// Start starts the daemon; it serves when Start returns. Stop must follow.
func Start(ctx context.Context, cfg Config) (_ *Broker, err error) {
	b := &Broker{cfg: cfg, log: cfg.Logger, started: time.Now()}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.cfg.Now == nil {
		b.cfg.Now = time.Now
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.abandon())
		}
	}()
	// The ports first: a wrong one is found before the spool is touched.
	if b.binary, err = listen(cfg.Bind, cfg.Port, "port"); err != nil {
		return b, err
	}
	if b.http, err = listen(cfg.Bind, cfg.WebPort, "web-port"); err != nil {
		return b, err
	}
	if err := b.openBucket(ctx); err != nil {
		return b, err
	}
	b.engine = newEngineLog(filepath.Join(cfg.Spool, storage.LogsDir), b.cfg.Now, b.log)
	if b.store, err = storage.Open(ctx, b.storageOptions()); err != nil {
		return b, err
	}
	b.dynamic = &dynamic{b: b, turn: make(chan struct{}, 1)}
	if err := b.dynamic.load(); err != nil {
		return b, err
	}
	b.registry, err = topic.New(ctx, b.topicOptions())
	if err != nil {
		return b, err
	}
	b.server = conn.NewServer(b.connOptions())
	b.web = &http.Server{
		Handler: b.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
	}
	b.serving.Go(func() {
		if err := b.server.Serve(b.binary); err != nil {
			b.log.Error("the binary port is not served any more", "error", err)
		}
	})
	b.serving.Go(func() {
		if err := b.web.Serve(b.http); !errors.Is(err, http.ErrServerClosed) {
			b.log.Error("the web port is not served any more", "error", err)
		}
	})
	e := b.Endpoint()
	if err := b.writeEndpoint(e); err != nil {
		return b, err
	}
	b.log.Info("ready", "spool", cfg.Spool, "bind", cfg.Bind, "port", e.Port, "webPort", e.WebPort, "took", time.Since(b.started).Round(time.Microsecond))
	if cfg.Ready != nil {
		cfg.Ready(e)
	}
	return b, nil
}

func listen(bind string, port int, key string) (net.Listener, error) {
	network := "tcp"
	if ip := net.ParseIP(bind); ip != nil && ip.To4() != nil {
		network = "tcp4" // "0.0.0.0" means IPv4 only
	}
	l, err := net.Listen(network, net.JoinHostPort(bind, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (bind, %s): %w; choose another one, or 0 for a free port", net.JoinHostPort(bind, strconv.Itoa(port)), key, err)
	}
	return l, nil
}

// bucketPatience is how long the object store may take to answer at the start.
const bucketPatience = 10 * time.Second

// openBucket opens the configured object store, and fails when it does not answer: better now than when a topic is read.
func (b *Broker) openBucket(ctx context.Context) error {
	url := b.cfg.OffloadBucket
	if url == "" {
		return nil
	}
	if b.cfg.OpenBucket == nil {
		return &ConfigError{Source: "configuration", Key: "offload-bucket", Text: "this program has no object stores built in; leave it empty"}
	}
	// A driver may go on using the context for its credentials.
	bucket, err := b.cfg.OpenBucket(context.WithoutCancel(ctx), url)
	if err != nil {
		return &ConfigError{Source: "configuration", Key: "offload-bucket", Text: err.Error()}
	}
	b.bucket = bucket
	ctx, cancel := context.WithTimeout(ctx, bucketPatience)
	defer cancel()
	if err := b.bucket.Check(ctx); err != nil {
		return fmt.Errorf("the object store of offload-bucket does not answer as it should: %w; check its URL, its credentials and the network", err)
	}
	return nil
}

func (b *Broker) storageOptions() storage.Options {
	c := &b.cfg
	o := storage.Options{
		Dir: c.Spool, Logger: b.log, EngineLogger: b.engine.logger(), Now: c.Now,
		Sync: c.Sync, Ledger: c.Ledger, CursorFlushInterval: c.CursorFlushInterval, StoreDeadline: c.StoreDeadline,
		MinFreeBytes: orNone(c.MinFreeBytes), MinFreeInodes: orNone(c.MinFreeInodes), HealthLatch: cmp.Or(c.HealthLatch, 1),
		MaxLoads: c.MaxLoads, MaxDeletes: c.MaxDeletes,
	}
	if b.bucket != nil {
		o.Bucket = b.bucket
	}
	return o
}

// orNone turns no limit into what the store calls so.
func orNone(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

func (b *Broker) topicOptions() topic.Options {
	c := b.effective.Load()
	return topic.Options{
		Store: b.store, Logger: b.log, Now: c.Now, Cluster: c.Cluster, Defaults: c.Defaults,
		MaxPartitions: c.MaxPartitions, FailoverDelay: c.FailoverDelay, BatchIndexAck: c.BatchIndexAck,
		Sweep: time.Minute, ExpiryCheck: c.ExpiryCheck, QuotaCheck: c.QuotaCheck, InactiveCheck: c.InactiveCheck, CompactionCheck: c.CompactionCheck, ProducerMemory: c.ProducerMemory,
	}
}

func (b *Broker) connOptions() conn.Options {
	c := &b.cfg
	return conn.Options{
		Registry: b.registry, Logger: b.log, Auth: c.Auth, Authorizer: c.Authorizer, Version: c.Version,
		AdvertisedHost: c.AdvertisedHost, MaxMessageSize: c.MaxMessageSize, KeepAlive: c.KeepAlive,
		MaxConnections: c.MaxConnections, MaxPerAddress: c.MaxConnectionsPerAddress,
	}
}

// Config is the configuration in effect.
func (b *Broker) Config() Config { return *b.effective.Load() }

// Store is the open spool.
func (b *Broker) Store() *storage.Store { return b.store }

// Registry has the tenants, namespaces and topics.
func (b *Broker) Registry() *topic.Registry { return b.registry }

// Server serves the binary protocol.
func (b *Broker) Server() *conn.Server { return b.server }

// Started is when the daemon was started.
func (b *Broker) Started() time.Time { return b.started }

// Endpoint is where the daemon is reached.
func (b *Broker) Endpoint() Endpoint {
	return Endpoint{PID: os.Getpid(), Port: portOf(b.binary), WebPort: portOf(b.http)}
}

func portOf(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func (b *Broker) writeEndpoint(e Endpoint) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", endpointFile, err)
	}
	if err := renameio.WriteFile(filepath.Join(b.cfg.Spool, endpointFile), append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", endpointFile, err)
	}
	return nil
}
