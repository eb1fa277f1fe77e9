package admin_test

import (
	"net/http"
	"strings"
	"testing"
)

const (
	get  = http.MethodGet
	put  = http.MethodPut
	post = http.MethodPost
	del  = http.MethodDelete
)

func TestTenants(t *testing.T) {
	t.Parallel()
	const base = "/admin/v2/tenants"
	newAPI(t).run([]step{
		{get, base, "", 200, `=["public","pulsar"]`},
		{get, base + "/public", "", 200, `={"adminRoles":[],"allowedClusters":["standalone"]}`},
		{get, base + "/t", "", 404, "!Tenant does not exist"},
		{put, base + "/t", "", 412, "!Clusters can not be empty"},
		{put, base + "/t", "null", 412, "!Clusters can not be empty"},
		{put, base + "/t", `{"allowedClusters":[]}`, 412, "!Clusters can not be empty"},
		{put, base + "/t", `{"allowedClusters":["moon"]}`, 412, "Clusters do not exist"},
		{put, base + "/t", `{"allowedClusters":`, 400, "the body is not what this call takes"},
		{put, base + "/t", `{"adminRoles":["a"],"allowedClusters":["standalone"]}`, 204, ""},
		{put, base + "/t", `{"allowedClusters":["standalone"]}`, 409, "!Tenant already exists"},
		{put, base + "/a%20b", `{"allowedClusters":["standalone"]}`, 412, "Tenant name is not valid"},
		{get, base + "/t", "", 200, `={"adminRoles":["a"],"allowedClusters":["standalone"]}`},
		{post, base + "/t", `{"adminRoles":null,"allowedClusters":["standalone"]}`, 204, ""},
		{post, base + "/u", `{"allowedClusters":["standalone"]}`, 404, "!Tenant does not exist"},
		{get, base + "/t", "", 200, `={"adminRoles":[],"allowedClusters":["standalone"]}`},
		{put, "/admin/v2/namespaces/t/n", "", 204, ""},
		{del, base + "/t", "", 409, "!The tenant still has active namespaces"},
		{del, base + "/t?force=true", "", 204, ""},
		{del, base + "/t", "", 404, "!Tenant does not exist"},
	})
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	const base = "/admin/v2/namespaces"
	newAPI(t).run([]step{
		{get, base + "/public", "", 200, `=["public/default"]`},
		{get, base + "/t", "", 404, "!Tenant does not exist"},
		{put, base + "/t/n", "", 404, "!Tenant does not exist"},
		{put, base + "/public/n", "null", 204, ""},
		{put, base + "/public/n", "{}", 409, "!Namespace already exists"},
		{put, base + "/public/a%20b", "", 412, "!Namespace name is not valid"},
		{put, base + "/public/m", `{"replication_clusters":["standalone"],"max_topics_per_namespace":null}`, 204, ""},
		{put, base + "/public/x", `[]`, 400, "the body is not what this call takes"},
		{get, base + "/public", "", 200, `=["public/default","public/m","public/n"]`},
		{get, base + "/public/n", "", 200, `"replication_clusters":["standalone"]`},
		{get, base + "/public/nope", "", 404, "!Namespace does not exist"},
		{get, base + "/nope/nope", "", 404, "!Tenant does not exist"},

		{get, base + "/public/n/permissions", "", 200, "={}"},
		{post, base + "/public/n/permissions/role", `["produce","consume","produce"]`, 204, ""},
		{post, base + "/public/n/permissions/role", `["fly"]`, 400, "no such action: fly"},
		{post, base + "/public/nope/permissions/role", `["produce"]`, 404, "!Namespace does not exist"},
		{get, base + "/public/n/permissions", "", 200, `={"role":["consume","produce"]}`},
		{get, base + "/public/nope/permissions", "", 404, "!Namespace does not exist"},
		{del, base + "/public/n/permissions/role", "", 204, ""},
		{get, base + "/public/n/permissions", "", 200, "={}"},

		{put, "/admin/v2/persistent/public/n/t", "", 204, ""},
		{put, "/admin/v2/non-persistent/public/n/t", "", 204, ""},
		{get, base + "/public/n/topics", "", 200, `=["persistent://public/n/t"]`},
		{get, base + "/public/n/topics?mode=NON_PERSISTENT", "", 200, `=["non-persistent://public/n/t"]`},
		{get, base + "/public/n/topics?mode=all", "", 200, `=["non-persistent://public/n/t","persistent://public/n/t"]`},
		{get, base + "/public/n/topics?mode=some", "", 400, "mode must be PERSISTENT, NON_PERSISTENT or ALL"},
		{get, base + "/public/nope/topics", "", 404, "!Namespace does not exist"},
		{put, base + "/public/n/unload", "", 204, ""},
		{put, base + "/public/nope/unload", "", 404, "!Namespace does not exist"},
		{del, base + "/public/n", "", 409, "!Cannot delete non empty namespace"},
		{del, base + "/public/n?force=true", "", 204, ""},
		{del, base + "/public/n", "", 404, "!Namespace does not exist"},
		{del, base + "/public/m", "", 204, ""},
	})
}

