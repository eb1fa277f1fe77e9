package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
	"spoolctl/wire"
)

// topicRow is one topic of a list; the partitions of a partitioned topic are
// one row together.
type topicRow struct {
	Name       string `json:"name" col:"TOPIC,name"`
	Partitions *int   `json:"partitions" col:"PARTITIONS"` // nil: not partitioned
	Persistent bool   `json:"persistent" col:"PERSISTENT,wide"`
}

type topicsList struct {
	f         *factory
	namespace string
	domain    string
	each      bool
}

func newTopicsList(f *factory) *cobra.Command {
	o := &topicsList{f: f}
	return o.flags(&cobra.Command{
		Use:     "list [TENANT/NAMESPACE]",
		Aliases: []string{"list-partitioned-topics"},
		Short:   "List the topics of a namespace (default public/default)",
		Args:    rangeArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.namespace = "public/default"
			if len(args) > 0 {
				o.namespace = args[0]
			}
			return o.run(cmd.Context())
		},
	})
}

func (o *topicsList) flags(cmd *cobra.Command) *cobra.Command {
	o.domain = "all"
	cmd.Flags().Var(newChoice(&o.domain, "all", "persistent", "non-persistent"), "domain", "which topics")
	cmd.Flags().BoolVar(&o.each, "partitions", false, "one row for each partition")
	return cmd
}

func (o *topicsList) run(ctx context.Context) error {
	ns, err := namespace(o.namespace)
	if err != nil {
		return err
	}
	c, err := o.f.admin()
	if err != nil {
		return err
	}
	rows, err := o.fetch(ctx, c, ns)
	if err != nil {
		return failed("namespace", ns.String(), err)
	}
	return printList(o.f, rows, format.ListOptions{})
}

func (o *topicsList) fetch(ctx context.Context, c *admin.Client, ns wire.NamespaceName) ([]topicRow, error) {
	mode := map[string]string{"all": "ALL", "persistent": "PERSISTENT", "non-persistent": "NON_PERSISTENT"}[o.domain]
	names, err := c.NamespaceTopics(ctx, ns, mode)
	if err != nil {
		return nil, err
	}
	counts := map[wire.TopicName]int{}
	if !o.each {
		if counts, err = o.partitionCounts(ctx, c, ns); err != nil {
			return nil, err
		}
	}
	var rows []topicRow
	for t, n := range counts {
		rows = append(rows, topicRow{Name: t.String(), Partitions: &n, Persistent: t.Domain == wire.Persistent})
	}
	for _, name := range names {
		t, err := wire.ParseTopic(name)
		if err != nil {
			return nil, err
		}
		if _, known := counts[t.Base()]; known && t.Partition() >= 0 {
			continue
		}
		rows = append(rows, topicRow{Name: t.String(), Persistent: t.Domain == wire.Persistent})
	}
	slices.SortFunc(rows, func(a, b topicRow) int { return cmp.Compare(a.Name, b.Name) })
	return rows, nil
}

// partitionCounts asks for the partitions of each partitioned topic: brokers
// list only those that a client has opened.
func (o *topicsList) partitionCounts(ctx context.Context, c *admin.Client, ns wire.NamespaceName) (map[wire.TopicName]int, error) {
	counts := map[wire.TopicName]int{}
	for _, domain := range []wire.Domain{wire.Persistent, wire.NonPersistent} {
		if o.domain != "all" && o.domain != domain.String() {
			continue
		}
		list, err := c.PartitionedTopics(ctx, domain, ns)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			t, err := wire.ParseTopic(name)
			if err != nil {
				return nil, err
			}
			meta, err := c.Partitions(ctx, t)
			if err != nil {
				return nil, err
			}
			counts[t] = meta.Partitions
		}
	}
	return counts, nil
}
