package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/inspect/archive"
	"spoolctl/maintain"
)

func newStorageImport(o *storageOptions) *cobra.Command {
	cmd := o.verb("import [SPOOL] SOURCE [TOPIC…]", "Add topics from an archive, or from another spool", 1, -1,
		func(ctx context.Context, m maintain.Options, args []string) (*maintain.Result, error) {
			i := maintain.ImportOptions{Options: m, From: args[0]}
			info, err := os.Stat(args[0])
			if err != nil {
				return nil, &format.Error{Kind: format.ErrUnavailable, Err: err}
			}
			switch {
			case info.IsDir():
				i.Open = func() (io.ReadCloser, error) { return o.exporting(ctx, args[0], args[1:]) }
			case len(args) > 1:
				return nil, format.Usagef("an archive is imported as a whole; name topics when it is written: `spoolctl inspect export`")
			default:
				i.Open = func() (io.ReadCloser, error) { return os.Open(filepath.Clean(args[0])) }
			}
			res, err := maintain.Import(ctx, i)
			if errors.Is(err, archive.ErrFormat) {
				return nil, &format.Error{Err: err, Hint: "write it with `spoolctl inspect export --form archive` or `--form lines`; the forms ndjson and files hold messages only"}
			}
			return res, err
		})
	cmd.Long = "Add topics from SOURCE, an archive of \"spoolctl inspect export\" (in either form, archive or lines) or another spool,\n" +
		"with their entries, positions, subscriptions, acknowledgements and schemas. All of SOURCE is read and checked before\n" +
		"anything changes, and a mistake in lines is named with its number. Positions\n" +
		"stay unless the spool has a ledger with the same id; the plan says so. A topic that is there already is an error."
	cmd.Example = "  spoolctl storage import ./spool orders.spoolarc --dry-run\n  spoolctl storage import ./spool ./other-spool orders --yes"
	return cmd
}

// exporting reads another spool as an archive.
func (o *storageOptions) exporting(ctx context.Context, dir string, topics []string) (io.ReadCloser, error) {
	s, err := inspect.Open(ctx, inspect.Options{Dir: dir, Now: o.f.now, Checkpoint: o.f.checkpoint})
	if err != nil {
		return nil, inspectError(dir, err)
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := s.Export(ctx, w, inspect.ExportOptions{
			Selector: inspect.Selector{Globs: topics}, Everything: len(topics) == 0, Program: "spoolctl/" + buildVersion().Version,
		})
		w.CloseWithError(err)
	}()
	return &exportStream{r, func() error {
		<-done
		var lost []string
		for _, p := range s.Problems() {
			lost = append(lost, p.String())
		}
		if err := s.Close(); err != nil || len(lost) == 0 {
			return err
		}
		return &format.Error{Msg: "spool " + dir + " is damaged: " + strings.Join(lost, "; "), Hint: "salvage it first: `spoolctl storage salvage`"}
	}}, nil
}

// exportStream is the reading end of an export; closing it waits for the other end.
type exportStream struct {
	*io.PipeReader
	finish func() error
}

// Close implements io.Closer.
func (s *exportStream) Close() error {
	return errors.Join(s.PipeReader.Close(), s.finish())
}
