package main

import (
	"context"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/maintain"
)

func newStorageTopic(o *storageOptions) *cobra.Command {
	return newNoun("topic", "topics", "Change the topics of a stopped spool",
		newTopicDelete(o), newTopicRename(o), newTopicTruncate(o), newTopicTerminate(o))
}

// topicVerb makes a verb that takes TOPIC.
func (o *storageOptions) topicVerb(use, short string, more int, run func(ctx context.Context, t maintain.TopicOptions, args []string) (*maintain.Result, error)) *cobra.Command {
	return o.verb(use, short, 1+more, 1+more, func(ctx context.Context, m maintain.Options, args []string) (*maintain.Result, error) {
		name, err := topic(args[0])
		if err != nil {
			return nil, err
		}
		return run(ctx, maintain.TopicOptions{Options: m, Topic: name}, args[1:])
	})
}

func newTopicDelete(o *storageOptions) *cobra.Command {
	return o.topicVerb("delete [SPOOL] TOPIC", "Delete a topic with its messages and subscriptions", 0,
		func(ctx context.Context, t maintain.TopicOptions, _ []string) (*maintain.Result, error) {
			return maintain.DeleteTopic(ctx, t)
		})
}

func newTopicRename(o *storageOptions) *cobra.Command {
	cmd := o.topicVerb("rename [SPOOL] TOPIC NEW-NAME", "Give a topic another name, with all it has", 1,
		func(ctx context.Context, t maintain.TopicOptions, args []string) (*maintain.Result, error) {
			to, err := topic(args[0])
			if err != nil {
				return nil, err
			}
			return maintain.RenameTopic(ctx, t, to)
		})
	cmd.Example = "  spoolctl storage topic rename ./spool orders orders-2026"
	return cmd
}

func newTopicTruncate(o *storageOptions) *cobra.Command {
	return o.topicVerb("truncate [SPOOL] TOPIC", "Remove all messages of a topic; subscriptions stay", 0,
		func(ctx context.Context, t maintain.TopicOptions, _ []string) (*maintain.Result, error) {
			return maintain.TruncateTopic(ctx, t)
		})
}

func newTopicTerminate(o *storageOptions) *cobra.Command {
	return o.topicVerb("terminate [SPOOL] TOPIC", "Forbid further publishes for ever; what is stored can still be read", 0,
		func(ctx context.Context, t maintain.TopicOptions, _ []string) (*maintain.Result, error) {
			return maintain.TerminateTopic(ctx, t)
		})
}

func newStorageTrim(o *storageOptions) *cobra.Command {
	cmd := o.verb("trim [SPOOL] [TOPIC…]", "Expire old messages and remove ledgers that nobody needs", 0, -1,
		func(ctx context.Context, m maintain.Options, args []string) (*maintain.Result, error) {
			return maintain.Trim(ctx, maintain.TrimOptions{Options: m, Topics: args})
		})
	cmd.Long = "Expire messages by their time to live, and remove the ledgers that every subscription has passed and retention\n" +
		"does not keep, as the running broker would. Policies are the topic's, else its namespace's."
	cmd.Example = "  spoolctl storage trim ./spool --dry-run\n  spoolctl storage trim ./spool 'tenant/ns/*' --yes"
	return cmd
}

func newStorageUndo(o *storageOptions) *cobra.Command {
	to := ""
	cmd := o.verb("undo [SPOOL]", "Put the last checkpoint back", 0, 0,
		func(ctx context.Context, m maintain.Options, _ []string) (*maintain.Result, error) {
			return maintain.Undo(ctx, m, to)
		})
	cmd.Long = "Put the state before the last change back. Everything that happened to the spool since is undone, also what a broker\n" +
		"wrote. The state before becomes a checkpoint itself: a second undo takes the first back."
	cmd.Flags().StringVar(&to, "to", "", "a checkpoint's name; default: the newest")
	return cmd
}

func newStorageCheckpoints(o *storageOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoints [SPOOL]",
		Short: "List the states that undo can bring back",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _, err := (&inspectOptions{f: o.f}).spoolOf(cmd, args, 0, 0)
			if err != nil {
				return err
			}
			list, err := maintain.Checkpoints(dir)
			if err != nil {
				return storageError(dir, err)
			}
			return printList(o.f, list, format.ListOptions{})
		},
	}
}
