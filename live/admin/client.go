package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits and defaults of a Client.
const (
	// DefaultURL is where a broker on this machine listens.
	DefaultURL = "http://127.0.0.1:8080"
	// DefaultTimeout bounds one call from connecting to the last byte.
	DefaultTimeout = 30 * time.Second
	// MaxBody bounds an answer, in bytes.
	MaxBody = 64 << 20
	// maxRedirects bounds how often a call follows "another broker owns this".
	maxRedirects = 5
)

// Options describe a broker. The zero value is DefaultURL without credentials.
type Options struct {
	// URL is the web service, http or https, with or without a path prefix.
	URL string
	// Token gives the bearer token, asked for at each call; nil means none.
	Token func() (string, error)
	// Timeout bounds each call; 0 is DefaultTimeout.
	Timeout time.Duration
	// HTTP is the transport; nil is http.DefaultTransport.
	HTTP http.RoundTripper
	// Trace, when set, is told about each exchange; secrets are not in it.
	Trace func(Exchange)
	// UserAgent names the program; empty is "spoolctl".
	UserAgent string
}

// Exchange is one call as Options.Trace sees it.
type Exchange struct {
	Method, URL string
	RequestBody []byte
	Status      int // 0 when no answer came
	Took        time.Duration
	Err         error
}

// Client sends requests to one broker. It is safe for concurrent use.
type Client struct {
	base *url.URL
	o    Options
	http *http.Client
}

// New checks the URL; it does not connect.
func New(o Options) (*Client, error) {
	if o.URL == "" {
		o.URL = DefaultURL
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = "spoolctl"
	}
	base, err := url.Parse(strings.TrimRight(o.URL, "/"))
	if err != nil {
		return nil, fmt.Errorf("admin URL: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("admin URL %q: write http://HOST:PORT or https://HOST:PORT", o.URL)
	}
	c := &Client{base: base, o: o}
	c.http = &http.Client{Transport: o.HTTP, CheckRedirect: c.redirect}
	return c, nil
}

// URL is the address that the client talks to.
func (c *Client) URL() string { return c.base.String() }

// Response is an answer with a status below 300.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends one request. Errors are *UnreachableError, *StatusError, or about
// the request itself. A cancelled ctx is returned as its own error.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	call, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := c.build(call, r)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	resp, err := c.send(req)
	if c.o.Trace != nil {
		x := Exchange{Method: req.Method, URL: req.URL.String(), RequestBody: r.Body, Took: time.Since(start), Err: err}
		var status *StatusError
		if resp != nil {
			x.Status = resp.Status
		} else if errors.As(err, &status) {
			x.Status = status.Status
		}
		c.o.Trace(x)
	}
	if err == nil {
		return resp, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var status *StatusError
	if errors.As(err, &status) {
		return nil, err
	}
	if call.Err() != nil {
		err = fmt.Errorf("no complete answer within %s", c.o.Timeout)
	}
	return nil, &UnreachableError{URL: c.URL(), Err: innermost(err)}
}

func (c *Client) build(ctx context.Context, r Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL(c.URL()), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for _, h := range r.header(c.o.UserAgent) {
		req.Header.Set(h[0], h[1])
	}
	return req, c.authorize(req)
}

func (c *Client) authorize(req *http.Request) error {
	if c.o.Token == nil {
		return nil
	}
	token, err := c.o.Token()
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// redirect follows a cluster's "ask the owner" with the same credentials, but
// never from https to http.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("redirected more than %d times, last to %s", maxRedirects, req.URL.Redacted())
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("refused a redirect from https to %s", req.URL.Redacted())
	}
	return c.authorize(req)
}

func (c *Client) send(req *http.Request) (*Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > MaxBody {
		return nil, fmt.Errorf("the answer is larger than %d bytes", MaxBody)
	}
	if resp.StatusCode >= 300 {
		return nil, statusError(resp, body)
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// innermost takes the layers off that repeat the URL and the address.
func innermost(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		err = op.Err
	}
	return err
}
