package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"spoolctl/wire"
	"spoolctl/wire/pb"
)

const (
	onT  = "/admin/v2/persistent/public/default/t"
	subS = onT + "/subscription/s"
)

// filled is an API with a topic t of ten messages.
func filled(t *testing.T) (a *api, first wire.Position) {
	t.Helper()
	a = newAPI(t)
	a.run([]step{{put, onT, "", 204, ""}})
	for i := range 10 {
		p := a.publish("t", &pb.MessageMetadata{SequenceId: proto.Uint64(uint64(i))}, fmt.Sprintf("m%d", i))
		if i == 0 {
			first = p
		}
	}
	return a, first
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	a, first := filled(t)
	at := func(entry int64) string { return fmt.Sprintf(`{"ledgerId":%d,"entryId":%d}`, first.Ledger, entry) }
	a.run([]step{
		{get, onT + "/subscriptions", "", 200, "=[]"},
		{get, "/admin/v2/persistent/public/default/nope/subscriptions", "", 404, "!Topic persistent://public/default/nope not found"},
		{put, subS, `"earliest"`, 204, ""},
		{put, subS, "", 409, "!Subscription already exists for topic"},
		{put, onT + "/subscription/late", "null", 204, ""},
		{put, onT + "/subscription/mid", at(4), 204, ""},
		{put, onT + "/subscription/text", fmt.Sprintf(`{"ledgerId":"%d","entryId":"4","partitionIndex":-1}`, first.Ledger), 204, ""},
		{put, onT + "/subscription/x", `{"ledgerId":1}`, 400, "the body must be a message id"},
		{put, onT + "/subscription/x", `{"ledgerId":1.5,"entryId":0}`, 400, "whole numbers"},
		{put, onT + "/subscription/x", `"yesterday"`, 400, "yesterday"},
		{get, onT + "/subscriptions", "", 200, `=["late","mid","s","text"]`},
		{get, onT + "/stats", "", 200, `"msgBacklog":10`},

		{get, onT + "/subscription/mid/position/1", "", 200, "=m4"},
		{get, onT + "/subscription/text/position/1", "", 200, "=m4"},
		{get, onT + "/subscription/late/position/1", "", 404, "!Message not found"},
		{get, subS + "/position/1", "", 200, "=m0"},
		{get, subS + "/position/10", "", 200, "=m9"},
		{get, subS + "/position/11", "", 404, "!Message not found"},
		{get, subS + "/position/0", "", 412, "!Message position must be 1 or more"},
		{get, subS + "/position/x", "", 400, `is not a number`},
		{get, onT + "/subscription/nope/position/1", "", 404, "!Subscription not found"},

		{post, subS + "/skip/3", "", 204, ""},
		{get, subS + "/position/1", "", 200, "=m3"},
		{post, subS + "/skip/0", "", 412, "must be more than 0"},
		{post, subS + "/skip/x", "", 400, "is not a number"},
		{post, onT + "/subscription/nope/skip/1", "", 404, "!Subscription not found"},
		{post, subS + "/resetcursor", at(7), 204, ""},
		{get, subS + "/position/1", "", 200, "=m7"},
		{post, subS + "/resetcursor", strings.TrimSuffix(at(7), "}") + `,"isExcluded":true}`, 204, ""},
		{get, subS + "/position/1", "", 200, "=m8"},
		{post, subS + "/resetcursor", `{"ledgerId":-1,"entryId":-1}`, 204, ""},
		{get, subS + "/position/1", "", 200, "=m0"},
		{post, subS + "/resetcursor", `{"ledgerId":9223372036854775807,"entryId":9223372036854775807}`, 204, ""},
		{get, subS + "/position/1", "", 404, "!Message not found"},
		{post, subS + "/resetcursor/0", "", 204, ""},
		{get, subS + "/position/1", "", 200, "=m0"},
		{post, subS + "/resetcursor/1700000000124", "", 204, ""},
		{get, subS + "/position/1", "", 404, "!Message not found"},
		{post, subS + "/resetcursor/soon", "", 400, "is not a number"},
		{post, onT + "/subscription/nope/resetcursor/0", "", 404, "!Subscription not found"},
		{post, subS + "/resetcursor/0", "", 204, ""},
		{post, subS + "/skip_all", "", 204, ""},
		{get, subS + "/position/1", "", 404, "!Message not found"},
		{post, onT + "/subscription/nope/skip_all", "", 404, "!Subscription not found"},
		{get, subS + "/properties", "", 200, "={}"},
		{get, onT + "/subscription/nope/properties", "", 404, "!Subscription not found"},

		{get, fmt.Sprintf("%s/ledger/%d/entry/2", onT, first.Ledger), "", 200, "=m2"},
		{get, fmt.Sprintf("%s/ledger/%d/entry/99", onT, first.Ledger), "", 404, "!Message not found"},
		{get, onT + "/ledger/99/entry/0", "", 404, "!Message not found"},
		{get, onT + "/ledger/x/entry/0", "", 400, "is not a number"},
	})
	c := a.consume("t", "s")
	a.run([]step{
		{del, subS, "", 412, "!Subscription has active connected consumers"},
		{get, onT + "/stats", "", 200, `"consumerName":"c1"`},
		{del, subS + "?force=true", "", 204, ""},
		{del, subS, "", 404, "!Subscription not found"},
	})
	c.Leave()
	a.run([]step{
		{put, "/admin/v2/non-persistent/public/default/n", "", 204, ""},
		{put, "/admin/v2/non-persistent/public/default/n/subscription/s", "", 204, ""},
		{get, "/admin/v2/non-persistent/public/default/n/subscription/s/position/1", "", 405, "not allowed"},
		{post, "/admin/v2/non-persistent/public/default/n/subscription/s/skip/1", "", 405, "not allowed"},
		{post, "/admin/v2/non-persistent/public/default/n/subscription/s/skip_all", "", 405, "not allowed"},
		{post, "/admin/v2/non-persistent/public/default/n/subscription/s/resetcursor/1", "", 405, "not allowed"},
		{get, "/admin/v2/non-persistent/public/default/n/ledger/1/entry/1", "", 405, "stores no messages"},
		{put, "/admin/v2/persistent/public/default/new/subscription/s", "", 204, ""}, // as Pulsar: creates the topic
		{get, "/admin/v2/persistent/public/default/new/subscriptions", "", 200, `=["s"]`},
		{put, "/admin/v2/persistent/public/nope/new/subscription/s", "", 404, "!Namespace does not exist"},
	})
}

