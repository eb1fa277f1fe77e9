package format

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// The kinds of failure that have an exit code of their own. The codes stand in
// one table in cmd/spoolctl; a failure without a kind is a plain failure.
var (
	// ErrUsage: the command line is wrong; usage is printed.
	ErrUsage = errors.New("wrong usage")
	// ErrRefused: a prompt was answered with no, or could not be asked.
	ErrRefused = errors.New("refused")
	// ErrProblems: the work is done and found problems.
	ErrProblems = errors.New("problems found")
	// ErrUnavailable: the thing cannot be got at (absent, locked, unreachable, forbidden).
	ErrUnavailable = errors.New("unavailable")
	// ErrPartial: some items of a batch failed.
	ErrPartial = errors.New("some items failed")
	// ErrClosedOutput: the reader of standard output went away, as head does.
	ErrClosedOutput = errors.New("output closed by its reader")
)

// Error is a failure as a person reads it. Its text is Msg, then the cause.
type Error struct {
	// Kind is one of the Err values above, or nil for a plain failure.
	Kind error
	// Msg says what failed, in lower case; empty to show the cause alone.
	Msg string
	// Hint is the next step: a command to run, or what to change.
	Hint string
	// Details holds facts for machines; printed with -o json only.
	Details map[string]any
	// Err is the cause, or nil.
	Err error
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil && e.Msg == "" && e.Kind != nil:
		return e.Kind.Error()
	case e.Err == nil:
		return e.Msg
	case e.Msg == "":
		return e.Err.Error()
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap lets errors.Is find the kind as well as the cause.
func (e *Error) Unwrap() []error {
	var list []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

// Usagef is an Error of kind ErrUsage.
func Usagef(text string, args ...any) *Error {
	return &Error{Kind: ErrUsage, Msg: fmt.Sprintf(text, args...)}
}

// WithHint adds a next step to err, unless it carries one already.
func WithHint(err error, hint string) error {
	if err == nil || HintOf(err) != "" {
		return err
	}
	return &Error{Err: err, Hint: hint}
}

// HintOf finds the hint of the outermost Error in err's chain that has one.
func HintOf(err error) string {
	found := ""
	walkErrors(err, func(e *Error) bool { found = e.Hint; return found != "" })
	return found
}

func walkErrors(err error, stop func(*Error) bool) bool {
	if err == nil {
		return false
	}
	if e, ok := err.(*Error); ok && stop(e) { //nolint:errorlint // every level of the chain is looked at by itself
		return true
	}
	switch u := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		return walkErrors(u.Unwrap(), stop)
	case interface{ Unwrap() []error }:
		for _, inner := range u.Unwrap() {
			if walkErrors(inner, stop) {
				return true
			}
		}
	}
	return false
}

// failure is the JSON form of an error.
type failure struct {
	Error   string         `json:"error"`
	Code    int            `json:"code"`
	Hint    *string        `json:"hint"`
	Details map[string]any `json:"details"`
}

// WriteError writes err for a person ("error: …", then "hint: …"), or as one
// JSON object {error, code, hint, details}. code is the exit code.
func WriteError(w io.Writer, err error, code int, asJSON bool) error {
	text, hint := strings.TrimSpace(err.Error()), HintOf(err)
	if !asJSON {
		out := "error: " + CleanLines(text) + "\n"
		if hint != "" {
			out += "hint: " + CleanLines(hint) + "\n"
		}
		_, werr := io.WriteString(w, out)
		return werr
	}
	f := failure{Error: text, Code: code}
	if hint != "" {
		f.Hint = &hint
	}
	walkErrors(err, func(e *Error) bool { f.Details = e.Details; return e.Details != nil })
	tree, terr := toTree(f)
	if terr != nil {
		f.Details = map[string]any{"unprintable": terr.Error()}
		if tree, terr = toTree(f); terr != nil {
			return terr
		}
	}
	_, werr := w.Write(append(appendJSON(nil, tree, "", "  "), '\n'))
	return werr
}

// OutputError sorts a failed write of results: a reader that left becomes
// ErrClosedOutput, anything else a failure with a hint.
func OutputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		return ErrClosedOutput
	}
	return &Error{Msg: "cannot write the output", Err: err, Hint: "check free space and permissions of where standard output goes"}
}
