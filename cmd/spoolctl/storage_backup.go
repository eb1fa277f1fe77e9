package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/maintain"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

type storageBackup struct {
	*storageOptions
	to string
}

func newStorageBackup(o *storageOptions) *cobra.Command {
	b := &storageBackup{storageOptions: o}
	cmd := &cobra.Command{
		Use:   "backup [SPOOL] TARGET",
		Short: "Copy a spool into a folder of backups or an archive",
		Long: "Copy a spool into TARGET: a folder that takes many backups and stores what they share once, or a new file\n" +
			"NAME.tar or NAME.tar.gz. Of a running broker's spool, a checkpoint that the broker makes is copied.",
		Example: "  spoolctl storage backup ./spool /backups/spool\n  spoolctl storage backup ./spool /backups/spool.tar.gz",
		Args:    cobra.ArbitraryArgs,
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
	return changes(cmd)
}

func (b *storageBackup) run(ctx context.Context, dir string) (err error) {
	o := maintain.BackupOptions{Options: b.maintenance(dir), Target: b.to}
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
	return b.f.print(res)
}

func newStorageRestore(o *storageOptions) *cobra.Command {
	var r maintain.RestoreOptions
	cmd := &cobra.Command{
		Use:   "restore BACKUP [SPOOL]",
		Short: "Make a spool from a backup, or check one",
		Long: "Make a spool from a backup: into a folder beside SPOOL, compared with the backup's checksums, then renamed.\n" +
			"--verify only reads and checks the backup.",
		Example: "  spoolctl storage restore /backups/spool ./restored\n  spoolctl storage restore /backups/spool.tar.gz --verify",
		Args:    rangeArgs(1, 2),
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
			if !r.Replace {
				r.Confirm = nil // nothing is lost
			}
			return o.restore(cmd.Context(), r)
		},
	}
	cmd.Flags().BoolVar(&r.Verify, "verify", false, "read and check the backup, restore nothing")
	cmd.Flags().BoolVar(&r.Replace, "replace", false, "a spool that is there is set aside as SPOOL.before-restore-TIME")
	cmd.Flags().StringVar(&r.Name, "name", "", "which backup of a folder (default: the newest)")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be restored, restore nothing")
	return changes(cmd)
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
	return &cobra.Command{
		Use:   "backups TARGET",
		Short: "List the backups in a folder",
		Args:  exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := maintain.ListBackups(args[0])
			if err != nil {
				return storageError(args[0], err)
			}
			return printList(o.f, list, format.ListOptions{})
		},
	}
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
