package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"spoolctl/inspect"
)

// supportSystem is what a report says of the machine.
type supportSystem struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Processors int    `json:"processors"`
	Go         string `json:"go"`
}

// supported is what support says when it is done.
type supported struct {
	File     string `json:"file" col:"FILE,name"`
	Bytes    int64  `json:"bytes" col:"BYTES" fmt:"bytes"`
	Redacted bool   `json:"redacted" col:"REDACTED"`
}

func newInspectSupport(o *inspectOptions) *cobra.Command {
	var into string
	var redact bool
	cmd := o.verb("support", "Write one archive for a bug report, without payloads", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		if into == "" {
			into = fmt.Sprintf("spoolctl-support-%s.tar.gz", o.f.now().UTC().Format("20060102T150405"))
		}
		x := &exportFlags{inspectOptions: o, to: into}
		err := x.into(func(w io.Writer) error {
			return s.Support(ctx, w, inspect.SupportOptions{
				Redact: redact, Program: "spoolctl/" + buildVersion().Version,
				System: supportSystem{runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()},
			})
		})
		if err != nil || into == "-" {
			return err
		}
		info, err := os.Stat(into)
		if err != nil {
			return err
		}
		return o.f.print(supported{into, info.Size(), redact})
	})
	cmd.Long = cmd.Short + ".\n\nThe archive is a tar.gz of what the other verbs say: summary, topics, ledgers, cursors, policies,\n" +
		"tables, log records and findings. Payloads and the keys of messages are never in it. With --redact the names of\n" +
		"tenants, namespaces, topics, subscriptions and producers become hashes, and texts that people wrote are left out."
	cmd.Example = "  spoolctl inspect support --redact --into report.tar.gz --spool ./spool"
	cmd.Flags().StringVar(&into, "into", "", "file to write, - for standard output (default spoolctl-support-TIME.tar.gz)")
	cmd.Flags().BoolVar(&redact, "redact", false, "hash all names")
	return cmd
}
