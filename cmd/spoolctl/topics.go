package main

import (
	"github.com/spf13/cobra"
)

func newTopics(f *factory) *cobra.Command {
	cmd := newNoun("topics", "topic", "List, create, look into and change topics",
		newTopicsList(f), newTopicsCreate(f), newTopicsUpdate(f), newTopicsDelete(f), newTopicsGet(f),
		newTopicsPartitions(f), newTopicsStats(f), newTopicsStatsInternal(f), newTopicsPeek(f),
		newTopicsUnload(f), newTopicsTerminate(f))
	// pulsar-admin keeps the verbs of subscriptions here.
	for _, alias := range []struct {
		name string
		make func(*factory) *cobra.Command
	}{
		{"subscriptions", newSubscriptionsList},
		{"create-subscription", newSubscriptionsCreate},
		{"unsubscribe", newSubscriptionsDelete},
		{"skip", newSubscriptionsSkip},
		{"clear-backlog", newSubscriptionsClear},
		{"reset-cursor", newSubscriptionsSeek},
	} {
		verb := alias.make(f)
		_, args, _ := cutUse(verb.Use)
		verb.Use, verb.Aliases, verb.Hidden = alias.name+args, nil, true
		cmd.AddCommand(verb)
	}
	return cmd
}

// cutUse splits "verb ARGS" into the verb and " ARGS".
func cutUse(use string) (verb, args string, ok bool) {
	for i, r := range use {
		if r == ' ' {
			return use[:i], use[i:], true
		}
	}
	return use, "", false
}
