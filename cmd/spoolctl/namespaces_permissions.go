package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/admin"
)

// permissionRow is what one role may do.
type permissionRow struct {
	Role    string   `json:"role" col:"ROLE,name"`
	Actions []string `json:"actions" col:"ACTIONS"`
}

func newPermissions(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "permissions TENANT/NAMESPACE",
		Short: "List the roles with permissions on a namespace",
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
			perms, err := c.Permissions(cmd.Context(), ns)
			if err != nil {
				return failed("namespace", ns.String(), err)
			}
			var rows []permissionRow
			for _, role := range slices.Sorted(maps.Keys(perms)) {
				rows = append(rows, permissionRow{Role: role, Actions: slices.Sorted(slices.Values(perms[role]))})
			}
			return printList(f, rows, format.ListOptions{})
		},
	}
}

// permissionActions are the actions that brokers know.
func permissionActions() []string {
	return []string{"produce", "consume", "functions", "sources", "sinks", "packages"}
}

type grantPermission struct {
	f       *factory
	ns      string
	role    string
	actions []string
	dryRun  bool
}

func newGrantPermission(f *factory) *cobra.Command {
	o := &grantPermission{f: f}
	cmd := &cobra.Command{
		Use:     "grant-permission TENANT/NAMESPACE --role ROLE --actions ACTION[,ACTION]",
		Short:   "Let a role produce, consume, … on every topic of a namespace",
		Example: "  spoolctl namespaces grant-permission acme/orders --role shop --actions produce,consume",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ns = args[0]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.role, "role", "", "the role")
	cmd.Flags().StringSliceVar(&o.actions, "actions", nil, strings.Join(permissionActions(), ", "))
	return mutating(cmd, &o.dryRun)
}

func (o *grantPermission) run(ctx context.Context) error {
	ns, err := namespace(o.ns)
	if err != nil {
		return err
	}
	if o.role == "" || len(o.actions) == 0 {
		return format.Usagef("--role and --actions are needed")
	}
	for _, a := range o.actions {
		if !slices.Contains(permissionActions(), a) {
			return &format.Error{
				Kind: format.ErrUsage, Msg: "unknown action " + a,
				Hint: "actions: " + strings.Join(permissionActions(), ", "),
			}
		}
	}
	return o.f.change(ctx, o.dryRun, admin.GrantNamespace(ns, o.role, o.actions), change{
		Action: "granted", Kind: "permission", Name: ns.String(), Detail: o.role + ": " + strings.Join(o.actions, ","),
	})
}

func newRevokePermission(f *factory) *cobra.Command {
	var role string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "revoke-permission TENANT/NAMESPACE --role ROLE",
		Short: "Take all permissions on a namespace from a role",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := namespace(args[0])
			if err != nil {
				return err
			}
			if role == "" {
				return format.Usagef("--role is needed")
			}
			return f.change(cmd.Context(), dryRun, admin.RevokeNamespace(ns, role), change{
				Action: "revoked", Kind: "permission", Name: ns.String(), Detail: role,
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "the role")
	return mutating(cmd, &dryRun)
}