func TestTopics(t *testing.T) {
	t.Parallel()
	const base = "/admin/v2/persistent/public/default"
	const non = "/admin/v2/non-persistent/public/default"
	a := newAPI(t)
	a.run([]step{
		{get, base, "", 200, "=[]"},
		{get, "/admin/v2/persistent/public/nope", "", 404, "!Namespace does not exist"},
		{put, base + "/t", "", 204, ""},
		{put, base + "/t", "null", 409, "!This topic already exists"},
		{put, base + "/props", `{"a":"b"}`, 204, ""},
		{put, base + "/bad", `{"a":1}`, 400, "the body is not what this call takes"},
		{put, "/admin/v2/persistent/public/nope/t", "", 404, "!Namespace does not exist"},
		{put, "/admin/v2/persistent/nope/nope/t", "", 404, "!Tenant does not exist"},
		{put, base + "/a%0Ab", "", 412, "!Topic name is not valid"},
		{put, base + "/a%2Fb", "", 412, "!Topic name is not valid"},
		{put, base + "/%E6%B3%A8%E6%96%87%20%25", "", 204, ""},
		{get, base, "", 200, `=["persistent://public/default/props","persistent://public/default/t","persistent://public/default/注文 %"]`},
		{get, base + "/props/properties", "", 200, `={"a":"b"}`},
		{get, base + "/t/properties", "", 200, `={}`},
		{get, base + "/nope/properties", "", 404, "!Topic persistent://public/default/nope not found"},

		{get, base + "/t/stats", "", 200, `"publishers":[]`},
		{get, base + "/t/stats?getEarliestTimeInBacklog=true&excludePublishers=true&excludeConsumers=true", "", 200, `"subscriptions":{}`},
		{get, base + "/nope/stats", "", 404, "!Topic persistent://public/default/nope not found"},
		{get, base + "/t/internalStats?metadata=true", "", 200, `"state":"LedgerOpened"`},
		{get, base + "/t/internal-info", "", 200, `"version":1`},
		{get, base + "/nope/internalStats", "", 404, "!Topic persistent://public/default/nope not found"},
		{get, base + "/t/lastMessageId", "", 200, `"entryId":-1`},
		{put, base + "/t/unload", "", 204, ""},
		{put, base + "/nope/unload", "", 404, "!Topic persistent://public/default/nope not found"},
		{post, base + "/t/terminate", "", 200, `"partitionIndex":-1`},
		{del, base + "/t/truncate", "", 204, ""},
		{get, base + "/t/stats", "", 200, `"storageSize":0`},
		{del, base + "/nope/truncate", "", 404, "!Topic persistent://public/default/nope not found"},
		{post, base + "/nope/terminate", "", 404, "!Topic persistent://public/default/nope not found"},

		{put, non + "/n", "", 204, ""},
		{get, non, "", 200, `=["non-persistent://public/default/n"]`},
		{get, non + "/n/stats", "", 200, `"msgDropRate":0`},
		{get, non + "/n/internalStats", "", 405, "for persistent topics only"},
		{get, non + "/n/internal-info", "", 405, "for persistent topics only"},
		{get, non + "/n/lastMessageId", "", 405, "for persistent topics only"},
		{del, non + "/n/truncate", "", 412, "!Truncation of a non-persistent topic is not allowed: nothing is stored"},
		{post, non + "/n/terminate", "", 405, "!Termination of a non-persistent topic is not allowed"},
		{del, non + "/n", "", 204, ""},

		{put, base + "/used", "", 204, ""},
		{put, base + "/used/subscription/s", "", 204, ""},
		{del, base + "/used", "", 412, "!Topic has active producers/subscriptions"},
		{del, base + "/used?force=true", "", 204, ""},
		{del, base + "/used", "", 404, "!Topic persistent://public/default/used not found"},
	})
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	const base = "/admin/v2/persistent/public/default"
	newAPI(t).run([]step{
		{get, base + "/partitioned", "", 200, "=[]"},
		{get, "/admin/v2/persistent/public/nope/partitioned", "", 404, "!Namespace does not exist"},
		{put, base + "/p/partitions", "0", 406, "!Number of partitions should be more than 0"},
		{put, base + "/p/partitions", "-1", 406, "!Number of partitions should be more than 0"},
		{put, base + "/p/partitions", "null", 406, "!Number of partitions should be more than 0"},
		{put, base + "/p/partitions", "9", 406, "!Number of partitions should be less than or equal to 8"},
		{put, base + "/p/partitions", "", 400, "!the body must be the number of partitions"},
		{put, base + "/p/partitions", `"x"`, 400, "!the body must be the number of partitions"},
		{put, base + "/p/partitions", `"2"`, 204, ""},
		{put, base + "/p/partitions", "2", 409, "!This topic already exists"},
		{put, base + "/p", "", 409, "!This topic already exists"},
		{put, base + "/p-partition-0/partitions", "2", 412, "'-partition-'"},
		{put, base + "/q/partitions", `{"partitions":1,"properties":{"a":"b"}}`, 204, ""},
		{get, base + "/q/partitions", "", 200, `={"partitions":1,"properties":{"a":"b"}}`},
		{get, base + "/partitioned", "", 200, `=["persistent://public/default/p","persistent://public/default/q"]`},
		{get, base + "/p/partitions", "", 200, `={"partitions":2}`},
		{get, base + "/p-partition-1/partitions", "", 200, `={"partitions":0}`},
		{get, base + "/nope/partitions", "", 404, "!Topic persistent://public/default/nope not found"},
		{get, base + "/auto/partitions?checkAllowAutoCreation=true", "", 200, `={"partitions":0}`},
		{get, "/admin/v2/persistent/public/nope/t/partitions", "", 404, "!Namespace does not exist"},

		{put, base + "/p/subscription/s", `"earliest"`, 204, ""},
		{get, base + "/p/subscriptions", "", 200, `=["s"]`},
		{post, base + "/p/partitions", "2", 409, "Number of partitions must be more than the existing 2"},
		{post, base + "/p/partitions", "4", 204, ""},
		{post, base + "/nope/partitions", "4", 404, "!Partitioned Topic not found: persistent://public/default/nope has zero partitions"},
		{get, base + "/p-partition-3/subscriptions", "", 200, `=["s"]`},
		{get, base + "/p/partitioned-stats", "", 200, `"persistent://public/default/p-partition-3":{`},
		{get, base + "/p/partitioned-stats?perPartition=false", "", 200, `"partitions":{}`},
		{get, base + "/p/partitioned-internalStats", "", 200, `{"metadata":{"partitions":4},"partitions":{`},
		{get, base + "/nope/partitioned-stats", "", 404, "!Partitioned Topic not found: persistent://public/default/nope has zero partitions"},
		{get, base + "/p/properties", "", 200, "={}"},
		{post, base + "/p/terminate", "", 405, "!Termination of a partitioned topic is not allowed"},
		{get, base + "/p/subscription/s/position/1", "", 405, "Peek messages on a partitioned topic is not allowed"},
		{post, base + "/p/subscription/s/skip/1", "", 405, "Skip messages on a partitioned topic is not allowed"},
		{get, base + "/p/ledger/1/entry/0", "", 405, "on a partitioned topic is not allowed"},
		{post, base + "/p/subscription/s/skip_all", "", 204, ""},
		{post, base + "/p/subscription/s/resetcursor/0", "", 204, ""},
		{put, base + "/p/unload", "", 204, ""},
		{del, base + "/p/partitions", "", 412, "!Topic has active producers/subscriptions"},
		{del, base + "/p/subscription/s", "", 204, ""},
		{del, base + "/p/partitions", "", 204, ""},
		{del, base + "/p/partitions", "", 404, "!Partitioned Topic not found: persistent://public/default/p has zero partitions"},
		{get, base, "", 200, `=["persistent://public/default/q-partition-0"]`},
		{del, base + "/q/partitions?force=true", "", 204, ""},

		{put, "/admin/v2/non-persistent/public/default/n/partitions", "3", 204, ""},
		{get, "/admin/v2/non-persistent/public/default/n/partitions", "", 200, `={"partitions":3}`},
		{get, "/admin/v2/non-persistent/public/default/partitioned", "", 200, `=["non-persistent://public/default/n"]`},
	})
}