// TestSubscriptionNames sends names that have to be encoded in a path.
func TestSubscriptionNames(t *testing.T) {
	t.Parallel()
	a, _ := filled(t)
	names := []string{"a b", "a/b", "a//b", "a%b", "a?b#c", "注文", "..", "s+1"}
	for _, n := range names {
		path := onT + "/subscription/" + strings.ReplaceAll(url.PathEscape(n), "..", "%2E%2E")
		a.run([]step{
			{put, path, `"earliest"`, 204, ""},
			{post, path + "/skip/1", "", 204, ""},
			{get, path + "/position/1", "", 200, "=m1"},
		})
	}
	var got []string
	if err := json.Unmarshal([]byte(a.do(get, onT+"/subscriptions", "").body), &got); err != nil || len(got) != len(names) {
		t.Errorf("%q %v", got, err)
	}
}

// TestPeekHeaders: everything about a message but its payload is in headers.
func TestPeekHeaders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.run([]step{{put, onT, "", 204, ""}, {put, subS, `"earliest"`, 204, ""}})
	id := a.publish("t", &pb.MessageMetadata{
		SequenceId: proto.Uint64(7), PartitionKey: proto.String("k"), EventTime: proto.Uint64(1_700_000_000_000), DeliverAtTime: proto.Int64(1_700_000_009_000),
		Properties: []*pb.KeyValue{{Key: proto.String("Größe"), Value: proto.String("x\ny")}, {Key: proto.String("a"), Value: proto.String("b")}},
	}, "hello")
	got := a.do(get, subS+"/position/1", "")
	for name, want := range map[string]string{
		"X-Pulsar-Message-ID": id.String(), "X-Pulsar-producer-name": "p1", "X-Pulsar-sequence-id": "7", "X-Pulsar-partition-key": "k",
		"X-Pulsar-num-batch-message": "", "X-Pulsar-Property": `{"Größe":"x\ny","a":"b"}`, "Content-Type": "application/octet-stream",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	for name, want := range map[string]string{"X-Pulsar-publish-time": "2023-11-14T", "X-Pulsar-event-time": "2023-11-14T", "X-Pulsar-deliver-at-time": "2023-11-14T"} {
		if v := got.Header.Get(name); !strings.HasPrefix(v, want) {
			t.Errorf("%s: %q", name, v)
		}
	}
	if got.body != "hello" {
		t.Errorf("payload %q", got.body)
	}
	single := wire.AppendSingle(nil, &pb.SingleMessageMetadata{PayloadSize: proto.Int32(1)}, []byte("x"))
	a.publish("t", &pb.MessageMetadata{NumMessagesInBatch: proto.Int32(2)}, string(single)+string(single))
	got = a.do(get, subS+"/position/2", "")
	if got.Header.Get("X-Pulsar-num-batch-message") != "2" || got.Header.Get("X-Pulsar-batch-size") != fmt.Sprint(2*len(single)) || got.body != string(single)+string(single) {
		t.Errorf("batch: %v %q", got.Header, got.body)
	}
	a.publish("t", &pb.MessageMetadata{NullValue: proto.Bool(true), NumChunksFromMsg: proto.Int32(3), ChunkId: proto.Int32(1), EncryptionKeys: []*pb.EncryptionKeys{{Key: proto.String("k"), Value: []byte("v")}}}, "?")
	got = a.do(get, subS+"/position/3", "")
	if h := got.Header; h.Get("X-Pulsar-null-value") != "true" || h.Get("X-Pulsar-PROPERTY-TOTAL-CHUNKS") != "3" || h.Get("X-Pulsar-PROPERTY-CHUNK-ID") != "1" || h.Get("X-Pulsar-Is-Encrypted") != "true" {
		t.Errorf("%v", h)
	}
}

