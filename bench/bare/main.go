// Command bare opens a Pebble database read-only, scans it when asked to, and does nothing else: what the inspector is
// compared with.
package main

import (
	"errors"
	"fmt"
	"os"

	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || args[0] != "open" && args[0] != "scan" {
		return errors.New("usage: bare open|scan DATABASE")
	}
	o := storage.EngineOptions()
	o.ReadOnly = true
	db, err := pebble.Open(args[1], o)
	if err != nil {
		return err
	}
	if args[0] == "scan" {
		err = scan(db)
	}
	return errors.Join(err, db.Close())
}

func scan(db *pebble.DB) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		n += len(it.Value())
	}
	fmt.Println(n, "bytes")
	return errors.Join(it.Error(), it.Close())
}
