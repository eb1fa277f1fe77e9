package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// The ways in which a spool is read.
const (
	ModeStopped    = "stopped"    // nobody has it open
	ModeCheckpoint = "checkpoint" // a consistent copy that the running broker made
	ModeLive       = "live"       // in place while a broker writes: not consistent
)

// Source says what an answer was read from.
type Source struct {
	Dir             string    `json:"spool" col:"SPOOL"`
	UUID            string    `json:"uuid" col:"UUID"`
	Format          int       `json:"format" col:"FORMAT"`
	Created         time.Time `json:"created" col:"CREATED" fmt:"time"`
	Mode            string    `json:"mode" col:"MODE"`
	Owner           *int      `json:"ownerPid" col:"OWNER_PID" fmt:"plain"` // nil: nobody has it open
	Checkpoint      *string   `json:"checkpoint" col:"CHECKPOINT"`
	CleanStop       time.Time `json:"cleanStop" col:"CLEAN_STOP" fmt:"time"` // zero: not stopped cleanly
	Unclean         bool      `json:"unclean" col:"UNCLEAN"`                 // stopped without closing
	Damaged         bool      `json:"damaged" col:"DAMAGED"`                 // read file by file
	ReplayedBatches int64     `json:"replayedBatches" col:"REPLAYED" fmt:"count"`
	ReplayedKeys    int64     `json:"replayedKeys" col:"REPLAYED_KEYS,wide" fmt:"count"`
}

// Identity fills in who the spool is.
func (s *Source) Identity(id storage.Identity) {
	s.UUID, s.Format, s.Created = id.UUID, id.Format, id.Created
}

// Session is a spool open for reading. It is for one goroutine. Close releases
// it.
type Session struct {
	o        Options
	dir      string // what is read: the spool or a checkpoint of it
	spool    *storage.Spool
	source   Source
	manifest *damage.Manifest // nil with a live spool
	files    damage.Files
	problems []damage.Problem
	closers  []func() error
}

// Close releases the spool. It removes what Open made outside of it.
func (s *Session) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// Source says what is read.
func (s *Session) Source() Source { return s.source }

// Problems lists what could not be read so far. It is complete once the answer
// was taken to its end.
func (s *Session) Problems() []damage.Problem { return s.problems }

// Notes are remarks about the source that every answer comes with.
func (s *Session) Notes() []string {
	var out []string
	switch src := s.source; {
	case src.Mode == ModeCheckpoint:
		out = append(out, fmt.Sprintf("process %d has the spool open; this is its checkpoint %s", *src.Owner, *src.Checkpoint))
	case src.Mode == ModeLive:
		out = append(out, fmt.Sprintf("process %d has the spool open and writes to it: this is not a consistent snapshot", *src.Owner))
	case src.Unclean:
		out = append(out, fmt.Sprintf("the spool was not stopped cleanly: %d records of the log were replayed in memory; what was being written when it stopped may be missing", src.ReplayedBatches))
	}
	return out
}

func (s *Session) storeDir() string { return s.o.FS.PathJoin(s.dir, storage.StoreDir) }

// Spool gives access to the spool for other readers; it is the session's.
func (s *Session) Spool() *storage.Spool { return s.spool }

// errAgain ends an attempt at an answer that is to be started again, because
// the source has changed to what could be rescued.
var errAgain = errors.New("start again")

// again runs an answer, twice when the first attempt finds the database
// damaged.
func again[T any](s *Session, answer func() (T, error)) (T, error) {
	out, err := answer()
	if errors.Is(err, errAgain) {
		out, err = answer()
	}
	return out, err
}

// isDamage tells a damaged database from other failures.
func isDamage(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) &&
		!errors.Is(err, storage.ErrTopicNotFound) && !errors.Is(err, errAgain)
}

// degrade goes on with what can be rescued after metadata could not be read.
// It returns errAgain, or cause when that has been done already.
func (s *Session) degrade(ctx context.Context, cause error) error {
	if !isDamage(cause) || s.source.Damaged || s.source.Mode == ModeLive {
		return cause
	}
	if err := s.rescue(ctx, cause); err != nil {
		return err
	}
	return errAgain
}