// TestInternals compares what the two storage answers say about the same cursor.
func TestInternals(t *testing.T) {
	t.Parallel()
	a, first := filled(t)
	a.run([]step{{put, subS, `"earliest"`, 204, ""}, {post, subS + "/skip/4", "", 204, ""}})
	a.run([]step{
		{get, onT + "/internalStats", "", 200, fmt.Sprintf(`"markDeletePosition":"%d:3"`, first.Ledger)},
		{get, onT + "/internalStats", "", 200, `"currentLedgerEntries":10`},
		{get, onT + "/internal-info", "", 200, fmt.Sprintf(`"markDelete":{"ledgerId":%d,"entryId":3}`, first.Ledger)},
		{get, onT + "/lastMessageId", "", 200, fmt.Sprintf(`={"ledgerId":%d,"entryId":9,"partitionIndex":-1}`, first.Ledger)},
		{post, onT + "/terminate", "", 200, fmt.Sprintf(`={"ledgerId":%d,"entryId":9,"partitionIndex":-1}`, first.Ledger)},
		{get, onT + "/internal-info", "", 200, fmt.Sprintf(`"terminatedPosition":{"ledgerId":%d,"entryId":9}`, first.Ledger)},
		{get, onT + "/internalStats", "", 200, `"state":"Terminated"`},
		{del, onT + "/truncate", "", 204, ""},
		{get, onT + "/stats", "", 200, `"backlogSize":0`},
		{get, onT + "/internalStats", "", 200, `"numberOfEntries":0`},
	})
}

func TestSpool(t *testing.T) {
	t.Parallel()
	a, _ := filled(t)
	a.run([]step{{get, "/spool/v1/health", "", 200, `"status":"ok"`}})
	made := a.do(post, "/spool/v1/checkpoint", "")
	var c struct{ Name, Path string }
	if err := json.Unmarshal([]byte(made.body), &c); err != nil || made.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", made.StatusCode, made.body, err)
	}
	if !filepath.IsAbs(c.Path) || filepath.Base(c.Path) != c.Name {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(filepath.Join(c.Path, "store")); err != nil {
		t.Errorf("the checkpoint holds no store: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(a.dir, "checkpoints", "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.run([]step{
		{del, "/spool/v1/checkpoint/mine", "", 400, "is not a checkpoint made for an inspection"},
		{del, "/spool/v1/checkpoint/inspect-%2F..%2Fmine", "", 400, "is not a checkpoint made for an inspection"},
		{del, "/spool/v1/checkpoint/inspect-nope", "", 404, "!no such checkpoint"},
		{del, "/spool/v1/checkpoint/" + c.Name, "", 204, ""},
		{del, "/spool/v1/checkpoint/" + c.Name, "", 404, "!no such checkpoint"},
	})
	if _, err := os.Stat(c.Path); !os.IsNotExist(err) {
		t.Errorf("the checkpoint is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(a.dir, "checkpoints", "mine")); err != nil {
		t.Errorf("somebody else's folder: %v", err)
	}
}
