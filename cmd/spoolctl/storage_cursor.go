package main

import (
	"context"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/maintain"
	"spoolctl/wire"
)

func newStorageCursor(o *storageOptions) *cobra.Command {
	return newNoun("cursor", "cursors", "Change the subscriptions of a stopped spool",
		newCursorSet(o), newCursorSkip(o), newCursorClear(o), newCursorAck(o), newCursorDelete(o), newCursorRename(o), newCursorCreate(o))
}

// cursorVerb makes a verb that takes TOPIC and SUBSCRIPTION.
func (o *storageOptions) cursorVerb(use, short string, more int, run func(ctx context.Context, c maintain.CursorOptions, args []string) (*maintain.Result, error)) *cobra.Command {
	var flag string
	cmd := o.verb(use, short, 1, 2+more, func(ctx context.Context, m maintain.Options, args []string) (*maintain.Result, error) {
		on := subscriptionArg{flag: flag}
		n := 2
		if flag != "" {
			n = 1
		}
		if len(args) < n {
			return nil, format.Usagef("the subscription is missing")
		}
		if err := on.parse(args[:n]); err != nil {
			return nil, err
		}
		return run(ctx, maintain.CursorOptions{Options: m, Topic: on.topic, Subscription: on.sub}, args[n:])
	})
	cmd.Flags().StringVar(&flag, "subscription", "", "the subscription, instead of the argument after TOPIC")
	return cmd
}

// target reads where a cursor shall go.
func (o *storageOptions) target(at, id string) (maintain.Target, error) {
	var t maintain.Target
	if (at == "") == (id == "") {
		return t, format.Usagef("give either --time or --message-id")
	}
	if id != "" {
		m, err := messageID(id)
		t.Position = m.Position
		return t, err
	}
	var err error
	if t.Time, err = format.ParseTime(at, o.f.now()); err != nil {
		return t, &format.Error{Kind: format.ErrUsage, Err: err}
	}
	return t, nil
}

func newCursorSet(o *storageOptions) *cobra.Command {
	var at, id string
	cmd := o.cursorVerb("set [SPOOL] TOPIC SUBSCRIPTION (--time WHEN | --message-id ID)", "Move a subscription to a message or to a moment", 0,
		func(ctx context.Context, c maintain.CursorOptions, _ []string) (*maintain.Result, error) {
			to, err := o.target(at, id)
			if err != nil {
				return nil, err
			}
			return maintain.SetCursor(ctx, c, to)
		})
	cmd.Aliases = []string{"seek", "reset-cursor"}
	cmd.Example = "  spoolctl storage cursor set ./spool orders billing --message-id earliest"
	cmd.Flags().StringVarP(&at, "time", "t", "", "RFC 3339, or how long ago: 3h, 2d")
	cmd.Flags().StringVarP(&id, "message-id", "m", "", "earliest, latest or LEDGER:ENTRY: the next message to be delivered")
	return cmd
}

func newCursorSkip(o *storageOptions) *cobra.Command {
	var count int64
	cmd := o.cursorVerb("skip [SPOOL] TOPIC SUBSCRIPTION --count N", "Acknowledge the next N messages without delivering them", 0,
		func(ctx context.Context, c maintain.CursorOptions, _ []string) (*maintain.Result, error) {
			if count < 1 {
				return nil, format.Usagef("--count is needed: how many messages to skip")
			}
			return maintain.SkipCursor(ctx, c, count)
		})
	cmd.Flags().Int64VarP(&count, "count", "n", 0, "how many messages")
	return cmd
}

func newCursorClear(o *storageOptions) *cobra.Command {
	cmd := o.cursorVerb("clear [SPOOL] TOPIC SUBSCRIPTION", "Acknowledge everything: the subscription starts anew at the end of the topic", 0,
		func(ctx context.Context, c maintain.CursorOptions, _ []string) (*maintain.Result, error) {
			return maintain.ClearCursor(ctx, c)
		})
	cmd.Aliases = []string{"clear-backlog"}
	return cmd
}

func newCursorAck(o *storageOptions) *cobra.Command {
	const many = 1000
	cmd := o.cursorVerb("ack [SPOOL] TOPIC SUBSCRIPTION MESSAGE-ID…", "Acknowledge single messages", many,
		func(ctx context.Context, c maintain.CursorOptions, args []string) (*maintain.Result, error) {
			if len(args) == 0 {
				return nil, format.Usagef("which message? none is named")
			}
			ids := make([]wire.MessageID, len(args))
			for i, a := range args {
				var err error
				if ids[i], err = messageID(a); err != nil {
					return nil, err
				}
			}
			return maintain.AckCursor(ctx, c, ids)
		})
	cmd.Long = "Acknowledge single messages: LEDGER:ENTRY is a whole entry, LEDGER:ENTRY:PARTITION:BATCH one message of a batch."
	cmd.Example = "  spoolctl storage cursor ack ./spool orders billing 12:340 12:341"
	return cmd
}

func newCursorDelete(o *storageOptions) *cobra.Command {
	cmd := o.cursorVerb("delete [SPOOL] TOPIC SUBSCRIPTION", "Delete a subscription and forget what it has not yet read", 0,
		func(ctx context.Context, c maintain.CursorOptions, _ []string) (*maintain.Result, error) {
			return maintain.DeleteCursor(ctx, c)
		})
	cmd.Aliases = []string{"unsubscribe"}
	return cmd
}

func newCursorRename(o *storageOptions) *cobra.Command {
	return o.cursorVerb("rename [SPOOL] TOPIC SUBSCRIPTION NEW-NAME", "Give a subscription another name; its position stays", 1,
		func(ctx context.Context, c maintain.CursorOptions, args []string) (*maintain.Result, error) {
			if len(args) != 1 {
				return nil, format.Usagef("one new name is needed")
			}
			return maintain.RenameCursor(ctx, c, args[0])
		})
}

func newCursorCreate(o *storageOptions) *cobra.Command {
	at := ""
	cmd := o.cursorVerb("create [SPOOL] TOPIC SUBSCRIPTION", "Create a subscription at the end of a topic, or at a message", 0,
		func(ctx context.Context, c maintain.CursorOptions, _ []string) (*maintain.Result, error) {
			to, err := o.target("", at)
			if err != nil {
				return nil, err
			}
			return maintain.CreateCursor(ctx, c, to, nil)
		})
	cmd.Flags().StringVarP(&at, "message-id", "m", "latest", "where it starts: earliest, latest or LEDGER:ENTRY")
	return cmd
}