// heads reads the names of all topics.
func (s *Session) heads(ctx context.Context) (out []storage.TopicHead, err error) {
	err = s.spool.EachTopic(func(h storage.TopicHead) error {
		out = append(out, h)
		return ctx.Err()
	})
	if err != nil {
		return nil, s.degrade(ctx, err)
	}
	return out, nil
}

// topic reads one topic. A topic that cannot be read is nil and a problem.
func (s *Session) topic(ctx context.Context, h storage.TopicHead) (*storage.TopicView, error) {
	t, err := s.spool.Topic(h.ID)
	if err == nil || !isDamage(err) {
		return t, err
	}
	if err := s.degrade(ctx, err); errors.Is(err, errAgain) || !isDamage(err) {
		return nil, err
	}
	s.problem(damage.Problem{What: fmt.Sprintf("topic %s cannot be read: %s", h.Name, firstLine(err))})
	return nil, nil
}

func (s *Session) problem(p damage.Problem) { s.problems = append(s.problems, p) }

// walk calls each for the stored entries of t in [from, to), like
// storage.TopicView.Walk, but steps over entries that cannot be read and notes
// them as problems.
func (s *Session) walk(ctx context.Context, t *storage.TopicView, from, to wire.Position, each func(storage.Entry) (bool, error)) error {
	for {
		err := t.Walk(ctx, from, to, each)
		bad := new(storage.CorruptError)
		if err == nil || !errors.As(err, &bad) || bad.Topic == "" || bad.Position.Less(from) {
			return err
		}
		next := s.skip(t, bad.Position, bad.Cause)
		if !next.Less(to) || !bad.Position.Less(next) {
			return nil
		}
		from = next
	}
}

// skip notes that the entry at p cannot be read, with those behind it that
// cannot either, and returns the next position that can be, or the place after
// the last entry.
func (s *Session) skip(t *storage.TopicView, p wire.Position, cause error) wire.Position {
	next := s.nextReadable(t, p)
	end := next
	if next.Ledger != p.Ledger {
		for _, l := range t.Ledgers {
			if l.ID == p.Ledger {
				end = wire.Position{Ledger: p.Ledger, Entry: l.Entries}
			}
		}
	}
	n := max(1, end.Entry-p.Entry)
	s.problem(damage.Problem{
		What:    fmt.Sprintf("%s: entries %s to %d cannot be read: %s", t.Name, p, p.Entry+n-1, firstLine(cause)),
		Ledgers: []int64{p.Ledger}, Lost: &n,
	})
	return next
}

// nextReadable finds the first position after p whose entry can be read.
func (s *Session) nextReadable(t *storage.TopicView, p wire.Position) wire.Position {
	last := t.Ledgers.Next(t.Ledgers.LastConfirmed())
	for _, l := range t.Ledgers {
		if l.ID < p.Ledger {
			continue
		}
		for _, x := range l.Extents {
			first := x.First
			if l.ID == p.Ledger {
				first = max(first, p.Entry+1)
			}
			if first >= min(x.End(), l.Entries) {
				continue
			}
			if e, ok := s.firstEntry(x.Epoch, l.ID, first, min(x.End(), l.Entries)); ok {
				return wire.Position{Ledger: l.ID, Entry: e}
			}
		}
	}
	return last
}

// firstEntry finds the first readable entry in [first, end) of a run. Behind
// a block that cannot be read it looks in growing steps, then back.
func (s *Session) firstEntry(epoch uint64, ledger, first, end int64) (int64, bool) {
	it, err := s.spool.Reader().NewIter(&pebble.IterOptions{
		LowerBound: key.ForEntry(epoch, ledger, first), UpperBound: key.ForEntry(epoch, ledger, end),
	})
	if err != nil {
		return 0, false
	}
	defer it.Close()
	for step := int64(1); ; step *= 2 {
		if it.First(); it.Error() == nil {
			if !it.Valid() {
				return 0, false
			}
			break
		}
		if it.SeekGE(key.ForEntry(epoch, ledger, min(first+step, end-1))) {
			break
		}
		if first+step >= end-1 {
			return 0, false
		}
	}
	_, _, found, err := key.ParseEntry(it.Key())
	if err != nil {
		return 0, false
	}
	for it.Prev() {
		if _, _, e, err := key.ParseEntry(it.Key()); err == nil {
			found = e
		}
	}
	return found, true
}

// firstLine is an error's text in one line.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
