package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Limits and defaults of a Scraper.
const (
	// DefaultTimeout bounds one scrape from connecting to the last byte.
	DefaultTimeout = 10 * time.Second
	// DefaultMaxBytes bounds the text, in bytes: some 20 000 topics.
	DefaultMaxBytes = 256 << 20
)

// Options name a metrics page.
type Options struct {
	// URL is the whole address, such as http://127.0.0.1:8080/metrics.
	URL string
	// Token gives the bearer token, asked for at each scrape; nil is none.
	Token func() (string, error)
	// Timeout bounds each scrape; 0 is DefaultTimeout.
	Timeout time.Duration
	// MaxBytes bounds the text; 0 is DefaultMaxBytes.
	MaxBytes int64
	// HTTP is the transport; nil is http.DefaultTransport.
	HTTP http.RoundTripper
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Scraper fetches one metrics page. It is safe for concurrent use.
type Scraper struct {
	o    Options
	http *http.Client
}

// New checks the URL; it does not connect.
func New(o Options) (*Scraper, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("metrics URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("metrics URL %q: write http://HOST:PORT/metrics", o.URL)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Scraper{o: o, http: &http.Client{Transport: o.HTTP}}, nil
}

// URL is the page that is fetched.
func (s *Scraper) URL() string { return s.o.URL }

// ScrapeError says why a scrape failed, or is partial.
type ScrapeError struct {
	URL    string
	Status int // HTTP status when it was not 200, else 0
	Err    error
}

func (e *ScrapeError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s answers %d %s", e.URL, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("metrics of %s: %v", e.URL, e.Err)
}

func (e *ScrapeError) Unwrap() error { return e.Err }

var errTooLarge = errors.New("the page is too large")

// Scrape fetches and sorts the metrics. On an error the snapshot is nil, or
// partial when some of the text was understood. Errors are *ScrapeError, or
// the error of a cancelled ctx.
func (s *Scraper) Scrape(ctx context.Context) (*Snapshot, error) {
	call, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	start := s.o.Now()
	snap, err := s.fetch(call)
	if snap != nil {
		snap.At, snap.Took = start, s.o.Now().Sub(start)
	}
	if err == nil {
		return snap, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if call.Err() != nil {
		err = &ScrapeError{URL: s.o.URL, Err: fmt.Errorf("no complete answer within %s", s.o.Timeout)}
	}
	if snap != nil && snap.empty() {
		snap = nil
	}
	return snap, err
}

func (s *Scraper) fetch(ctx context.Context) (*Snapshot, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.o.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4;q=1,*/*;q=0.1")
	if s.o.Token != nil {
		token, err := s.o.Token()
		if err != nil {
			return nil, err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
	}
	resp, err := s.http.Do(req)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, &ScrapeError{URL: s.o.URL, Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &ScrapeError{URL: s.o.URL, Status: resp.StatusCode}
	}
	snap, err := Parse(&limited{r: resp.Body, left: s.o.MaxBytes})
	if err != nil {
		err = &ScrapeError{URL: s.o.URL, Err: err}
	}
	return snap, err
}

// limited is an io.LimitReader that says when it cut.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(b)) > l.left {
		b = b[:l.left]
	}
	n, err := l.r.Read(b)
	l.left -= int64(n)
	return n, err
}

func (s *Snapshot) empty() bool {
	return len(s.Topics) == 0 && len(s.Namespaces) == 0 && len(s.Families) == 0
}
