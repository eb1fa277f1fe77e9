package main

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
)

func newInspectVerify(o *inspectOptions) *cobra.Command {
	v := inspect.VerifyOptions{}
	cmd := o.verb("verify", "Check every checksum and every rule between records", 0, 0, func(ctx context.Context, s *inspect.Session, _ []string) error {
		bar := o.newProgress()
		v.Progress = bar.report
		got, err := s.Verify(ctx, v)
		bar.end()
		if err != nil {
			return err
		}
		if err := printList(o.f, got.Findings, format.ListOptions{Total: int(got.Found), Summary: got}); err != nil || got.Found == 0 {
			return err
		}
		return &format.Error{Kind: format.ErrProblems, Msg: fmt.Sprintf("%d findings", got.Found), Hint: "what is readable can be looked at with the other verbs of inspect"}
	})
	cmd.Flags().BoolVar(&v.Fast, "fast", false, "leave out table blocks and entries")
	return cmd
}

// keyFlags are the flags of inspect keys.
type keyFlags struct {
	*inspectOptions
	from, to string
	internal bool
	opts     inspect.KeysOptions
}

func newInspectKeys(o *inspectOptions) *cobra.Command {
	k := &keyFlags{inspectOptions: o}
	cmd := o.verb("keys", "List the raw records, decoded", 0, 0, k.run)
	cmd.Example = "  spoolctl inspect keys --spool ./spool --prefix ledger/3"
	fl := cmd.Flags()
	fl.StringVar(&k.opts.Prefix, "prefix", "", "a family's name or letter, and the first parts of its keys: ledger/3")
	fl.StringVar(&k.from, "from", "", "first raw key, in hex")
	fl.StringVar(&k.to, "to", "", "raw key to stop before, in hex")
	fl.BoolVar(&k.opts.Reverse, "reverse", false, "from the last to the first")
	fl.BoolVar(&k.internal, "internal", false, "all versions and deletions with their sequence numbers, file by file")
	fl.BoolVar(&k.opts.Hex, "hex", false, "with the raw values")
	return cmd
}

func (k *keyFlags) run(ctx context.Context, s *inspect.Session, _ []string) error {
	var err error
	if k.opts.From, err = rawKey("--from", k.from); err != nil {
		return err
	}
	if k.opts.To, err = rawKey("--to", k.to); err != nil {
		return err
	}
	if k.internal {
		rows, err := s.Versions(ctx, k.opts)
		if err != nil {
			return &format.Error{Kind: format.ErrUsage, Err: err}
		}
		return printStream(k.f, rows, format.ListOptions{})
	}
	rows, err := s.Keys(ctx, k.opts)
	if err != nil {
		return &format.Error{Kind: format.ErrUsage, Err: err}
	}
	return printStream(k.f, rows, format.ListOptions{})
}

func rawKey(flag, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, &format.Error{Kind: format.ErrUsage, Msg: flag, Err: err}
	}
	return b, nil
}
