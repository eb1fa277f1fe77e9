package main

import (
	"context"
	"errors"

	"spoolctl/format"
	"spoolctl/live/admin"
	"spoolctl/live/daemon"
	"spoolctl/live/traffic"
)

// The exit codes of spoolctl.
const (
	exitOK          = 0
	exitFailed      = 1   // did not work
	exitUsage       = 2   // wrong command line, or a prompt refused
	exitProblems    = 3   // done, and problems were found
	exitUnavailable = 4   // cannot get at it: absent, locked, unreachable, forbidden
	exitPartial     = 5   // some items of a batch failed
	exitInterrupted = 130 // stopped by a signal
)

// exitRule gives the errors that it matches a code, and a next step to those
// that carry none.
type exitRule struct {
	match func(error) bool
	code  int
	hint  string
}

// exitRules is the only place where errors become exit codes; the first rule
// that matches decides. Everything else is exitFailed.
func exitRules() []exitRule {
	return []exitRule{
		{is(format.ErrClosedOutput), exitOK, ""},
		{is(context.Canceled), exitInterrupted, ""},
		{is(format.ErrUsage), exitUsage, ""},
		{is(format.ErrRefused), exitUsage, ""},
		{is(format.ErrPartial), exitPartial, ""},
		{is(format.ErrProblems), exitProblems, ""},
		{is(format.ErrUnavailable), exitUnavailable, ""},
		{as[*admin.UnreachableError], exitUnavailable, "is the broker running? see `spoolctl broker status`, or name another one with --admin-url"},
		{is(admin.ErrUnauthorized), exitUnavailable, "give a token with --token or --token-file"},
		{is(admin.ErrForbidden), exitUnavailable, "the role of this token lacks the permission; see `spoolctl namespaces permissions`"},
		{is(admin.ErrAnswer), exitUnavailable, "is this the broker's web port? give it with --admin-url"},
		{is(admin.ErrUnsupported), exitFailed, "check --admin-url, and the broker's version"},
		{as[*traffic.UnreachableError], exitUnavailable, "is the broker running? see `spoolctl broker status`, or name another one with --broker-url"},
		{is(daemon.ErrNotRunning), exitProblems, "start it with `spoolctl broker start --spool DIR`"},
		{is(daemon.ErrNoBinary), exitUnavailable, "put spoold beside spoolctl or into PATH, or name it with --spoold"},
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// classify gives the exit code of err, and err with the hint of its rule.
func classify(err error) (int, error) {
	if err == nil {
		return exitOK, nil
	}
	for _, r := range exitRules() {
		if r.match(err) {
			if r.hint != "" {
				err = format.WithHint(err, r.hint)
			}
			return r.code, err
		}
	}
	return exitFailed, err
}
