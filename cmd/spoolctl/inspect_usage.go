package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
)

// publishedUsage is what usage --publish says.
type publishedUsage struct {
	To            string    `json:"to" col:"TO,name"`
	CompletedAt   time.Time `json:"completedAt" col:"COMPLETED" fmt:"time"`
	Topics        int       `json:"topics" col:"TOPICS" fmt:"count"`
	Messages      int64     `json:"messages" col:"MESSAGES" fmt:"count"`
	LogicalBytes  int64     `json:"logicalBytes" col:"LOGICAL" fmt:"bytes"`
	PhysicalBytes *int64    `json:"physicalBytes" col:"PHYSICAL" fmt:"bytes"`
}

// usageFlags are the flags of inspect usage.
type usageFlags struct {
	*inspectOptions
	sel     selector
	by      string
	publish string
}

func newInspectUsage(o *inspectOptions) *cobra.Command {
	u := &usageFlags{inspectOptions: o, by: inspect.ByNamespace}
	cmd := o.verb("usage [TOPIC]...", "Account stored bytes to tenants, namespaces, topics or subscriptions", 0, -1, u.run)
	cmd.Long = cmd.Short + ".\n\nPhysical bytes are a topic's share of the tables; entries that only the log holds are not in them.\nThe logical bytes of a subscription are those that could be trimmed if it did not exist.\n\n" +
		"--publish writes the account of the whole spool by topic to a file, which is replaced in one step: always\n" +
		"a completed snapshot, as JSON. When anything could not be read, the file stays as it was."
	cmd.Example = "  spoolctl inspect usage --by tenant --spool ./spool\n  spoolctl inspect usage --publish ./usage.json --spool ./spool"
	u.sel.flags(cmd)
	cmd.Flags().Var(newChoice(&u.by, inspect.UsageLevels()...), "by", "whom to account to")
	cmd.Flags().StringVar(&u.publish, "publish", "", "file to write a snapshot of the whole spool to")
	return cmd
}

func (u *usageFlags) run(ctx context.Context, s *inspect.Session, args []string) error {
	if u.publish != "" {
		return u.snapshot(ctx, s, args)
	}
	chosen, err := u.sel.selector(args)
	if err != nil {
		return err
	}
	list, err := s.Usage(ctx, u.by, chosen)
	if err != nil {
		return err
	}
	return printList(u.f, list.Rows, format.ListOptions{Summary: list.Totals})
}

func (u *usageFlags) snapshot(ctx context.Context, s *inspect.Session, args []string) error {
	switch {
	case strings.Contains(u.publish, "://"):
		return &format.Error{Kind: format.ErrUsage, Msg: "--publish: " + u.publish + " is not the name of a file", Hint: "write a file, and have it fetched from there"}
	case len(args) > 0 || u.sel.regex != "":
		return format.Usagef("--publish is about the whole spool: leave out the topics")
	}
	inside, err := within(s.Source().Dir, u.publish)
	if err != nil {
		return err
	}
	if inside {
		return &format.Error{Kind: format.ErrUsage, Msg: "--publish: " + u.publish + " is in the spool, in which nothing changes", Hint: "name a file elsewhere"}
	}
	got, err := s.UsageSnapshot(ctx, inspect.UsageSnapshotOptions{Build: "spoolctl/" + buildVersion().Version})
	if errors.Is(err, inspect.ErrPartial) {
		return &format.Error{Kind: format.ErrProblems, Err: err, Hint: "nothing was published; see `spoolctl inspect verify`"}
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(u.publish, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return u.f.print(publishedUsage{To: u.publish, CompletedAt: got.CompletedAt, Topics: got.Totals.Topics, Messages: got.Totals.Messages,
		LogicalBytes: got.Totals.LogicalBytes, PhysicalBytes: got.Totals.PhysicalBytes})
}

// within reports whether a file would lie below a folder, wherever links lead.
func within(dir, file string) (bool, error) {
	real := func(path string) (string, error) {
		path, err := filepath.Abs(path)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		return path, err
	}
	dir, err := real(dir)
	if err != nil {
		return false, err
	}
	folder, err := real(filepath.Dir(file))
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(dir, folder)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)), err
}
