package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"spoolctl/format"
	"spoolctl/live/admin"
	"spoolctl/live/daemon"
	"spoolctl/live/traffic"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		hint bool
	}{
		{nil, exitOK, false},
		{errors.New("x"), exitFailed, false},
		{fs.ErrNotExist, exitFailed, false},
		{format.ErrClosedOutput, exitOK, false},
		{format.Usagef("x"), exitUsage, false},
		{&format.Error{Kind: format.ErrRefused}, exitUsage, false},
		{&format.Error{Kind: format.ErrProblems}, exitProblems, false},
		{&format.Error{Kind: format.ErrUnavailable}, exitUnavailable, false},
		{&format.Error{Kind: format.ErrPartial}, exitPartial, false},
		{context.Canceled, exitInterrupted, false},
		{&admin.UnreachableError{URL: "u", Err: errors.New("x")}, exitUnavailable, true},
		{&admin.StatusError{Status: 401}, exitUnavailable, true},
		{&admin.StatusError{Status: 403}, exitUnavailable, true},
		{&admin.StatusError{Status: 404, Reason: "x"}, exitFailed, false},
		{&admin.StatusError{Status: 404}, exitFailed, true},
		{&admin.StatusError{Status: 409}, exitFailed, false},
		{&admin.StatusError{Status: 412}, exitFailed, false},
		{&admin.StatusError{Status: 500}, exitFailed, false},
		{admin.ErrAnswer, exitUnavailable, true},
		{&traffic.UnreachableError{URL: "u", Err: errors.New("x")}, exitUnavailable, true},
		{daemon.ErrNotRunning, exitProblems, true},
		{daemon.ErrNoBinary, exitUnavailable, true},
		{&daemon.StartError{Reason: "x"}, exitFailed, false},
	} {
		for _, err := range []error{c.err, wrap(c.err)} {
			code, out := classify(err)
			if code != c.code {
				t.Errorf("%v: code %d, want %d", err, code, c.code)
			}
			if out != nil && (format.HintOf(out) != "") != c.hint {
				t.Errorf("%v: hint %q", err, format.HintOf(out))
			}
		}
	}
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("outer: %w", err)
}
