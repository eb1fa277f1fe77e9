package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/maintain"
)

func newStorageCompact(o *storageOptions) *cobra.Command {
	var c maintain.CompactOptions
	var on string
	cmd := o.verb("compact [SPOOL]", "Rewrite tables so that what is deleted takes no space", 0, 0,
		func(ctx context.Context, m maintain.Options, _ []string) (*maintain.Result, error) {
			if c.Options = m; on != "" {
				name, err := topic(on)
				if err != nil {
					return nil, err
				}
				c.Topic = &name
			}
			if c.Topic != nil && c.Family != "" {
				return nil, format.Usagef("give either --topic or --family")
			}
			return maintain.Compact(ctx, c)
		})
	cmd.Long = "Rewrite tables so that what is deleted takes no space and reads look into few tables. The checkpoint of the state\n" +
		"before keeps its tables until it is removed."
	cmd.Flags().StringVar(&c.Family, "family", "", "only this family of records: entry, cursor, ledger, …")
	cmd.Flags().StringVar(&on, "topic", "", "only this topic")
	return cmd
}

func newStorageMigrate(o *storageOptions) *cobra.Command {
	var m maintain.MigrateOptions
	c := maintain.ConvertOptions{Kind: maintain.KindPebble}
	cmd := &cobra.Command{
		Use:   "migrate [SPOOL]",
		Short: "Bring a spool to the newest format, or to another compression or storage kind",
		Long: "Bring a spool to the newest spool format and Pebble format; --compression writes all tables anew. With --to, the spool\n" +
			"stays as it is and is copied into a new one: of kind pebble, or of kind files with one file for each entry, for\n" +
			"interchange and for measuring against.",
		Example: "  spoolctl storage migrate ./spool --dry-run\n  spoolctl storage migrate ./spool --to ./exported --kind files",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _, err := (&inspectOptions{f: o.f}).spoolOf(cmd, args, 0, 0)
			if err != nil {
				return err
			}
			if c.To == "" {
				if cmd.Flags().Changed("kind") {
					return format.Usagef("--kind goes with --to: a spool does not change its kind in place")
				}
				m.Options = o.maintenance(dir)
				res, err := maintain.Migrate(cmd.Context(), m)
				if err != nil {
					return storageError(dir, err)
				}
				return printList(o.f, res.Actions, format.ListOptions{Summary: res.Summary()})
			}
			if m.Compression != "" {
				return format.Usagef("give either --to or --compression")
			}
			c.Options = o.maintenance(dir)
			res, err := maintain.Convert(cmd.Context(), c)
			if err != nil {
				return storageError(dir, err)
			}
			return o.f.print(res)
		},
	}
	cmd.Flags().Var(newChoice(&m.Compression, "none", "snappy", "zstd"), "compression", "write all tables anew with this compression")
	cmd.Flags().StringVar(&c.To, "to", "", "copy into this new folder instead")
	cmd.Flags().Var(newChoice(&c.Kind, maintain.KindPebble, maintain.KindFiles), "kind", "storage kind of the copy")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the plan, change nothing")
	cmd.Flags().BoolVar(&o.noBackup, "no-backup", false, "keep no checkpoint of the state before")
	return changes(cmd)
}

func newStorageResources(o *storageOptions) *cobra.Command {
	return newNoun("resources", "resource", "Dump and load tenants, namespaces, policies and schemas as YAML",
		newResourcesDump(o), newResourcesLoad(o))
}

func newResourcesDump(o *storageOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "dump [SPOOL]",
		Short:   "Print tenants, namespaces, policies, partitioned topics and schemas as YAML",
		Long:    "Print tenants, namespaces, policies, partitioned topics and schemas as YAML, whatever --output says: the text is what\n\"spoolctl storage resources load\" reads.",
		Example: "  spoolctl storage resources dump ./spool > resources.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _, err := (&inspectOptions{f: o.f}).spoolOf(cmd, args, 0, 0)
			if err != nil {
				return err
			}
			doc, err := maintain.DumpResources(o.maintenance(dir))
			if err != nil {
				return storageError(dir, err)
			}
			_, err = o.f.io.out.Write(doc)
			return format.OutputError(err)
		},
	}
}

func newResourcesLoad(o *storageOptions) *cobra.Command {
	cmd := o.verb("load [SPOOL] FILE", "Create and change resources so that they are as a YAML file says", 1, 1,
		func(ctx context.Context, m maintain.Options, args []string) (*maintain.Result, error) {
			doc, err := o.read(args[0])
			if err != nil {
				return nil, err
			}
			r, err := maintain.ParseResources(doc)
			if err != nil {
				return nil, &format.Error{Kind: format.ErrUsage, Msg: args[0], Err: err}
			}
			return maintain.LoadResources(ctx, m, r)
		})
	cmd.Long = "Create and change resources so that they are as FILE says, which \"resources dump\" wrote; - is standard input. What the\n" +
		"file does not name stays."
	return cmd
}

// maxResources bounds the YAML of resources load, in bytes.
const maxResources = 256 << 20

func (o *storageOptions) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(o.f.io.in, maxResources))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &format.Error{Kind: format.ErrUnavailable, Err: err}
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxResources))
}
