package admin_test

import (
	"strings"
	"testing"
)

// TestEveryPolicy sets, reads and removes each policy of namespaces and topics: the value comes back as it was sent.
func TestEveryPolicy(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.run([]step{{put, "/admin/v2/persistent/public/default/t", "", 204, ""}, {put, "/admin/v2/persistent/public/default/p/partitions", "2", 204, ""}})
	const (
		rate    = `{"dispatchThrottlingRateInMsg":10,"dispatchThrottlingRateInByte":-1,"relativeToPublishRate":false,"ratePeriodInSecond":1}`
		ns      = "/admin/v2/namespaces/public/default/"
		onTopic = "/admin/v2/persistent/public/default/t/"
		onParts = "/admin/v2/persistent/public/default/p/"
	)
	for _, p := range []struct {
		namespace, topic string // paths; empty: not there
		value            string
		bad              string // empty: every JSON of its kind is taken
		unset            string // a namespace's answer; empty: 204
	}{
		{"autoSubscriptionCreation", "autoSubscriptionCreation", `{"allowAutoSubscriptionCreation":false}`, "7", ""},
		{"retention", "retention", `{"retentionTimeInMinutes":10,"retentionSizeInMB":-1}`, `{"retentionTimeInMinutes":10}`, ""},
		{"messageTTL", "messageTTL", "600", "-1", ""},
		{"subscriptionExpirationTime", "", "60", "-60", ""},
		{"deduplication", "deduplicationEnabled", "true", "7", ""},
		{"inactiveTopicPolicies", "inactiveTopicPolicies", `{"inactiveTopicDeleteMode":"delete_when_no_subscriptions","maxInactiveDurationSeconds":5,"deleteWhileInactive":true}`, `{"inactiveTopicDeleteMode":"whenever"}`, ""},
		{"maxProducersPerTopic", "maxProducers", "3", "-1", ""},
		{"maxConsumersPerTopic", "maxConsumers", "3", "-1", ""},
		{"maxConsumersPerSubscription", "maxConsumersPerSubscription", "3", `"many"`, ""},
		{"maxSubscriptionsPerTopic", "maxSubscriptionsPerTopic", "3", "1.5", ""},
		{"maxUnackedMessagesPerConsumer", "maxUnackedMessagesOnConsumer", "3", "-1", ""},
		{"maxUnackedMessagesPerSubscription", "maxUnackedMessagesOnSubscription", "3", "-1", ""},
		{"", "maxMessageSize", "1024", "-1", ""},
		{"encryptionRequired", "", "true", `"perhaps"`, "false"},
		{"schemaCompatibilityStrategy", "schemaCompatibilityStrategy", `"BACKWARD"`, `"SIDEWAYS"`, `"UNDEFINED"`},
		{"schemaAutoUpdateCompatibilityStrategy", "", `"Forward"`, `"FORWARD"`, `"Full"`},
		{"schemaValidationEnforced", "schemaValidationEnforced", "true", "1", "false"},
		{"isAllowAutoUpdateSchema", "", "false", "1", "true"},
		{"publishRate", "publishRate", `{"publishThrottlingRateInMsg":1,"publishThrottlingRateInByte":2}`, "1", ""},
		{"dispatchRate", "dispatchRate", rate, "1", ""},
		{"subscriptionDispatchRate", "subscriptionDispatchRate", rate, "1", ""},
		{"replicatorDispatchRate", "replicatorDispatchRate", rate, "1", ""},
		{"subscribeRate", "subscribeRate", `{"subscribeThrottlingRatePerConsumer":10,"ratePeriodInSecond":30}`, "1", ""},
		{"delayedDelivery", "delayedDelivery", `{"tickTime":1000,"active":true}`, "1", ""},
		{"persistence", "persistence", `{"bookkeeperEnsemble":1,"bookkeeperWriteQuorum":1,"bookkeeperAckQuorum":1,"managedLedgerMaxMarkDeleteRate":10.0}`, `{"bookkeeperEnsemble":1,"bookkeeperWriteQuorum":2}`, ""},
		{"persistence/bookieAffinity", "", `{"bookkeeperAffinityGroupPrimary":"a"}`, "1", ""},
		{"deduplicationSnapshotInterval", "deduplicationSnapshotInterval", "100", "-1", ""},
		{"compactionThreshold", "compactionThreshold", "1048576", "-1", ""},
		{"offloadThreshold", "", "-1", "-2", ""},
		{"offloadThresholdInSeconds", "", "60", "-60", ""},
		{"offloadDeletionLagMs", "", "0", "-1", ""},
		{"offloadPolicies", "offloadPolicies", `{"managedLedgerOffloadDriver":"filesystem"}`, "1", ""},
		{"replication", "replication", `["standalone"]`, `{}`, ""},
		{"subscriptionTypesEnabled", "subscriptionTypesEnabled", `["Shared"]`, `["Sideways"]`, "[]"},
		{"subscriptionAuthMode", "", `"Prefix"`, `"Suffix"`, `"None"`},
		{"antiAffinity", "", `"group"`, "7", ""},
		{"resourcegroup", "", `"group"`, "7", ""},
	} {
		for _, path := range []string{ns + p.namespace, onTopic + p.topic, onParts + p.topic} {
			if strings.HasSuffix(path, "/") {
				continue
			}
			unset := step{get, path, "", 204, ""}
			if p.unset != "" && strings.HasPrefix(path, ns) {
				unset = step{get, path, "", 200, "=" + p.unset}
			}
			steps := []step{unset, {post, path, p.value, 204, ""}, {get, path, "", 200, "=" + p.value}}
			if path != ns+p.namespace {
				steps = append(steps, step{get, path + "?applied=true", "", 200, "=" + p.value})
			}
			steps = append(steps, step{put, path, p.value, 204, ""}, step{del, path, "", 204, ""}, unset)
			a.run(steps)
			if got := a.do(post, path, p.bad); got.StatusCode < 400 || got.StatusCode > 412 {
				t.Errorf("%s: %s was answered with %d", path, p.bad, got.StatusCode)
			}
			a.run([]step{unset}) // what was refused changed nothing
		}
	}
	a.run([]step{
		{post, ns + "encryptionRequired", `"true"`, 204, ""}, // as Pulsar's Go client sends it
		{get, ns + "encryptionRequired", "", 200, "=true"},
		{post, ns + "subscriptionExpirationTime", "-60", 412, "!Invalid value for subscription expiration time"},
		{put, ns + "offloadThresholdInSeconds", "-60", 412, "!Invalid value for offloadThresholdInSecond"},
		{post, onTopic + "messageTTL?messageTTL=600", "", 204, ""},
		{get, onTopic + "messageTTL", "", 200, "=600"},
		{get, onTopic + "schemaCompatibilityStrategy?applied=true", "", 200, `="FULL"`},
		{post, ns + "dispatchRate", rate, 204, ""},
		{get, "/admin/v2/namespaces/public/default", "", 200, `"topicDispatchRate":{"standalone":{"dispatchThrottlingRateInMsg":10`},
		{get, "/admin/v2/persistent/public/default/p-partition-0/maxProducers", "", 405, "!Not allowed to set/get topic policy for a partition"},
		{get, "/admin/v2/persistent/public/default/nope/maxProducers", "", 404, "!Topic persistent://public/default/nope not found"},
		{post, "/admin/v2/persistent/public/default/nope/maxProducers", "1", 404, "!Topic persistent://public/default/nope not found"},
		{post, "/admin/v2/persistent/public/nope/t/maxProducers", "1", 404, "!Namespace does not exist"},
		{post, "/admin/v2/namespaces/public/nope/messageTTL", "1", 404, "!Namespace does not exist"},
		{put, "/admin/v2/namespaces/public/odd", `{"message_ttl_in_seconds":-7}`, 412, "!message_ttl_in_seconds must be 0 or more"},
		{put, "/admin/v2/namespaces/public/odd", `{"backlog_quota_map":{"destination_storage":{"limitSize":"x","policy":"producer_exception"}}}`, 400, "whole numbers"},
		{put, "/admin/v2/namespaces/public/fine", `{"message_ttl_in_seconds":7,"subscription_auth_mode":"","backlog_quota_map":{"message_age":{"limitTime":60,"policy":"producer_exception"}}}`, 204, ""},
		{get, "/admin/v2/namespaces/public/fine/messageTTL", "", 200, "=7"},
	})
}

