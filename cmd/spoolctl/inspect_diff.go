package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/live/admin"
	"spoolctl/wire"
)

func newInspectDiff(o *inspectOptions) *cobra.Command {
	var sel selector
	var broker bool
	var topics []string
	cmd := &cobra.Command{
		Use:   "diff SPOOL_A SPOOL_B",
		Short: "Compare two spools, or a spool and a running broker",
		Long: "Compare the topics, ledgers, subscriptions and backlogs of two spools, or of a spool and the broker\n" +
			"that --admin-url names. It ends with exit code 3 when they differ.",
		Example: "  spoolctl inspect diff ./spool ./restored\n  spoolctl inspect diff ./spool --broker --admin-url http://127.0.0.1:8080",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.f.global.spool != "" {
				args = append([]string{o.f.global.spool}, args...)
			}
			if want := 2; broker && len(args) != 1 || !broker && len(args) != want {
				return format.Usagef("diff compares two spools, or one with --broker; %d are named", len(args))
			}
			chosen, err := sel.selector(topics)
			if err != nil {
				return err
			}
			return o.diff(cmd.Context(), args, broker, chosen)
		},
	}
	sel.flags(cmd)
	cmd.Flags().StringSliceVar(&topics, "topic", nil, "only topics of this name or pattern (repeatable)")
	cmd.Flags().BoolVar(&broker, "broker", false, "compare with the broker at --admin-url")
	return cmd
}

func (o *inspectOptions) diff(ctx context.Context, dirs []string, broker bool, sel inspect.Selector) error {
	var sides [2][]inspect.TopicShape
	for i, dir := range dirs {
		err := o.answer(ctx, dir, func(s *inspect.Session) (err error) {
			sides[i], err = s.Shapes(ctx, sel)
			return err
		})
		if err != nil {
			return err
		}
	}
	if broker {
		c, err := o.f.admin()
		if err != nil {
			return err
		}
		if sides[1], err = brokerShapes(ctx, c, sel); err != nil {
			return err
		}
	}
	rows, totals := inspect.Diff(sides[0], sides[1])
	if err := printList(o.f, rows, format.ListOptions{Summary: totals}); err != nil || len(rows) == 0 {
		return err
	}
	return &format.Error{Kind: format.ErrProblems, Msg: fmt.Sprintf("%d differences", len(rows)), Hint: "A is the first that was named, B the second"}
}

// brokerShapes reads the shapes of a broker's stored topics.
func brokerShapes(ctx context.Context, c *admin.Client, sel inspect.Selector) (out []inspect.TopicShape, err error) {
	tenants, err := c.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	for _, tenant := range tenants {
		namespaces, err := c.Namespaces(ctx, tenant)
		if err != nil {
			return nil, err
		}
		for _, name := range namespaces {
			ns, err := wire.ParseNamespace(name)
			if err != nil {
				return nil, fmt.Errorf("the broker lists the namespace %q: %w", name, err)
			}
			topics, err := c.NamespaceTopics(ctx, ns, "PERSISTENT")
			if err != nil {
				return nil, err
			}
			if topics, err = sel.Match(topics); err != nil {
				return nil, err
			}
			for _, t := range topics {
				shape, err := brokerShape(ctx, c, t)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", t, err)
				}
				out = append(out, shape)
			}
		}
	}
	return out, nil
}

func brokerShape(ctx context.Context, c *admin.Client, name string) (inspect.TopicShape, error) {
	shape := inspect.TopicShape{Topic: name, Ledgers: map[int64]inspect.LedgerShape{}, Cursors: map[string]inspect.CursorShape{}}
	t, err := wire.ParseTopic(name)
	if err != nil {
		return shape, err
	}
	raw, err := c.JSON(ctx, admin.TopicInternalStats(t, false))
	if err != nil {
		return shape, err
	}
	var in struct {
		NumberOfEntries    *int64
		TotalSize          *int64
		LastConfirmedEntry string
		State              string
		Ledgers            []struct {
			LedgerID      int64 `json:"ledgerId"`
			Entries, Size *int64
		}
		Cursors map[string]struct {
			MarkDeletePosition          string
			IndividuallyDeletedMessages string
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return shape, fmt.Errorf("%w: %w", admin.ErrAnswer, err)
	}
	shape.Entries, shape.Bytes, shape.Last = in.NumberOfEntries, in.TotalSize, in.LastConfirmedEntry
	shape.Terminated = new(in.State == "Terminated")
	for i, l := range in.Ledgers {
		if i == len(in.Ledgers)-1 { // the open one is counted on the way
			l.Entries, l.Size = nil, nil
		}
		shape.Ledgers[l.LedgerID] = inspect.LedgerShape{Entries: l.Entries, Bytes: l.Size}
	}
	stats, _, err := c.Stats(ctx, t, false)
	if err != nil {
		return shape, err
	}
	for sub, cur := range in.Cursors {
		s := inspect.CursorShape{MarkDelete: cur.MarkDeletePosition, Ranges: new(int64(strings.Count(cur.IndividuallyDeletedMessages, "..")))}
		if st, ok := stats.Subscriptions[sub]; ok {
			s.Backlog = st.MsgBacklog
		}
		shape.Cursors[sub] = s
	}
	return shape, nil
}
