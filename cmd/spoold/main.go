package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"spoolctl/broker"
	"spoolctl/storage"
	"spoolctl/storage/offload"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it ran or tried to, and something went wrong
	exitUsage  = 2 // wrong flags or configuration
	exitLocked = 4 // another process owns the spool

	exitMissing = offload.ExitMissing // an object is not there
	exitShort   = offload.ExitShort   // it is shorter than what was asked for
)

func main() {
	// The first signal asks for a graceful stop, a second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	stopSaving := economise()
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stopSaving()
	os.Exit(code)
}

// run is main without the process around it.
func run(ctx context.Context, args, env []string, stdout, stderr io.Writer) int {
	root := newRoot(&options{env: env, stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "spoold:", err)
	return exitCode(err)
}

// usageError marks an error of the command line.
type usageError struct{ error }

// Unwrap gives the error itself.
func (e usageError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var usage usageError
	var config *broker.ConfigError
	var locked *storage.LockedError
	switch {
	case errors.As(err, &usage), errors.As(err, &config):
		return exitUsage
	case errors.As(err, &locked):
		return exitLocked
	case errors.Is(err, offload.ErrMissing):
		return exitMissing
	case errors.Is(err, io.ErrUnexpectedEOF):
		return exitShort
	}
	return exitFailed
}
