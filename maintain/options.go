package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are what all verbs have. The zero value of a field means its default.
type Options struct {
	Dir      string // the spool
	DryRun   bool   // make the plan, change nothing
	NoBackup bool   // keep no checkpoint of the state before the change

	// Confirm is asked once the plan is known and before the first change; its error ends the run. Default: yes.
	Confirm func(ctx context.Context, p *Plan) error
	// Progress, when not nil, is called now and then from the goroutine that works.
	Progress func(Progress)
	// Recovered, when not nil, is told what an interrupted run had left, once it is cleaned up.
	Recovered func(Recovery)
	Now       func() time.Time                               // default time.Now
	Free      func(dir string) (bytes uint64, err error)     // free space; default: the file system
	Step      func(name string) error                        // called before every step; an error stops there as a kill would
	exchange  func(a, b string) (atomically bool, err error) // of two folders; default: the system call
}

// Progress says how far a part of a run is. Total is 0 when nobody knows.
type Progress struct {
	What        string // what is counted: "bytes copied"
	Done, Total int64
}

func (o Options) withDefaults() Options {
	if o.Confirm == nil {
		o.Confirm = func(context.Context, *Plan) error { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Recovered == nil {
		o.Recovered = func(Recovery) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Free == nil {
		o.Free = freeBytes
	}
	if o.exchange == nil {
		o.exchange = exchange
	}
	return o
}

func freeBytes(dir string) (uint64, error) {
	u, err := vfs.Default.GetDiskUsage(dir)
	return u.AvailBytes, err
}

// step is a place where a run may be killed.
func (o *Options) step(name string) error {
	if o.Step == nil {
		return nil
	}
	if err := o.Step(name); err != nil {
		return &stoppedError{name, err}
	}
	return nil
}

// stoppedError says that Options.Step ended the run: nothing is cleaned up, as after a kill.
type stoppedError struct {
	at    string
	cause error
}

// Error implements error.
func (e *stoppedError) Error() string {
	return fmt.Sprintf("stopped before step %s: %v", e.at, e.cause)
}

// Unwrap returns the cause.
func (e *stoppedError) Unwrap() error { return e.cause }

// SpaceError says that a run would not fit on the disk. Nothing was changed.
type SpaceError struct {
	Dir        string
	Free, Want uint64 // bytes
}

// Error implements error.
func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s has %d bytes free, and up to %d are needed", e.Dir, e.Free, e.Want)
}

// DamagedError says that a spool cannot be opened as it is. Doctor tells what is wrong, Salvage makes a sound one.
type DamagedError struct {
	Dir   string
	Cause error
}

// Error implements error.
func (e *DamagedError) Error() string { return fmt.Sprintf("spool %s is damaged: %v", e.Dir, e.Cause) }

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }
