package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/maintain"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

type storageBackup struct {
	*storageOptions
	to     string
	spoold string // the program that knows object stores; empty: look for it
}

// spooldFlag is where object stores are reached through.
func spooldFlag(cmd *cobra.Command, bin *string) {
	cmd.Flags().StringVar(bin, "spoold", "", "the spoold program, which reaches object stores (default beside spoolctl, then in PATH)")
}

func newStorageBackup(o *storageOptions) *cobra.Command {
	b := &storageBackup{storageOptions: o}
	cmd := &cobra.Command{
		Use:   "backup [SPOOL] TARGET",
		Short: "Copy a spool into a folder of backups, an object store or an archive",
		Long: "Copy a spool into TARGET: a folder or an object store (s3://BUCKET, gs://BUCKET, azblob://CONTAINER, file:///FOLDER;\n" +
			"?prefix=PATH/ puts all below a path), which take many backups and store what they share once; a new file NAME.tar or\n" +
			"NAME.tar.gz; or -, a tar archive on standard output. Of a running broker's spool, a checkpoint that the broker makes\n" +
			"is copied. What is interrupted is no backup.",
		Example: "  spoolctl storage backup ./spool /backups/spool\n  spoolctl storage backup ./spool /backups/spool.tar.gz\n" +
			"  spoolctl storage backup ./spool 's3://backups?region=eu-central-1&prefix=spool/'\n" +
			"  spoolctl storage backup ./spool - | ssh elsewhere 'cat >spool.tar'",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, args, err := (&inspectOptions{f: o.f}).spoolOf(cmd, args, 1, 1)
			if err != nil {
				return err
			}
			b.to = args[0]
			return b.run(cmd.Context(), dir)
		},
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be copied, copy nothing")
	spooldFlag(cmd, &b.spoold)
	return changes(cmd)
}

func (b *storageBackup) run(ctx context.Context, dir string) (err error) {
	o := maintain.BackupOptions{Options: b.maintenance(dir), Target: b.to}
	switch {
	case isObjectStore(b.to):
		if o.Bucket, err = openObjects(ctx, b.spoold, b.to); err != nil {
			return err
		}
	case b.to == "-":
		if b.f.io.outTerminal {
			return &format.Error{Kind: format.ErrUsage, Msg: "an archive is not for a terminal", Hint: "redirect standard output, or name a file"}
		}
		o.Stream, o.Target = b.f.io.out, "standard output"
	}
	if pid, held := storage.LockOwner(vfs.Default, vfs.Default.PathJoin(dir, storage.StoreDir)); held && !b.dryRun {
		point, err := b.f.checkpoint(ctx, dir, pid)
		if err != nil {
			return storageError(dir, errors.Join(&storage.LockedError{Dir: dir, PID: pid}, err))
		}
		defer func() { err = errors.Join(err, point.Release()) }()
		o.Dir = point.Path
	}
	res, err := maintain.Backup(ctx, o)
	if err != nil {
		return storageError(dir, err)
	}
	if o.Stream != nil && !b.dryRun {
		fmt.Fprintf(b.f.io.err, "backed up %s: %s, %d bytes\n", dir, plural(int64(res.Files), "file", "files"), res.Bytes)
		return nil
	}
	return b.f.print(res)
}

func newStorageRestore(o *storageOptions) *cobra.Command {
	var r maintain.RestoreOptions
	var spoold string
	cmd := &cobra.Command{
		Use:   "restore BACKUP [SPOOL]",
		Short: "Make a spool from a backup, or check one",
		Long: "Make a spool from a backup (a folder, an object store, an archive, or - for a tar archive on standard input, gzipped or\n" +
			"not): into a folder beside SPOOL, compared with the backup's checksums, then renamed. --verify only reads and checks\n" +
			"the backup.",
		Example: "  spoolctl storage restore /backups/spool ./restored\n  spoolctl storage restore /backups/spool.tar.gz --verify\n" +
			"  spoolctl storage restore 's3://backups?region=eu-central-1&prefix=spool/' ./restored",
		Args: rangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Source = args[0]
			dir := o.f.global.spool
			if len(args) == 2 {
				dir = args[1]
			}
			if dir == "" && !r.Verify {
				return &format.Error{Kind: format.ErrUsage, Msg: "which spool? none is named", Hint: "name the folder to make, or check the backup with --verify"}
			}
			r.Options = o.maintenance(dir)
			if err := o.source(cmd, &r, spoold); err != nil {
				return err
			}
			if !r.Replace {
				r.Confirm = nil // nothing is lost
			}
			return o.restore(cmd.Context(), r)
		},
	}
	cmd.Flags().BoolVar(&r.Verify, "verify", false, "read and check the backup, restore nothing")
	cmd.Flags().BoolVar(&r.Replace, "replace", false, "a spool that is there is set aside as SPOOL.before-restore-TIME")
	cmd.Flags().StringVar(&r.Name, "name", "", "which backup of a folder or an object store (default: the newest)")
	spooldFlag(cmd, &spoold)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be restored, restore nothing")
	return changes(cmd)
}

// source opens what a restore reads from.
func (o *storageOptions) source(cmd *cobra.Command, r *maintain.RestoreOptions, spoold string) error {
	switch {
	case isObjectStore(r.Source):
		b, err := openObjects(cmd.Context(), spoold, r.Source)
		if err != nil {
			return err
		}
		r.Bucket = b
	case r.Source == "-":
		if o.f.io.inTerminal {
			return &format.Error{Kind: format.ErrUsage, Msg: "standard input is a terminal", Hint: "redirect it from an archive, or name a file"}
		}
		r.Stream, r.Source = o.f.io.in, "standard input"
	}
	return nil
}

func (o *storageOptions) restore(ctx context.Context, r maintain.RestoreOptions) error {
	res, err := maintain.Restore(ctx, r)
	var bad *maintain.BadBackupError
	switch {
	case errors.As(err, &bad):
		if perr := o.f.print(res); perr != nil {
			return perr
		}
		return &format.Error{Kind: format.ErrProblems, Err: err, Hint: "take another backup: `spoolctl storage backups " + r.Source + "` lists them", Details: map[string]any{"bad": bad.Bad}}
	case errors.Is(err, maintain.ErrOccupied):
		return &format.Error{Err: err, Hint: "name a new folder, or set the spool that is there aside with --replace"}
	case err != nil:
		return storageError(r.Dir, err)
	}
	return o.f.print(res)
}

func newStorageBackups(o *storageOptions) *cobra.Command {
	var spoold string
	cmd := &cobra.Command{
		Use:   "backups TARGET",
		Short: "List the backups in a folder or an object store",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := backupsOf(cmd.Context(), args[0], spoold)
			if err != nil {
				return storageError(args[0], err)
			}
			return printList(o.f, list, format.ListOptions{})
		},
	}
	spooldFlag(cmd, &spoold)
	return cmd
}

func backupsOf(ctx context.Context, target, spoold string) ([]maintain.BackupInfo, error) {
	if !isObjectStore(target) {
		return maintain.ListBackups(target)
	}
	b, err := openObjects(ctx, spoold, target)
	if err != nil {
		return nil, err
	}
	return maintain.ListBucketBackups(ctx, b)
}

func newStorageRecover(o *storageOptions) *cobra.Command {
	return changes(&cobra.Command{
		Use:   "recover [SPOOL]",
		Short: "Clean up after a run of storage that was interrupted",
		Long:  "Clean up after a run of storage that was interrupted, and say whether its change is in place. Every other verb that\nchanges the spool does this first.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _, err := (&inspectOptions{f: o.f}).spoolOf(cmd, args, 0, 0)
			if err != nil {
				return err
			}
			m := o.maintenance(dir)
			done := change{Action: "checked", Kind: "spool", Name: dir, Detail: "no run was interrupted"}
			m.Recovered = func(r maintain.Recovery) { done.Action, done.Detail = "cleaned up", r.String() }
			if err := maintain.Recover(m); err != nil {
				return storageError(dir, err)
			}
			return o.f.print(done)
		},
	})
}
