package main

import (
	"context"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

func newNamespaces(f *factory) *cobra.Command {
	return newNoun("namespaces", "namespace", "List, create and change namespaces",
		newNamespacesList(f), newNamespacesCreate(f), newNamespacesDelete(f), newNamespacesTopics(f),
		newNamespacesPolicies(f), newPermissions(f), newGrantPermission(f), newRevokePermission(f))
}

func newNamespacesList(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "list [TENANT]",
		Short: "List the namespaces of a tenant, or of all tenants",
		Args:  rangeArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := listNamespaces(cmd.Context(), f, args)
			if err != nil {
				return err
			}
			return printList(f, nameRows(rows), format.ListOptions{})
		},
	}
}

func listNamespaces(ctx context.Context, f *factory, tenants []string) ([]string, error) {
	c, err := f.admin()
	if err != nil {
		return nil, err
	}
	if len(tenants) == 0 {
		if tenants, err = c.Tenants(ctx); err != nil {
			return nil, err
		}
	}
	var all []string
	for _, t := range tenants {
		names, err := c.Namespaces(ctx, t)
		if err != nil {
			return nil, failed("tenant", t, err)
		}
		all = append(all, names...)
	}
	return all, nil
}

func newNamespacesCreate(f *factory) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "create TENANT/NAMESPACE",
		Short:   "Create a namespace",
		Example: "  spoolctl namespaces create acme/orders",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := namespace(args[0])
			if err != nil {
				return err
			}
			return f.change(cmd.Context(), dryRun, admin.CreateNamespace(ns, nil), change{Action: "created", Kind: "namespace", Name: ns.String()})
		},
	}
	return mutating(cmd, &dryRun)
}

func newNamespacesDelete(f *factory) *cobra.Command {
	var force, dryRun bool
	cmd := &cobra.Command{
		Use:   "delete TENANT/NAMESPACE",
		Short: "Delete an empty namespace",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := namespace(args[0])
			if err != nil {
				return err
			}
			if err := f.confirm(dryRun, "delete namespace "+ns.String()); err != nil {
				return err
			}
			return f.change(cmd.Context(), dryRun, admin.DeleteNamespace(ns, force), change{Action: "deleted", Kind: "namespace", Name: ns.String()})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "delete its topics too")
	return mutating(cmd, &dryRun)
}

func newNamespacesTopics(f *factory) *cobra.Command {
	o := &topicsList{f: f}
	return o.flags(&cobra.Command{
		Use:   "topics TENANT/NAMESPACE",
		Short: "List the topics of a namespace",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.namespace = args[0]
			return o.run(cmd.Context())
		},
	})
}

func newNamespacesPolicies(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "policies TENANT/NAMESPACE",
		Short: "Show the policies of a namespace",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := namespace(args[0])
			if err != nil {
				return err
			}
			c, err := f.admin()
			if err != nil {
				return err
			}
			policies, err := c.Policies(cmd.Context(), ns)
			if err != nil {
				return failed("namespace", ns.String(), err)
			}
			return f.print(policies)
		},
	}
}
