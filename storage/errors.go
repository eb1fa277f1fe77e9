package storage

import (
	"errors"
	"fmt"

	"spoolctl/wire"
)

// Errors that callers decide by. They come wrapped with what they are about.
var (
	ErrNoSpool        = errors.New("no spool")              // the directory holds no spool (read-only opening never makes one)
	ErrClosed         = errors.New("closed")                // the store or topic is closed or closing
	ErrTopicExists    = errors.New("topic already exists")  //
	ErrTopicNotFound  = errors.New("topic not found")       //
	ErrTopicOpen      = errors.New("topic is open")         // it must be closed first
	ErrTerminated     = errors.New("topic is terminated")   // no more entries may be added
	ErrEntryNotFound  = errors.New("entry not found")       // never written, or trimmed
	ErrCursorExists   = errors.New("cursor already exists") //
	ErrCursorNotFound = errors.New("cursor not found")      //
	ErrTooLarge       = errors.New("entry is too large")    //
	ErrBackpressure   = errors.New("the commit queue stays full")
	ErrStoreDeadline  = errors.New("the entry waited too long to be stored")
	ErrBadName        = errors.New("name is not acceptable") // empty, or too long for a key
)

// LockedError says that another process has the spool open for writing.
type LockedError struct {
	Dir string
	PID int // the owner's process id, 0 when the system would not tell
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("spool %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("spool %s is in use by process %d", e.Dir, e.PID)
}

// FormatError says that a spool has a format that this program does not read.
type FormatError struct {
	Dir        string
	What       string // "spool format" or "Pebble format"
	Got, Known int
}

// Error implements error.
func (e *FormatError) Error() string {
	if e.Got > e.Known {
		return fmt.Sprintf("%s has %s %d, newer than this program's %d", e.Dir, e.What, e.Got, e.Known)
	}
	return fmt.Sprintf("%s has %s %d, older than this program's %d", e.Dir, e.What, e.Got, e.Known)
}

// CorruptError says that something in the spool cannot be what was written.
type CorruptError struct {
	Topic    string        // full name, empty when not known
	Position wire.Position // where, when it is about an entry
	Key      []byte        // the key that holds the damage, when known
	Cause    error

	next int64 // the entry after the damage, when a run of entries is missing; else 0
}

// Error implements error.
func (e *CorruptError) Error() string {
	if e.Topic == "" {
		return fmt.Sprintf("corrupt record %x: %v", e.Key, e.Cause)
	}
	return fmt.Sprintf("corrupt data of %s at %s: %v", e.Topic, e.Position, e.Cause)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Cause }

// UnhealthyError says that the store cannot write at present.
type UnhealthyError struct{ Cause error }

// Error implements error.
func (e *UnhealthyError) Error() string { return fmt.Sprintf("store cannot write: %v", e.Cause) }

// Unwrap returns the cause.
func (e *UnhealthyError) Unwrap() error { return e.Cause }

// OffloadedError says that entries are in an object only, and that no object store is configured to read it from.
type OffloadedError struct {
	Ledger int64
	Object string
}

// Error implements error.
func (e *OffloadedError) Error() string {
	return fmt.Sprintf("ledger %d is in the object %s: configure the object store that it was offloaded to", e.Ledger, e.Object)
}

// firstError returns the first of errs that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
