package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

// change is what a mutating command prints when it worked.
type change struct {
	Action string `json:"action" col:"ACTION"` // past tense: created
	Kind   string `json:"kind" col:"KIND"`     // topic
	Name   string `json:"name" col:"NAME,name"`
	Detail string `json:"detail" col:"DETAIL"` // what else there is to say
}

// Sentence implements format.Sentence.
func (c change) Sentence() string {
	s := c.Action + " " + c.Kind + " " + c.Name
	if c.Detail != "" {
		s += " (" + c.Detail + ")"
	}
	return s
}

// plannedRequest is what --dry-run prints.
type plannedRequest struct {
	Method      string  `json:"method" col:"METHOD"`
	URL         string  `json:"url" col:"URL,name"`
	ContentType *string `json:"contentType" col:"CONTENT_TYPE"`
	Body        *string `json:"body" col:"BODY"`
	text        string
}

// Sentence implements format.Sentence.
func (r plannedRequest) Sentence() string { return strings.TrimRight(r.text, "\n") }

func plan(base string, r admin.Request) plannedRequest {
	p := plannedRequest{Method: r.Method, URL: r.URL(base), text: r.Text(base)}
	if len(r.Body) > 0 {
		p.ContentType, p.Body = new("application/json"), new(string(r.Body))
		if r.ContentType != "" {
			p.ContentType = &r.ContentType
		}
	}
	return p
}

// change sends a request that changes the broker and prints done, or prints
// the request in a dry run.
func (f *factory) change(ctx context.Context, dryRun bool, r admin.Request, done change) error {
	c, err := f.admin()
	if err != nil {
		return err
	}
	if dryRun {
		return f.print(plan(c.URL(), r))
	}
	if _, err := c.Do(ctx, r); err != nil {
		return failed(done.Kind, done.Name, err)
	}
	return f.print(done)
}

// failed puts the thing's name before what the broker said about it.
func failed(kind, name string, err error) error {
	return &format.Error{Msg: kind + " " + name, Err: err}
}

// changes marks a command that changes something.
func changes(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[annotationEffect] = effectChanges
	return cmd
}

// mutating marks a command that changes a broker and gives it --dry-run.
func mutating(cmd *cobra.Command, dryRun *bool) *cobra.Command {
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "print the HTTP request instead of sending it")
	return changes(cmd)
}

// confirm asks before something that cannot be undone. Without a terminal, or
// with --no-input, there is nobody to ask: that is a refusal at once.
func (f *factory) confirm(dryRun bool, question string) error {
	if f.global.yes || dryRun {
		return nil
	}
	refused := &format.Error{Kind: format.ErrRefused, Msg: "not confirmed: " + question, Hint: "add --yes to do it without asking"}
	if !f.io.inTerminal || f.global.noInput {
		return refused
	}
	fmt.Fprintf(f.io.err, "%s? [y/N] ", format.Clean(question))
	answer, err := readLine(f.io.in)
	if err != nil {
		fmt.Fprintln(f.io.err)
		return refused
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return refused
}
