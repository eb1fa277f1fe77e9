package traffic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/prometheus/client_golang/prometheus"
)

// DefaultURL is where a broker on this machine listens for clients.
const DefaultURL = "pulsar://127.0.0.1:6650"

// UnreachableError says that nothing answers at a broker's address.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("cannot reach %s: %v", e.URL, e.Err) }
func (e *UnreachableError) Unwrap() error { return e.Err }

// DialOptions name a broker.
type DialOptions struct {
	// URL is pulsar://HOST:PORT or pulsar+ssl://HOST:PORT; empty is DefaultURL.
	URL string
	// Token gives the credential, asked for at each connection; nil is none.
	Token func() (string, error)
	// Timeout bounds connecting and each request.
	Timeout time.Duration
	// Log takes what the client library says; nil is silence.
	Log *slog.Logger
}

// Dial makes a client after one plain connection has shown that something
// listens: the library itself would retry for its whole timeout.
func Dial(ctx context.Context, o DialOptions) (pulsar.Client, error) {
	if o.URL == "" {
		o.URL = DefaultURL
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("broker URL %q: write pulsar://HOST:PORT", o.URL)
	}
	d := net.Dialer{Timeout: o.Timeout}
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, &UnreachableError{URL: o.URL, Err: err}
	}
	if err := conn.Close(); err != nil {
		return nil, &UnreachableError{URL: o.URL, Err: err}
	}
	logger := o.Log
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	co := pulsar.ClientOptions{
		URL: o.URL, ConnectionTimeout: o.Timeout, OperationTimeout: o.Timeout,
		Logger:            log.NewLoggerWithSlog(logger),
		MetricsRegisterer: prometheus.NewRegistry(),
	}
	if o.Token != nil {
		token, err := o.Token()
		if err != nil {
			return nil, err
		}
		if token != "" {
			co.Authentication = pulsar.NewAuthenticationTokenFromSupplier(o.Token)
		}
	}
	return pulsar.NewClient(co)
}
