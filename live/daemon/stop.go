package daemon

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// StopResult says how a broker ended.
type StopResult struct {
	Record Record
	Took   time.Duration
	// Killed: it did not end within the grace period and was killed.
	Killed bool
}

// ErrStillRunning means that the broker did not end in time and killing was not asked for.
var ErrStillRunning = errors.New("the broker is still stopping")

// Stop sends TERM to the broker of the spool and waits up to grace for it to
// end; after that it is killed if kill is set, otherwise ErrStillRunning.
// ErrNotRunning when there is none.
func Stop(ctx context.Context, spool string, grace time.Duration, kill bool) (StopResult, error) {
	s, err := Check(ctx, spool, probeTimeout)
	if err != nil {
		return StopResult{}, err
	}
	if !s.Running {
		return StopResult{}, fmt.Errorf("%w on %s", ErrNotRunning, spool)
	}
	pid := s.Record.PID
	start := time.Now()
	killed, err := stopProcess(ctx, pid, grace, kill, func() bool { return !alive(pid) })
	return StopResult{Record: s.Record, Took: time.Since(start), Killed: killed}, err
}

func stopProcess(ctx context.Context, pid int, grace time.Duration, kill bool, gone func() bool) (killed bool, err error) {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return false, nil
		}
		return false, fmt.Errorf("pid %d: %w", pid, err)
	}
	if waitGone(ctx, grace, gone) {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if !kill {
		return false, fmt.Errorf("%w after %s: pid %d", ErrStillRunning, grace, pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("pid %d: %w", pid, err)
	}
	if !waitGone(ctx, giveUpGrace, gone) {
		return true, fmt.Errorf("pid %d survives KILL", pid)
	}
	return true, nil
}

func waitGone(ctx context.Context, limit time.Duration, gone func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !gone() {
		select {
		case <-ctx.Done():
			return gone()
		case <-tick.C:
		}
	}
	return true
}
