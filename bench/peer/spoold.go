package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"spoolctl/bench/load"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	startLimit = time.Minute
	startPoll  = time.Millisecond
)

// ErrExternal is returned for what only a broker that bench has started can tell.
var ErrExternal = errors.New("needs a broker that bench starts")

// Spoold is a running daemon, or a broker that somebody else started.
type Spoold struct {
	Addr  string        // host:port of the binary protocol
	Web   string        // http://host:port; empty = unknown
	Ready time.Duration // from exec to the first handshake
	p     *process      // nil = started by somebody else
}

// External is a broker at host:port that bench did not start.
func External(addr string) *Spoold { return &Spoold{Addr: addr} }

// Launch says how to start a daemon.
type Launch struct {
	Program string
	Spool   string
	Log     string // file for its output
	Limits  Limits
	Args    []string
}

// Start runs the daemon and waits for its first handshake.
func (l Launch) Start(ctx context.Context) (*Spoold, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	web, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Spoold{Addr: "127.0.0.1:" + port, Web: "http://127.0.0.1:" + web}
	argv := append([]string{l.Program, "--spool", l.Spool, "--port", port, "--web-port", web}, l.Args...)
	if s.p, err = start(ctx, l.Log, l.Limits, argv...); err != nil {
		return nil, err
	}
	for {
		if c, err := load.Dial(ctx, s.Addr); err == nil {
			s.Ready = time.Since(s.p.begun)
			c.Close()
			return s, nil
		}
		if s.p.ended() || ctx.Err() != nil || time.Since(s.p.begun) > startLimit {
			_, err := s.Stop()
			return nil, errors.Join(fmt.Errorf("spoold did not get ready; its log is %s", l.Log), err)
		}
		time.Sleep(startPoll)
	}
}

// freePort finds a port that nobody listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// Stop ends the daemon; its spool and its log stay.
func (s *Spoold) Stop() (Usage, error) {
	if s.p == nil {
		return Usage{PeakRSS: -1, Written: -1, Anon: -1, File: -1}, nil
	}
	return s.p.stop(syscall.SIGTERM)
}

// Kill ends the daemon as a crash does.
func (s *Spoold) Kill() (Usage, error) {
	if s.p == nil {
		return Usage{}, ErrExternal
	}
	return s.p.stop(syscall.SIGKILL)
}

// RSS is the resident memory now, in bytes.
func (s *Spoold) RSS() (int64, error) {
	if s.p == nil {
		return 0, ErrExternal
	}
	return s.p.status("VmRSS")
}

// Written is what the daemon has handed to the block devices so far, in bytes.
func (s *Spoold) Written() (int64, error) {
	if s.p == nil {
		return 0, ErrExternal
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", s.p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return lineValue(string(b), "write_bytes:")
}

// Metric reads a metric that has one series.
func (s *Spoold) Metric(ctx context.Context, name string) (float64, error) {
	if s.Web == "" {
		return 0, ErrExternal
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Web+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(resp.Body)
	if err != nil {
		return 0, err
	}
	for _, m := range families[name].GetMetric() {
		return m.GetGauge().GetValue() + m.GetCounter().GetValue(), nil
	}
	return 0, fmt.Errorf("the broker exports no %s", name)
}
