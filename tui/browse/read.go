package browse

import (
	"context"
	"errors"
	"slices"

	"spoolctl/inspect"
	"spoolctl/inspect/damage"

	tea "github.com/charmbracelet/bubbletea"
)

// state is what is to be said about the spool itself.
type state struct {
	source   inspect.Source
	notes    []string
	problems []damage.Problem // so far
}

func stateOf(s *inspect.Session) state {
	return state{source: s.Source(), notes: s.Notes(), problems: slices.Clone(s.Problems())}
}

// reader lets one read at a time have the session.
type reader struct {
	ctx     context.Context
	session *inspect.Session
	turn    chan struct{} // holds a value while the session is in use
}

func newReader(ctx context.Context, s *inspect.Session) *reader {
	return &reader{ctx: ctx, session: s, turn: make(chan struct{}, 1)}
}

// read waits for its turn and reads. The state is nil when its turn did not come.
func (r *reader) read(ctx context.Context, do func(context.Context, *inspect.Session) error) (*state, error) {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-r.turn }()
	err := ctx.Err()
	if err == nil {
		err = do(ctx, r.session)
	}
	st := stateOf(r.session)
	return &st, err
}

// finish waits until the last read is over and lets no other begin. The reader's context must have ended.
func (r *reader) finish() { r.turn <- struct{}{} }

// job is the reading of one page: one read at a time. It belongs to Update; only what start returns runs elsewhere.
type job struct {
	*base
	cancel context.CancelFunc
	number int    // of the read
	what   string // is being read; empty when nothing is
	err    error  // of the last read
}

// answer is the end of a read.
type answer struct {
	job    *job
	number int
	then   func() tea.Cmd
	state  *state // nil: not known
	err    error
}

// read begins a read, which ends the one before. do runs outside of Update and returns what puts its result into the page.
func (j *job) read(what string, do func(context.Context, *inspect.Session) (then func() tea.Cmd, err error)) tea.Cmd {
	j.stop()
	ctx, cancel := context.WithCancel(j.reader.ctx)
	j.cancel, j.what, j.err = cancel, what, nil
	number := j.number
	return func() tea.Msg {
		a := answer{job: j, number: number}
		a.state, a.err = j.reader.read(ctx, func(ctx context.Context, s *inspect.Session) (err error) {
			a.then, err = do(ctx, s)
			return err
		})
		return a
	}
}

// stop ends the read, if there is one; its answer will be dropped.
func (j *job) stop() bool {
	j.number++
	if j.what == "" {
		return false
	}
	j.cancel()
	j.what = ""
	return true
}

// take puts the answer into its page, unless the read was stopped.
func (a answer) take() tea.Cmd {
	j := a.job
	if a.number != j.number {
		return nil
	}
	j.stop()
	if a.err != nil {
		if !errors.Is(a.err, context.Canceled) {
			j.err = a.err
		}
		return nil
	}
	return a.then()
}
