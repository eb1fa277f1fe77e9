package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
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
	CutShort        bool      `json:"logCutShort" col:"LOG_CUT_SHORT"`       // the log ends in the middle of a write
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
	lost     lostEntries
	rescued  bool                // spool is a copy of what could be read
	away     bool                // entries in object storage were left out
	subjects map[string]*subject // by topic
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
		out = append(out, fmt.Sprintf("the spool was not stopped cleanly, or is a checkpoint: %d records of the log were replayed in memory; what was being written at that moment may be missing", src.ReplayedBatches))
		if src.CutShort {
			out = append(out, "the log ends in the middle of a write: a kill or a power loss leaves it so; the write was never acknowledged")
		}
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
		!errors.Is(err, storage.ErrTopicNotFound) && !errors.Is(err, errAgain) && !errors.As(err, new(*storage.OffloadedError))
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
	return s.load(ctx, h, (*storage.Spool).Topic)
}

// load is topic, by one of the spool's ways of reading it.
func (s *Session) load(ctx context.Context, h storage.TopicHead, read func(*storage.Spool, uint64) (*storage.TopicView, error)) (*storage.TopicView, error) {
	t, err := read(s.spool, h.ID)
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

// firstLine is an error's text in one line.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
