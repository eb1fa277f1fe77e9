package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/storage/offload"
)

const inspectLong = `Look into a spool on disk. Not a byte of the spool changes, whatever its state:
stopped cleanly or not, damaged, read-only, or in use by a running broker.

The spool is named by --spool or SPOOLCTL_SPOOL; without them the first argument is the spool.
TOPIC may be a pattern: t*, tenant/ns/*, a namespace tenant/ns, or * for all topics.`

func newInspect(f *factory) *cobra.Command {
	o := &inspectOptions{f: f, memory: inspect.DefaultMemory}
	cmd := newNoun("inspect", "", "Look into a spool on disk without changing it",
		newInspectSummary(o), newInspectTopics(o), newInspectLedgers(o), newInspectEntries(o), newInspectMessages(o),
		newInspectMessage(o), newInspectCursors(o), newInspectRanges(o), newInspectBacklog(o),
		newInspectProducers(o), newInspectSchemas(o), newInspectPolicies(o), newInspectDelayed(o), newInspectDedup(o), newInspectTransactions(o),
		newInspectSizes(o), newInspectDu(o), newInspectUsage(o),
		newInspectKeys(o), newInspectTrace(o), newInspectWal(o), newInspectLsm(o), newInspectFiles(o), newInspectPebble(o), newInspectVerify(o), newInspectExport(o), newInspectDiff(o), newInspectSupport(o), newInspectBrowse(o))
	cmd.Long = inspectLong
	p := cmd.PersistentFlags()
	p.BoolVar(&o.live, "live", false, "read the spool of a running broker in place; the answer is not a consistent snapshot")
	p.BoolVar(&o.progress, "progress", false, "say on standard error how far a long scan is, also where that is no terminal")
	p.StringVar(&o.bucket, "bucket", "", "object store that ledgers were offloaded to, as the broker's offload-bucket has it: s3://…, gs://…, azblob://…, file:///…")
	p.StringVar(&o.spoold, "spoold", "", "the spoold program, which reaches object stores (default beside spoolctl, then in PATH)")
	p.Var((*sizeValue)(&o.memory), "memory", "most memory for caches and for rescued data (larger rescues use a temporary folder)")
	return cmd
}

// inspectOptions are what all verbs of inspect have.
type inspectOptions struct {
	f        *factory
	live     bool
	memory   int64
	progress bool
	bucket   string
	spoold   string
}

// verb makes a command that answers from an open spool. least and most bound
// the number of arguments after the spool; most -1 is no bound.
func (o *inspectOptions) verb(use, short string, least, most int, run func(ctx context.Context, s *inspect.Session, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, args, err := o.spoolOf(cmd, args, least, most)
			if err != nil {
				return err
			}
			return o.answer(cmd.Context(), dir, func(s *inspect.Session) error { return run(cmd.Context(), s, args) })
		},
	}
}

// spoolOf takes the spool off the arguments, unless a flag names it.
func (o *inspectOptions) spoolOf(cmd *cobra.Command, args []string, least, most int) (dir string, rest []string, err error) {
	if dir = o.f.global.spool; dir == "" {
		if len(args) == 0 {
			return "", nil, &format.Error{Kind: format.ErrUsage, Msg: "which spool? none is named", Hint: "name it with --spool DIR or " + envName("spool")}
		}
		dir, args = args[0], args[1:]
	}
	if len(args) < least || (most >= 0 && len(args) > most) {
		return "", nil, format.Usagef("%s does not take %d arguments after the spool %s", cmd.CommandPath(), len(args), dir)
	}
	return dir, args, nil
}

// answer opens the spool, prints an answer from it, and ends with what could
// not be read.
func (o *inspectOptions) answer(ctx context.Context, dir string, run func(*inspect.Session) error) (err error) {
	open := inspect.Options{Dir: dir, Live: o.live, Memory: o.memory, Checkpoint: o.f.checkpoint, Now: o.f.now}
	if o.bucket != "" {
		if open.Bucket, err = o.objects(ctx); err != nil {
			return err
		}
	}
	s, err := inspect.Open(ctx, open)
	if err != nil {
		return inspectError(dir, err)
	}
	defer func() {
		if cerr := s.Close(); err == nil && cerr != nil {
			err = cerr
		}
	}()
	for _, n := range s.Notes() {
		if _, err := fmt.Fprintln(o.f.io.err, "note: "+format.Clean(n)); err != nil {
			return format.OutputError(err)
		}
	}
	if err := run(s); err != nil {
		return inspectError(dir, err)
	}
	return o.unreadable(s)
}

// bucketHint is the next step where entries are in object storage.
const bucketHint = "read what is in object storage with --bucket URL, as the broker's offload-bucket has it"

func (o *inspectOptions) objects(ctx context.Context) (offload.Bucket, error) {
	if !isObjectStore(o.bucket) {
		return nil, &format.Error{Kind: format.ErrUsage, Msg: "--bucket: " + o.bucket + " is not the URL of an object store", Hint: "write s3://BUCKET, gs://BUCKET, azblob://CONTAINER or file:///FOLDER"}
	}
	return openObjects(ctx, o.spoold, o.bucket)
}

// unreadable ends an answer that something is missing from: of a damaged spool,
// or one with ledgers in object storage.
func (o *inspectOptions) unreadable(s *inspect.Session) error {
	problems := s.Problems()
	if len(problems) == 0 {
		return nil
	}
	hint := "see `spoolctl inspect verify` for everything that is wrong"
	if s.Away() {
		hint = bucketHint
	}
	p, err := o.f.printer()
	if err != nil {
		return err
	}
	if !p.JSON() {
		if _, err := fmt.Fprintln(o.f.io.err, "could not be read:"); err != nil {
			return format.OutputError(err)
		}
		for _, x := range problems {
			if _, err := fmt.Fprintln(o.f.io.err, "  "+format.Clean(x.String())); err != nil {
				return format.OutputError(err)
			}
		}
	}
	return &format.Error{
		Kind: format.ErrProblems, Msg: fmt.Sprintf("the answer is not complete: %d problems", len(problems)),
		Hint:    hint,
		Details: map[string]any{"problems": problems},
	}
}

// inspectError gives what inspect reports its exit code and next step.
func inspectError(dir string, err error) error {
	var owned *inspect.OwnedError
	var missing *inspect.NotFoundError
	var other *storage.FormatError
	var away *storage.OffloadedError
	switch {
	case errors.Is(err, storage.ErrNoSpool):
		return &format.Error{Kind: format.ErrUnavailable, Msg: "no spool at " + dir, Hint: "name the folder that holds the file SPOOL"}
	case errors.As(err, &owned):
		e := &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "read it in place with --live, or stop the broker", Details: map[string]any{"pid": owned.PID}}
		return e
	case errors.As(err, &away):
		return &format.Error{Kind: format.ErrProblems, Msg: fmt.Sprintf("ledger %d is in object storage: object %s", away.Ledger, away.Object), Hint: bucketHint}
	case errors.As(err, &other):
		return &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "bring it up to date with `spoolctl storage migrate --spool " + dir + "`"}
	case errors.Is(err, fs.ErrPermission):
		return &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "run this as the user that owns the spool"}
	case errors.As(err, &missing):
		e := &format.Error{Err: err, Hint: "`spoolctl inspect topics` lists what is there"}
		if len(missing.Known) > 0 {
			e.Hint = "there is: " + strings.Join(missing.Known, ", ")
		}
		return e
	}
	return err
}
