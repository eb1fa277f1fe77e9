package admin_test

import (
	"fmt"
	"testing"

	"github.com/apache/pulsar-client-go/pulsaradmin"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
	"google.golang.org/protobuf/proto"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

// TestOfficialAdminClient makes the calls of Pulsar's own Go package and believes only what it decodes.
func TestOfficialAdminClient(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c, err := pulsaradmin.NewClient(&pulsaradmin.Config{WebServiceURL: a.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error, got, want any) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	done := func(what string, err error) { t.Helper(); check(what, err, nil, nil) }

	tenants, err := c.Tenants().List()
	check("tenants", err, tenants, "[public pulsar]")
	done("create tenant", c.Tenants().Create(utils.TenantData{Name: "t1", AdminRoles: []string{"r"}, AllowedClusters: []string{"standalone"}}))
	tenant, err := c.Tenants().Get("t1")
	check("tenant", err, tenant.AdminRoles, "[r]")
	if err := c.Tenants().Create(utils.TenantData{Name: "t1", AllowedClusters: []string{"standalone"}}); err == nil || err.Error() != "code: 409 reason: Tenant already exists" {
		t.Errorf("tenant twice: %v", err)
	}
	clusters, err := c.Clusters().List()
	check("clusters", err, clusters, "[standalone]")
	done("create namespace", c.Namespaces().CreateNamespace("t1/n1"))
	spaces, err := c.Namespaces().GetNamespaces("t1")
	check("namespaces", err, spaces, "[t1/n1]")
	policies, err := c.Namespaces().GetPolicies("t1/n1")
	check("policies", err, policies.ReplicationClusters, "[standalone]")
	done("health", c.Brokers().HealthCheckWithTopicVersion(utils.TopicVersionV2))

	name, err := utils.GetTopicName("persistent://t1/n1/orders")
	done("topic name", err)
	parts, err := utils.GetTopicName("persistent://t1/n1/parts")
	done("topic name", err)
	done("create topic", c.Topics().Create(*name, 0))
	done("create partitions", c.Topics().CreateWithProperties(*parts, 3, map[string]string{"a": "b"}))
	meta, err := c.Topics().GetMetadata(*parts)
	check("partitions", err, meta.Partitions, 3)
	ns, err := utils.GetNamespaceName("t1/n1")
	done("namespace name", err)
	partitioned, plain, err := c.Topics().List(*ns)
	check("list", err, fmt.Sprint(partitioned, len(plain)), "[persistent://t1/n1/parts] 4")
	done("update", c.Topics().Update(*parts, 4))
	lookup, err := c.Topics().Lookup(*name)
	check("lookup", err, lookup.BrokerURL, "pulsar://host:6650")

	done("subscription", c.Subscriptions().Create(*name, "s/ 1", utils.Earliest))
	done("subscription", c.Subscriptions().Create(*name, "late", utils.Latest))
	if err := c.Subscriptions().Create(*name, "late", utils.Latest); err == nil || err.Error() != "code: 409 reason: Subscription already exists for topic" {
		t.Errorf("subscription twice: %v", err)
	}
	subs, err := c.Subscriptions().List(*name)
	check("subscriptions", err, subs, "[late s/ 1]")
	first := a.publish(name.String(), &pb.MessageMetadata{Properties: []*pb.KeyValue{{Key: proto.String("k"), Value: proto.String("v")}}}, "one")
	single := func(text string) []byte {
		return wire.AppendSingle(nil, &pb.SingleMessageMetadata{PayloadSize: proto.Int32(int32(len(text)))}, []byte(text))
	}
	a.publish(name.String(), &pb.MessageMetadata{NumMessagesInBatch: proto.Int32(2)}, string(single("two"))+string(single("three")))
	stats, err := c.Topics().GetStats(*name)
	check("backlog", err, stats.Subscriptions["s/ 1"].MsgBacklog, 3)
	internal, err := c.Topics().GetInternalStats(*name)
	check("entries", err, internal.NumberOfEntries, 2)
	check("cursors", err, len(internal.Cursors), 2)
	info, err := c.Topics().GetInternalInfo(*name)
	check("internal-info", err, len(info.Ledgers), 1)
	pstats, err := c.Topics().GetPartitionedStats(*parts, true)
	check("partitioned stats", err, len(pstats.Partitions), 4)

	peeked, err := c.Subscriptions().PeekMessages(*name, "s/ 1", 3)
	var payloads []string
	for _, m := range peeked {
		payloads = append(payloads, string(m.GetPayload()))
	}
	check("peek", err, payloads, "[one two three]")
	if len(peeked) > 0 && peeked[0].GetProperties()["k"] != "v" {
		t.Errorf("properties %v", peeked[0].GetProperties())
	}
	byID, err := c.Subscriptions().GetMessagesByID(*name, first.Ledger, first.Entry)
	check("by id", err, len(byID), 1)
	done("skip", c.Subscriptions().SkipMessages(*name, "s/ 1", 1))
	done("reset by id", c.Subscriptions().ResetCursorToMessageID(*name, "s/ 1", utils.MessageID{LedgerID: first.Ledger, EntryID: first.Entry, PartitionIndex: -1}))
	done("reset by time", c.Subscriptions().ResetCursorToTimestamp(*name, "s/ 1", 1))
	done("clear", c.Subscriptions().ClearBacklog(*name, "s/ 1"))
	stats, err = c.Topics().GetStats(*name)
	check("cleared", err, stats.Subscriptions["s/ 1"].MsgBacklog, 0)
	last, err := c.Topics().GetLastMessageID(*name)
	check("last message", err, last.EntryID, 1)
	ended, err := c.Topics().Terminate(*name)
	check("terminate", err, ended.EntryID, 1)
	done("unload", c.Topics().Unload(*name))

	if err := c.Topics().Delete(*name, false, true); err == nil || err.Error() != "code: 412 reason: Topic has active producers/subscriptions" {
		t.Errorf("delete: %v", err)
	}
	done("unsubscribe", c.Subscriptions().Delete(*name, "late"))
	done("force unsubscribe", c.Subscriptions().ForceDelete(*name, "s/ 1"))
	done("delete", c.Topics().Delete(*name, false, true))
	done("delete partitioned", c.Topics().Delete(*parts, true, false))
	done("delete namespace", c.Namespaces().DeleteNamespace("t1/n1"))
	done("delete tenant", c.Tenants().Delete("t1"))
}
