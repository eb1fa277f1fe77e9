package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"spoolctl/format"
	"spoolctl/maintain"
	"spoolctl/storage"
)

const storageLong = `Change a spool that no broker has open: cursors and topics, trimming, backup, salvage.

The spool is named by --spool or SPOOLCTL_SPOOL; without them the first argument is the spool.
Every change is made on a staged copy (hard links) and put in place in one step, so a kill at any
moment leaves the old or the new state. The state before stays below SPOOL/checkpoints, and
"spoolctl storage undo" brings it back. --dry-run prints the plan that the run would execute.`

func newStorage(f *factory) *cobra.Command {
	o := &storageOptions{f: f}
	cmd := newNoun("storage", "", "Maintain a spool on disk: repair, trim, back up, salvage",
		newStorageCursor(o), newStorageTopic(o), newStorageTrim(o), newStorageCompact(o), newStorageMigrate(o), newStorageResources(o), newStorageImport(o),
		newStorageBackup(o), newStorageBackups(o), newStorageRestore(o), newStorageSalvage(o), newStorageDoctor(o),
		newStorageUndo(o), newStorageCheckpoints(o), newStorageRecover(o))
	cmd.Long = storageLong
	cmd.PersistentFlags().BoolVar(&o.progress, "progress", false, "print progress on standard error, also when it is no terminal")
	return cmd
}

// storageOptions are what all verbs of storage have.
type storageOptions struct {
	f                *factory
	progress         bool
	dryRun, noBackup bool
}

// verb makes a command that changes a spool. least and most bound the number of arguments after the spool.
func (o *storageOptions) verb(use, short string, least, most int, run func(ctx context.Context, m maintain.Options, args []string) (*maintain.Result, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, args, err := (&inspectOptions{f: o.f}).spoolOf(cmd, args, least, most)
			if err != nil {
				return err
			}
			res, err := run(cmd.Context(), o.maintenance(dir), args)
			if err != nil {
				return storageError(dir, err)
			}
			return printList(o.f, res.Actions, format.ListOptions{Summary: res.Summary()})
		},
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the plan, change nothing")
	cmd.Flags().BoolVar(&o.noBackup, "no-backup", false, "keep no checkpoint of the state before")
	return changes(cmd)
}

// maintenance gives package maintain its collaborators.
func (o *storageOptions) maintenance(dir string) maintain.Options {
	return maintain.Options{
		Dir: dir, DryRun: o.dryRun, NoBackup: o.noBackup, Now: o.f.now, Confirm: o.confirm,
		Progress: o.showProgress(),
		Recovered: func(r maintain.Recovery) {
			fmt.Fprintln(o.f.io.err, "note: "+format.Clean(r.String()))
		},
	}
}

// confirm shows the plan and asks for the spool's name.
func (o *storageOptions) confirm(_ context.Context, p *maintain.Plan) error {
	f := o.f
	if f.global.yes {
		return nil
	}
	name := filepath.Base(filepath.Clean(p.Spool))
	if abs, err := filepath.Abs(p.Spool); err == nil {
		name = filepath.Base(abs)
	}
	refused := &format.Error{Kind: format.ErrRefused, Msg: fmt.Sprintf("not confirmed: %s of spool %s, %d changes", p.Verb, p.Spool, len(p.Actions)), Hint: "add --yes to do it without asking, or --dry-run to see what it would do"}
	if !f.io.inTerminal || f.global.noInput {
		return refused
	}
	const most = 20
	for _, a := range p.Actions[:min(most, len(p.Actions))] {
		fmt.Fprintf(f.io.err, "  %s %s %s: %s\n", a.Action, a.Kind, format.Clean(a.Name), format.Clean(a.Detail))
	}
	if n := len(p.Actions) - most; n > 0 {
		fmt.Fprintf(f.io.err, "  and %d more\n", n)
	}
	fmt.Fprintf(f.io.err, "type the spool's name, %s, to go on: ", format.Clean(name))
	answer, err := readLine(f.io.in)
	if err != nil {
		fmt.Fprintln(f.io.err)
		return refused
	}
	if strings.TrimSpace(answer) != name {
		return refused
	}
	return nil
}

