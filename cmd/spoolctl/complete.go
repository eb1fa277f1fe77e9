package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/wire"
)

// completionBudget is the longest that a shell waits for live names; failures
// are silent.
const completionBudget = time.Second

// completeTopic offers topic names of public/default as the first argument.
func (f *factory) completeTopic(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.liveNames(cmd, func(ctx context.Context) ([]string, error) {
		c, err := f.admin()
		if err != nil {
			return nil, err
		}
		return c.NamespaceTopics(ctx, wire.NamespaceName{Tenant: "public", Namespace: "default"}, "ALL")
	})
}

// completeSubscription offers topics, then the subscriptions of the topic.
func (f *factory) completeSubscription(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.completeTopic(cmd, args, word)
	}
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.liveNames(cmd, func(ctx context.Context) ([]string, error) {
		t, err := wire.ParseTopic(args[0])
		if err != nil {
			return nil, err
		}
		c, err := f.admin()
		if err != nil {
			return nil, err
		}
		return c.Subscriptions(ctx, t)
	})
}

func (f *factory) liveNames(cmd *cobra.Command, ask func(context.Context) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	if f.applyEnvironment(cmd.Root()) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionBudget)
	defer cancel()
	names, err := ask(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
