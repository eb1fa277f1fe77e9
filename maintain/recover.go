package maintain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Recovery says what became of a run that was interrupted.
type Recovery struct {
	Verb       string    `json:"verb" col:"VERB"`
	Started    time.Time `json:"started" col:"STARTED" fmt:"time"`
	Changed    bool      `json:"changed" col:"CHANGED"`       // the spool has the new state; else the old one
	Checkpoint *string   `json:"checkpoint" col:"CHECKPOINT"` // where the old state is, when the spool has the new one
}

// String is the recovery in one line.
func (r Recovery) String() string {
	s := fmt.Sprintf("storage %s, started at %s, was interrupted: ", r.Verb, r.Started.UTC().Format(time.RFC3339))
	switch {
	case !r.Changed:
		return s + "nothing was changed"
	case r.Checkpoint != nil:
		return s + "its change is complete; the state before is checkpoint " + *r.Checkpoint
	}
	return s + "its change is complete"
}

func (j *journal) recovery(changed bool) Recovery {
	r := Recovery{Verb: j.Verb, Started: j.Started, Changed: changed}
	if changed && j.Checkpoint != "" {
		r.Checkpoint = &j.Checkpoint
	}
	return r
}

// Interrupted tells whether a run on the spool in dir was interrupted and is not cleaned up yet, and how it ended. It
// changes nothing.
func Interrupted(dir string) (*Recovery, error) {
	j, err := readJournal(dir)
	if j == nil || err != nil {
		return nil, err
	}
	r := j.recovery(j.switched(dir))
	return &r, nil
}

// switched reports whether the run had put its database in place, or has to be completed for there to be one.
func (j *journal) switched(dir string) bool {
	return j.marked(storeDir(dir)) || (!exists(storeDir(dir)) && j.marked(storeDir(filepath.Join(dir, stagingName))))
}

// Recover cleans up after an interrupted run, if there was one: the new state when it had been put in place, the old one
// otherwise. Every verb does this first.
func Recover(o Options) error {
	o = o.withDefaults()
	lock, err := o.lockRecovered()
	if err != nil {
		return err
	}
	return lock.Close()
}

// lockRecovered takes the spool's lock and cleans up.
func (o *Options) lockRecovered() (lock interface{ Close() error }, err error) {
	j, err := readJournal(o.Dir)
	if err != nil {
		return nil, err
	}
	if j != nil && !exists(storeDir(o.Dir)) { // there is nothing to lock before
		if err := o.completeSwitch(); err != nil {
			return nil, err
		}
	}
	if lock, err = lockSpool(o.Dir); err != nil {
		return nil, err
	}
	if j, err = readJournal(o.Dir); err == nil {
		if j != nil {
			err = o.cleanUp(j)
		} else {
			err = o.sweep()
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// cleanUp ends the run that j tells of.
func (o *Options) cleanUp(j *journal) error {
	r := j.recovery(j.switched(o.Dir))
	var err error
	if r.Changed {
		if err = o.completeSwitch(); err == nil {
			err = o.finish(j)
		}
	} else {
		err = o.abandon(j)
	}
	if err != nil {
		return fmt.Errorf("clean up after an interrupted storage %s: %w", j.Verb, err)
	}
	o.Recovered(r)
	return nil
}

// abandon removes what was staged.
func (o *Options) abandon(j *journal) error {
	if err := os.RemoveAll(o.staging()); err != nil {
		return err
	}
	return j.remove(o.Dir)
}

// finish makes the old database a checkpoint, or removes it. It may be called again from any place it has come to.
func (o *Options) finish(j *journal) error {
	if err := o.step("keep"); err != nil {
		return err
	}
	if err := o.keepOld(j); err != nil {
		return err
	}
	if err := o.step("end"); err != nil {
		return err
	}
	// The mark goes after the journal: without it, the journal would tell that nothing was changed.
	if err := j.remove(o.Dir); err != nil {
		return err
	}
	if err := o.step("sweep"); err != nil {
		return err
	}
	return o.sweep()
}

// sweep removes what a kill can leave before there is a journal and after it is gone.
func (o *Options) sweep() error {
	list, err := os.ReadDir(o.Dir)
	if err != nil {
		return err
	}
	left := []string{filepath.Join(storeDir(o.Dir), markerName)}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "."+journalName) { // it was being written
			left = append(left, filepath.Join(o.Dir, e.Name()))
		}
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (o *Options) keepOld(j *journal) error {
	if j.Checkpoint == "" {
		return os.RemoveAll(o.staging())
	}
	if err := os.MkdirAll(checkpointsDir(o.Dir), 0o700); err != nil {
		return err
	}
	err := os.Rename(o.staging(), filepath.Join(checkpointsDir(o.Dir), j.Checkpoint))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(syncDir(checkpointsDir(o.Dir)), syncDir(o.Dir))
}