// TestBrokersAndLookup covers what clients ask before they do anything.
func TestBrokersAndLookup(t *testing.T) {
	t.Parallel()
	newAPI(t).run([]step{
		{get, "/admin/v2/clusters", "", 200, `=["standalone"]`},
		{get, "/admin/v2/clusters/standalone", "", 200, `={"brokerServiceUrl":"pulsar://host:6650","serviceUrl":"http://host:8080"}`},
		{get, "/admin/v2/clusters/moon", "", 404, "!Cluster does not exist"},
		{get, "/admin/v2/brokers", "", 200, `=["host:8080"]`},
		{get, "/admin/v2/brokers/standalone", "", 200, `=["host:8080"]`},
		{get, "/admin/v2/brokers/moon", "", 404, "!Cluster does not exist"},
		{get, "/admin/v2/brokers/leaderBroker", "", 200, `={"brokerId":"host:8080","serviceUrl":"http://host:8080"}`},
		{get, "/admin/v2/brokers/health?topicVersion=V2", "", 200, "=ok"},
		{get, "/admin/v2/brokers/ready", "", 200, "=ok"},
		{get, "/admin/v2/brokers/version", "", 200, "=1.2.3"},
		{get, "/lookup/v2/topic/persistent/public/default/t", "", 200, `={"brokerUrl":"pulsar://host:6650","httpUrl":"http://host:8080","nativeUrl":"pulsar://host:6650"}`},
		{get, "/lookup/v2/topic/persistent/public/nope/t", "", 404, "!Namespace does not exist"},
		{get, "/lookup/v2/topic/other/public/default/t", "", 412, "!Topic name is not valid"},
		{get, "/metrics", "", 200, "=up 1\n"},
	})
}

