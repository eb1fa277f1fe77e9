package main

import (
	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/wire"
)

func newSubscriptions(f *factory) *cobra.Command {
	return newNoun("subscriptions", "subscription", "List, create, look into and move subscriptions",
		newSubscriptionsList(f), newSubscriptionsCreate(f), newSubscriptionsDelete(f), newSubscriptionsDescribe(f),
		newSubscriptionsBacklog(f), newSubscriptionsSeek(f), newSubscriptionsSkip(f), newSubscriptionsClear(f),
		newSubscriptionsPeek(f))
}

// subscriptionArg is TOPIC and SUBSCRIPTION of a verb. pulsar-admin gives the
// subscription as a flag, which is understood too.
type subscriptionArg struct {
	topic wire.TopicName
	sub   string
	flag  string
}

func (a *subscriptionArg) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.flag, "subscription", "", "the subscription, instead of the second argument")
}

func (a *subscriptionArg) parse(args []string) error {
	t, err := topic(args[0])
	if err != nil {
		return err
	}
	a.topic, a.sub = t, a.flag
	if len(args) > 1 {
		if a.flag != "" {
			return format.Usagef("the subscription is given twice")
		}
		a.sub = args[1]
	}
	if a.sub == "" {
		return format.Usagef("the subscription is missing")
	}
	return nil
}

func (a *subscriptionArg) name() string { return a.sub + " of " + a.topic.String() }