// showProgress writes to a terminal, or with --progress a line every ten seconds.
func (o *storageOptions) showProgress() func(maintain.Progress) {
	file, ok := o.f.io.err.(*os.File)
	terminal := ok && term.IsTerminal(int(file.Fd()))
	if !terminal && !o.progress {
		return nil
	}
	every := 10 * time.Second
	if terminal {
		every = 200 * time.Millisecond
	}
	started := map[string]time.Time{}
	shown := map[string]time.Time{}
	return func(p maintain.Progress) {
		now := time.Now()
		if started[p.What].IsZero() {
			started[p.What], shown[p.What] = now, now
		}
		ends := p.Total > 0 && p.Done >= p.Total
		if now.Sub(shown[p.What]) < every && !(ends && !terminal) {
			return
		}
		shown[p.What] = now
		line := progressLine(p, now.Sub(started[p.What]))
		if terminal {
			fmt.Fprintf(o.f.io.err, "\r\x1b[K%s", line)
			if ends {
				fmt.Fprint(o.f.io.err, "\r\x1b[K")
			}
			return
		}
		fmt.Fprintln(o.f.io.err, line)
	}
}

// progressLine says how far something is, how fast it goes and when it will be done.
func progressLine(p maintain.Progress, took time.Duration) string {
	count := format.Count
	if strings.HasPrefix(p.What, "bytes") {
		count = format.Size
	}
	line := p.What + ": " + count(p.Done)
	if p.Total > 0 {
		line += fmt.Sprintf(" of %s (%d%%)", count(p.Total), 100*p.Done/p.Total)
	}
	if took < time.Second || p.Done == 0 {
		return line
	}
	line += fmt.Sprintf(", %s/s", count(int64(float64(p.Done)/took.Seconds())))
	if left := p.Total - p.Done; left > 0 {
		line += ", about " + format.Duration(time.Duration(float64(took)/float64(p.Done)*float64(left)).Round(time.Second)) + " left"
	}
	return line
}

// storageError gives what maintenance reports its exit code and next step.
func storageError(dir string, err error) error {
	var locked *storage.LockedError
	var space *maintain.SpaceError
	var corrupt *storage.CorruptError
	switch {
	case errors.As(err, &locked):
		return &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "stop it first: `spoolctl broker stop --spool " + dir + "`", Details: map[string]any{"pid": locked.PID}}
	case errors.As(err, &space):
		return &format.Error{Err: err, Hint: "make room, for example by removing old checkpoints: `spoolctl storage checkpoints`", Details: map[string]any{"free": space.Free, "needed": space.Want}}
	case errors.Is(err, maintain.ErrNoCheckpoint):
		return &format.Error{Err: err, Hint: "`spoolctl storage checkpoints` lists what is there"}
	case errors.Is(err, storage.ErrNoSpool), errors.As(err, new(*storage.FormatError)), errors.Is(err, fs.ErrPermission):
		return inspectError(dir, err)
	case errors.Is(err, maintain.ErrOccupied):
		return &format.Error{Err: err, Hint: "name something new"}
	case errors.Is(err, maintain.ErrNoBackup):
		return &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "`spoolctl storage backups TARGET` lists what is there"}
	case errors.Is(err, fs.ErrNotExist):
		return &format.Error{Kind: format.ErrUnavailable, Err: err, Hint: "check the path"}
	case errors.Is(err, storage.ErrTopicNotFound):
		return &format.Error{Err: err, Hint: "`spoolctl inspect topics` lists what is there"}
	case errors.Is(err, storage.ErrCursorNotFound):
		return &format.Error{Err: err, Hint: "`spoolctl inspect cursors` lists what is there"}
	case errors.Is(err, storage.ErrBadName):
		return &format.Error{Kind: format.ErrUsage, Err: err}
	case errors.As(err, &corrupt), errors.As(err, new(*maintain.DamagedError)):
		return &format.Error{Err: err, Hint: "see `spoolctl storage doctor`"}
	}
	return err
}
