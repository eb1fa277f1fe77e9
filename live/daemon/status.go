package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Status is how the broker of one spool is.
type Status struct {
	Spool   string
	Running bool
	// Unclean: broker.json was left behind by a broker that did not stop cleanly.
	Unclean bool
	Record  Record    // zero unless Running or Unclean
	Since   time.Time // when it became ready
	// Serving: its web port answered within the deadline.
	Serving bool
	// Problem is why it does not serve, "" when it does.
	Problem string
}

// Check looks at the record, the process and the web port. It changes nothing.
// An absent broker is a Status, not an error.
func Check(ctx context.Context, spool string, deadline time.Duration) (Status, error) {
	s := Status{Spool: spool}
	r, err := ReadRecord(spool)
	if errors.Is(err, ErrNotRunning) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Record = r
	if info, err := os.Stat(filepath.Join(spool, RecordName)); err == nil {
		s.Since = info.ModTime()
	}
	if !alive(r.PID) || !s.Since.IsZero() && startedAfter(r.PID, s.Since) {
		s.Unclean = true
		return s, nil
	}
	s.Running = true
	if err := probe(ctx, r.WebPort, deadline); err != nil {
		s.Problem = err.Error()
	} else {
		s.Serving = true
	}
	return s, nil
}

// probe asks the metrics page, the one path that every broker answers without
// credentials. Any answer below 500 shows that the broker serves.
func probe(ctx context.Context, webPort int, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d/metrics", webPort)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("the web port %d did not answer within %s", webPort, deadline)
		}
		return fmt.Errorf("the web port %d does not answer: %w", webPort, err)
	}
	resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the web port %d answers %s", webPort, resp.Status)
	}
	return nil
}