func TestPropertiesAndHistory(t *testing.T) {
	t.Parallel()
	const ns = "/admin/v2/namespaces/public/default/"
	const on = "/admin/v2/persistent/public/default/"
	newAPI(t).run([]step{
		{get, ns + "properties", "", 200, "={}"},
		{put, ns + "properties", `{"a":"1","b":"2"}`, 204, ""},
		{put, ns + "properties", `{"b":"3"}`, 204, ""},
		{put, ns + "property/c/x%2Fy", "", 204, ""},
		{get, ns + "property/c", "", 200, `="x/y"`},
		{get, ns + "property/none", "", 204, ""},
		{del, ns + "property/a", "", 204, ""},
		{get, ns + "properties", "", 200, `={"b":"3","c":"x/y"}`},
		{del, ns + "properties", "", 204, ""},
		{get, ns + "properties", "", 200, "={}"},
		{get, "/admin/v2/namespaces/public/nope/properties", "", 404, "!Namespace does not exist"},

		{put, on + "t", `{"k":"v"}`, 204, ""},
		{put, on + "p/partitions", `{"partitions":1,"properties":{"k":"v"}}`, 204, ""},
		{put, on + "t/properties", `{"l":"w"}`, 204, ""},
		{put, on + "p/properties", `{"l":"w"}`, 204, ""},
		{del, on + "t/properties?key=k", "", 204, ""},
		{del, on + "p/properties?key=k", "", 204, ""},
		{del, on + "p/properties", "", 412, "!say which property: ?key=NAME"},
		{get, on + "t/properties", "", 200, `={"l":"w"}`},
		{get, on + "p/properties", "", 200, `={"l":"w"}`},
		{put, on + "nope/properties", `{"l":"w"}`, 404, "!Topic persistent://public/default/nope not found"},

		{get, "/spool/v1/history/namespaces/public/default", "", 200, `"value":{"policies":{"properties":{}}`},
		{get, "/spool/v1/history/namespaces/public/default", "", 200, `{"a":"1","b":"2"}`},
		{get, "/spool/v1/history/namespaces/public/nope", "", 200, "=[]"},
		{get, "/spool/v1/history/topics/persistent/public/default/t", "", 200, "=[]"},
		{post, on + "t/maxProducers", "1", 204, ""},
		{get, "/spool/v1/history/topics/persistent/public/default/t", "", 200, `"value":{"max_producers_per_topic":1}}]`},
		{get, "/spool/v1/history/settings", "", 200, "=[]"},

		{post, ns + "permissions/subscription/s", `["user","other"]`, 204, ""},
		{get, ns + "permissions/subscription", "", 200, `={"s":["user","other"]}`},
		{del, ns + "permissions/s/user", "", 204, ""},
		{del, ns + "permissions/s/other", "", 204, ""},
		{get, ns + "permissions/subscription", "", 200, "={}"},

		{get, "/admin/v2/brokers/configuration", "", 501, "cannot be changed while it runs"},
		{get, on + "t/messageid/5", "", 200, `"entryId":`},
		{get, on + "p/messageid/5", "", 405, "on a partitioned topic is not allowed"},
	})
}
