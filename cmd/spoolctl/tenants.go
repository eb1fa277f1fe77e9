package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

func newTenants(f *factory) *cobra.Command {
	return newNoun("tenants", "tenant", "List, create and change tenants",
		newTenantsList(f), newTenantsGet(f), newTenantsCreate(f), newTenantsUpdate(f), newTenantsDelete(f))
}

// tenantRow is a tenant as tables and JSON show it.
type tenantRow struct {
	Name            string   `json:"name" col:"TENANT,name"`
	AdminRoles      []string `json:"adminRoles" col:"ADMIN_ROLES"`
	AllowedClusters []string `json:"allowedClusters" col:"ALLOWED_CLUSTERS"`
}

type nameRow struct {
	Name string `json:"name" col:"NAME,name"`
}

func nameRows(names []string) []nameRow {
	rows := make([]nameRow, len(names))
	for i, n := range names {
		rows[i].Name = n
	}
	return rows
}

func newTenantsList(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tenants",
		Args:  noArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.admin()
			if err != nil {
				return err
			}
			names, err := c.Tenants(cmd.Context())
			if err != nil {
				return err
			}
			return printList(f, nameRows(names), format.ListOptions{})
		},
	}
}

func newTenantsGet(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "get TENANT",
		Short: "Show the admin roles and clusters of a tenant",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.admin()
			if err != nil {
				return err
			}
			info, err := c.Tenant(cmd.Context(), args[0])
			if err != nil {
				return failed("tenant", args[0], err)
			}
			return f.print(tenantRow{Name: args[0], AdminRoles: info.AdminRoles, AllowedClusters: info.AllowedClusters})
		},
	}
}

// tenantsWrite is create and update, which differ in what stands for a list
// that is not given.
type tenantsWrite struct {
	f               *factory
	name            string
	roles, clusters []string
	setRoles        bool
	setClusters     bool
	dryRun          bool
}

func (o *tenantsWrite) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringSliceVarP(&o.roles, "admin-roles", "r", nil, "roles that administer the tenant")
	cmd.Flags().StringSliceVarP(&o.clusters, "allowed-clusters", "c", nil, "clusters that the tenant may use (default all)")
	return mutating(cmd, &o.dryRun)
}

func newTenantsCreate(f *factory) *cobra.Command {
	o := &tenantsWrite{f: f}
	return o.flags(&cobra.Command{
		Use:     "create TENANT",
		Short:   "Create a tenant",
		Example: "  spoolctl tenants create acme --admin-roles ops,alice",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return o.create(cmd.Context())
		},
	})
}

func (o *tenantsWrite) create(ctx context.Context) error {
	info := admin.TenantInfo{AdminRoles: o.roles, AllowedClusters: o.clusters}
	if err := o.fillClusters(ctx, &info); err != nil {
		return err
	}
	return o.f.change(ctx, o.dryRun, admin.CreateTenant(o.name, info), change{Action: "created", Kind: "tenant", Name: o.name})
}

// fillClusters puts in all clusters when none is named: brokers refuse a
// tenant without one.
func (o *tenantsWrite) fillClusters(ctx context.Context, info *admin.TenantInfo) error {
	if len(info.AllowedClusters) > 0 {
		return nil
	}
	c, err := o.f.admin()
	if err != nil {
		return err
	}
	all, err := c.Clusters(ctx)
	if err != nil {
		return err
	}
	for _, name := range all {
		// Pulsar lists its store of global configuration as a cluster too.
		if name != "global" {
			info.AllowedClusters = append(info.AllowedClusters, name)
		}
	}
	return nil
}

func newTenantsUpdate(f *factory) *cobra.Command {
	o := &tenantsWrite{f: f}
	return o.flags(&cobra.Command{
		Use:   "update TENANT",
		Short: "Change the admin roles or clusters of a tenant; what is not given stays",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			o.setRoles, o.setClusters = cmd.Flags().Changed("admin-roles"), cmd.Flags().Changed("allowed-clusters")
			return o.update(cmd.Context())
		},
	})
}

func (o *tenantsWrite) update(ctx context.Context) error {
	if !o.setRoles && !o.setClusters {
		return format.Usagef("nothing to change: give --admin-roles or --allowed-clusters")
	}
	c, err := o.f.admin()
	if err != nil {
		return err
	}
	info, err := c.Tenant(ctx, o.name)
	if err != nil {
		if errors.Is(err, admin.ErrNotFound) {
			err = format.WithHint(err, "create it with `spoolctl tenants create "+o.name+"`")
		}
		return failed("tenant", o.name, err)
	}
	if o.setRoles {
		info.AdminRoles = o.roles
	}
	if o.setClusters {
		info.AllowedClusters = o.clusters
	}
	if err := o.fillClusters(ctx, &info); err != nil {
		return err
	}
	return o.f.change(ctx, o.dryRun, admin.UpdateTenant(o.name, info), change{Action: "updated", Kind: "tenant", Name: o.name})
}

func newTenantsDelete(f *factory) *cobra.Command {
	var force, dryRun bool
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant without namespaces",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.confirm(dryRun, "delete tenant "+args[0]); err != nil {
				return err
			}
			return f.change(cmd.Context(), dryRun, admin.DeleteTenant(args[0], force), change{Action: "deleted", Kind: "tenant", Name: args[0]})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "delete its namespaces and topics too")
	return mutating(cmd, &dryRun)
}
