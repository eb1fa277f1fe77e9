package admin_test

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsaradmin"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

// TestCompactionAndOffloadRoutes tries both where they make no sense, and what Pulsar's own Go package decodes of them.
func TestCompactionAndOffloadRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const (
		on  = "/admin/v2/persistent/public/default/"
		non = "/admin/v2/non-persistent/public/default/n"
		at  = `{"ledgerId":1,"entryId":0,"partitionIndex":-1}`
	)
	a.run([]step{
		{put, on + "t", "", 204, ""},
		{put, on + "p/partitions", "2", 204, ""},
		{put, non, "", 204, ""},
		{get, on + "t/compaction", "", 200, `={"status":"NOT_RUN","lastError":""}`},
		{put, on + "p/compaction", "", 204, ""}, // every partition
		{get, on + "p/compaction", "", 405, "on a partitioned topic is not allowed; name a partition"},
		{get, on + "p-partition-1/compaction", "", 200, `"lastError":""`},
		{put, on + "nope/compaction", "", 404, "!Topic persistent://public/default/nope not found"},
		{get, on + "nope/compaction", "", 404, "!Topic persistent://public/default/nope not found"},
		{put, non + "/compaction", "", 405, "nothing is stored"},
		{get, non + "/compaction", "", 405, "nothing is stored"},
		{put, on + "t/offload", at, 412, "configure offload-bucket"},
		{put, on + "p/offload", at, 405, "on a partitioned topic is not allowed; name a partition"},
		{put, on + "nope/offload", at, 404, "!Topic persistent://public/default/nope not found"},
		{get, on + "nope/offload", "", 404, "!Topic persistent://public/default/nope not found"},
		{put, non + "/offload", at, 405, "nothing is stored"},
		{get, non + "/offload", "", 405, "nothing is stored"},
		{post, on + "t/offloadPolicies", `{"managedLedgerOffloadThresholdInBytes":1.5}`, 400, "the body is not what this call takes"},
		{get, on + "t/compactionThreshold?applied=true", "", 200, "=0"},
	})
	c, err := pulsaradmin.NewClient(&pulsaradmin.Config{WebServiceURL: a.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	name, err := utils.GetTopicName("persistent://public/default/t")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Topics().Compact(*name); err != nil {
		t.Error(err)
	}
	if s, err := c.Topics().CompactStatus(*name); err != nil || s.Status != utils.RUNNING && s.Status != utils.SUCCESS {
		t.Errorf("%v, %v", s, err)
	}
	first := a.topic("persistent://public/default/t").Storage().Ledgers()[0].ID
	if s, err := c.Topics().OffloadStatus(*name); err != nil || s.Status != utils.NOTRUN || s.FirstUnOffloadedMessage.LedgerID != first {
		t.Errorf("%v, %v", s, err)
	}
}
