package maintain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// work is what one verb does inside the frame.
type work struct {
	verb string
	// plan fills in what will be done, reading the spool as it is; no action means nothing to do.
	plan func(ctx context.Context, p *Plan) error
	// stage makes the staged spool in dir, which does not exist; nil: a copy of the spool.
	stage func(ctx context.Context, dir string) error
	// apply changes the staged spool in dir; may be nil.
	apply func(ctx context.Context, dir string) error
}

// margin is what a run needs on disk beside what it copies: a log, a MANIFEST and small tables.
const margin = 16 << 20

// run does w: lock, clean up, plan, confirm, journal, stage, apply, switch, keep the old state. An error before the switch
// leaves the spool as it was.
func (o Options) run(ctx context.Context, w work) (_ *Result, err error) {
	o = o.withDefaults()
	if o.DryRun {
		return o.plan(ctx, w)
	}
	lock, err := o.lockRecovered()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := o.step("plan"); err != nil {
		return nil, err
	}
	res, err := o.plan(ctx, w)
	if err != nil || len(res.Actions) == 0 {
		return res, err
	}
	if err := o.room(res.Plan); err != nil {
		return nil, err
	}
	if err := o.Confirm(ctx, res.Plan); err != nil {
		return nil, err
	}
	if res.Before, _, err = size(o.Dir); err != nil {
		return nil, err
	}
	j := &journal{ID: w.verb + "-" + o.Now().UTC().Format("20060102T150405.000000000Z"), Verb: w.verb, Started: o.Now().UTC(), Checkpoint: res.Checkpoint}
	if err := o.replace(ctx, w, j); err != nil {
		return nil, err
	}
	res.Done = true
	res.After, _, err = size(o.Dir)
	return res, err
}

// plan makes the plan, without the lock: a dry run changes nothing.
func (o *Options) plan(ctx context.Context, w work) (*Result, error) {
	if _, err := storage.ReadIdentity(vfs.Default, o.Dir); err != nil {
		return nil, err
	}
	if o.DryRun {
		if err := unowned(o.Dir); err != nil {
			return nil, err
		}
	}
	p, err := o.newPlan(w.verb)
	if err != nil {
		return nil, err
	}
	if err := w.plan(ctx, p); err != nil {
		return nil, err
	}
	if len(p.Actions) == 0 {
		p.Checkpoint = ""
		return &Result{Plan: p}, nil
	}
	_, copied, err := size(o.Dir)
	p.Need += copied + margin
	return &Result{Plan: p}, err
}

func (o *Options) room(p *Plan) error {
	free, err := o.Free(o.Dir)
	if err != nil {
		return fmt.Errorf("ask for the free space of %s: %w", o.Dir, err)
	}
	if free < uint64(p.Need) {
		return &SpaceError{Dir: o.Dir, Free: free, Want: uint64(p.Need)}
	}
	return nil
}

// replace stages, changes and switches.
func (o *Options) replace(ctx context.Context, w work, j *journal) (err error) {
	if err := o.step("journal"); err != nil {
		return err
	}
	if err := j.write(o.Dir); err != nil {
		return err
	}
	switched := false
	defer func() {
		if err != nil && !switched && !errors.As(err, new(*stoppedError)) {
			err = errors.Join(err, o.abandon(j))
		}
	}()
	if err := o.prepare(ctx, w, j); err != nil {
		return err
	}
	// Whoever comes after the switch finds the spool locked until the old state is where it belongs.
	lock, err := lockStore(o.staging())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := o.step("switch"); err != nil {
		return err
	}
	err = o.switchOver()
	if switched = j.marked(storeDir(o.Dir)); err != nil {
		return err
	}
	return o.finish(j)
}

// prepare makes the new state in the staging folder, durably.
func (o *Options) prepare(ctx context.Context, w work, j *journal) error {
	if err := o.step("stage"); err != nil {
		return err
	}
	// Without a journal there is nothing that belongs to anybody in it.
	if err := os.RemoveAll(o.staging()); err != nil {
		return err
	}
	stage := w.stage
	if stage == nil {
		stage = func(ctx context.Context, dir string) error { return cloneSpool(ctx, o.Dir, dir) }
	}
	if err := stage(ctx, o.staging()); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := o.step("apply"); err != nil {
		return err
	}
	if w.apply != nil {
		if err := w.apply(ctx, o.staging()); err != nil {
			return err
		}
	}
	if err := o.step("mark"); err != nil {
		return err
	}
	return j.mark(storeDir(o.staging()))
}

// smallMemTable is the memtable for changes of a few records, in bytes: a large one costs more than they do.
const smallMemTable = 4 << 20

// onStore makes an apply of a change through package storage.
func (o *Options) onStore(change func(ctx context.Context, s *storage.Store) error) func(context.Context, string) error {
	return func(ctx context.Context, dir string) (err error) {
		s, err := storage.Open(ctx, storage.Options{Dir: dir, Now: o.Now, MemTableBytes: smallMemTable})
		if err != nil {
			return err
		}
		err = change(ctx, s)
		// The staged copy is thrown away after an error; a store must be closed all the same.
		return errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
}

// onDB makes an apply of a change of raw records.
func onDB(change func(ctx context.Context, db *pebble.DB) error) func(context.Context, string) error {
	return func(ctx context.Context, dir string) error {
		po := engine()
		po.MemTableSize = smallMemTable
		db, err := pebble.Open(storeDir(dir), po)
		if err != nil {
			return err
		}
		return errors.Join(change(ctx, db), db.Close())
	}
}

// engine returns the database's options for rewriting: large tables below level 0, as nothing else writes meanwhile.
func engine() *pebble.Options {
	po := storage.EngineOptions()
	for i := range po.TargetFileSizes {
		po.TargetFileSizes[i] = 64 << 20
	}
	return po
}

// reading opens the spool for making a plan.
func (o *Options) reading(use func(s *storage.Spool) error) (err error) {
	s, err := storage.OpenRead(storage.ReadOptions{Dir: o.Dir})
	switch {
	case err == nil:
	case errors.Is(err, storage.ErrNoSpool), errors.Is(err, fs.ErrPermission), errors.As(err, new(*storage.FormatError)):
		return err
	default:
		return &DamagedError{Dir: o.Dir, Cause: err}
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return use(s)
}
