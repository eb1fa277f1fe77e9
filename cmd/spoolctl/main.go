package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run())
}

// run is main without the exit, so that deferred calls happen.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A caught SIGPIPE turns a closed stdout into an EPIPE error, which ends
	// the program quietly; an ignored one would be inherited by spoold.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	f := newFactory(systemStreams(), os.Environ())
	return execute(ctx, f, os.Args[1:])
}