// TestPaths: what is asked in an unusual way, and what is not there.
func TestPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.run([]step{
		{get, "//admin//v2///tenants", "", 200, `=["public","pulsar"]`},
		{get, "/admin/v2/tenants/", "", 200, `=["public","pulsar"]`},
		{get, "/admin/v2/./tenants", "", 200, `=["public","pulsar"]`},
		{get, "/admin/v2/tenants?authoritative=false&isGlobal=true", "", 200, `=["public","pulsar"]`},
		{get, "/", "", 404, "!GET / is not part of this broker's API"},
		{get, "/admin/v2/nonsense", "", 404, "!GET /admin/v2/nonsense is not part of this broker's API"},
		{post, "/admin/v2/persistent/public/default/t/flySomewhere", "", 404, "is not part of this broker's API"},
		{put, "/admin/v2/tenants/t", strings.Repeat(" ", 2<<20), 413, "!the body is larger than 1048576 bytes"},
		{http.MethodPatch, "/admin/v2/tenants/t", "", 405, "!PATCH is not served here; use DELETE, GET, HEAD, POST, PUT"},
		{post, "/metrics", "", 405, "!POST is not served here; use GET, HEAD"},
	})
	if got := a.do(http.MethodPatch, "/admin/v2/tenants/t", ""); got.Header.Get("Allow") != "DELETE, GET, HEAD, POST, PUT" {
		t.Errorf("Allow: %q", got.Header.Get("Allow"))
	}
	if got := a.do(http.MethodHead, "/admin/v2/tenants", ""); got.StatusCode != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %d %q", got.StatusCode, got.body)
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	const base = "/admin/v2/namespaces/public/default"
	const why = "!Invalid configuration for autoTopicCreationOverride. the detail is [defaultNumPartitions] "
	newAPI(t).run([]step{
		{get, base + "/autoTopicCreation", "", 204, ""},
		{post, base + "/autoTopicCreation", `{"allowAutoTopicCreation":true,"topicType":"partitioned"}`, 406, why + "cannot be null when the type is partitioned."},
		{post, base + "/autoTopicCreation", `{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":0}`, 406, why + "cannot be less than 1 for partition type."},
		{post, base + "/autoTopicCreation", `{"allowAutoTopicCreation":true,"topicType":"non-partitioned","defaultNumPartitions":3}`, 406, why + "is not allowed to be set when the type is non-partition."},
		{post, base + "/autoTopicCreation", `{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":3}`, 204, ""},
		{get, base + "/autoTopicCreation", "", 200, `={"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":3}`},
		{get, "/admin/v2/persistent/public/default/made/partitions?checkAllowAutoCreation=true", "", 200, `={"partitions":3}`},
		{del, base + "/autoTopicCreation", "", 204, ""},
		{get, base + "/autoTopicCreation", "", 204, ""},
		{post, "/admin/v2/namespaces/public/nope/autoTopicCreation", `{"allowAutoTopicCreation":true,"topicType":"partitioned"}`, 404, "!Namespace does not exist"},
		{post, "/admin/v2/namespaces/nope/nope/autoTopicCreation", `{}`, 404, "!Tenant does not exist"},

		{post, base + "/retention", `{"retentionTimeInMinutes":10,"retentionSizeInMB":0}`, 412, "Invalid retention policy"},
		{post, base + "/retention", `{"retentionTimeInMinutes":10,"retentionSizeInMB":-1}`, 204, ""},
		{get, base + "/retention", "", 200, `={"retentionTimeInMinutes":10,"retentionSizeInMB":-1}`},
		{post, base + "/retention", "7", 400, "the body is not what this call takes"},

		{post, base + "/maxTopicsPerNamespace", "-1", 412, "!maxTopicsPerNamespace must be 0 or more"},
		{post, base + "/maxTopicsPerNamespace", "1", 204, ""},
		{put, "/admin/v2/persistent/public/default/one-too-many", "", 412, "Exceed maximum number of topics"},
		{del, base + "/maxTopicsPerNamespace", "", 204, ""},
		{put, "/admin/v2/persistent/public/default/one-too-many", "", 204, ""},
	})
}
