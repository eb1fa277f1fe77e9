package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"spoolctl/storage/offload"
	"spoolctl/storage/offload/bucket"
)

// newObjects makes the hidden verbs by which spoolctl reaches object stores: their drivers would cost it 8 ms of every start.
// Each is one operation of an offload.Bucket; contents go through standard input and output.
func newObjects(o *options) *cobra.Command {
	objects := &cobra.Command{Use: "objects", Short: "One operation on an object store, for spoolctl", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	verb := func(use string, run func(cmd *cobra.Command, b *bucket.Bucket, name string) error) *cobra.Command {
		cmd := &cobra.Command{
			Use: use + " URL NAME",
			Args: func(cmd *cobra.Command, args []string) error {
				if len(args) != 2 {
					return usageError{fmt.Errorf("want URL and NAME; see %s --help", cmd.CommandPath())}
				}
				return nil
			},
			RunE: func(cmd *cobra.Command, args []string) error {
				b, err := bucket.Open(cmd.Context(), args[0])
				if err != nil {
					return usageError{err}
				}
				defer func() { _ = b.Close() }() // what was done is done
				return run(cmd, b, args[1])
			},
		}
		objects.AddCommand(cmd)
		return cmd
	}
	verb("put", func(cmd *cobra.Command, b *bucket.Bucket, name string) error {
		return b.Put(cmd.Context(), name, func(w io.Writer) error {
			_, err := io.Copy(w, offload.ReadFramed(cmd.InOrStdin()))
			return err
		})
	}).Short = "Make an object of framed standard input"
	var offset, length int64
	get := verb("get", func(cmd *cobra.Command, b *bucket.Bucket, name string) error {
		const most = 64 << 20
		if length < 0 || length > most || offset < 0 {
			return usageError{fmt.Errorf("--offset cannot be below 0, --length not above %d", most)}
		}
		p := make([]byte, length)
		if err := b.ReadAt(cmd.Context(), name, p, offset); err != nil {
			return err
		}
		_, err := o.stdout.Write(p)
		return err
	})
	get.Short = "Write a part of an object to standard output"
	get.Flags().Int64Var(&offset, "offset", 0, "first byte")
	get.Flags().Int64Var(&length, "length", 0, "bytes")
	verb("delete", func(cmd *cobra.Command, b *bucket.Bucket, name string) error {
		return b.Delete(cmd.Context(), name)
	}).Short = "Remove an object"
	verb("list", func(cmd *cobra.Command, b *bucket.Bucket, prefix string) error {
		enc := json.NewEncoder(o.stdout)
		for l, err := range b.List(cmd.Context(), prefix) {
			if err != nil {
				return err
			}
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
		return nil
	}).Short = "List the objects whose names begin with NAME, a line of JSON each"
	return objects
}
