package policy_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"spoolctl/storage"
	"spoolctl/storage/policy"
	"spoolctl/wire"
)

// TestStay: a topic's own policies weigh more than its namespace's, partitions have those of their topic, and a running
// store and a stopped spool say the same.
func TestStay(t *testing.T) {
	ctx, fs := context.Background(), vfs.NewMem()
	s, err := storage.Open(ctx, storage.Options{Dir: "spool", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	name := func(text string) wire.TopicName {
		n, err := wire.ParseTopic(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	raw := func(m map[string]string) map[string]json.RawMessage {
		out := map[string]json.RawMessage{}
		for k, v := range m {
			out[k] = json.RawMessage(v)
		}
		return out
	}
	put := func(kind storage.Kind, path string, v any) {
		if err := s.PutResource(ctx, kind, path, v); err != nil {
			t.Fatal(err)
		}
	}
	put(storage.KindNamespace, "public/default", storage.Namespace{Policies: raw(map[string]string{
		policy.TTL: "60", policy.Retention: `{"retentionTimeInMinutes":30,"retentionSizeInMB":2}`,
	})})
	put(storage.KindTopicPolicies, policy.Path(name("own")), raw(map[string]string{policy.TTL: "0", policy.Retention: `{"retentionTimeInMinutes":-1}`}))
	put(storage.KindTopicPolicies, policy.Path(name("null")), raw(map[string]string{policy.TTL: "null"}))
	put(storage.KindTopicPolicies, policy.Path(name("long")), raw(map[string]string{policy.TTL: "1e300"}))
	put(storage.KindTopicPolicies, policy.Path(name("broken")), raw(map[string]string{policy.TTL: `"soon"`}))

	namespace := policy.Stay{TTL: time.Minute, Trim: storage.TrimPolicy{RetentionTime: 30 * time.Minute, RetentionBytes: 2 << 20}}
	own := policy.Stay{Trim: storage.TrimPolicy{RetentionTime: -1, RetentionBytes: 2 << 20}}
	long := namespace
	long.TTL = 1<<63 - 1
	check := func(r policy.Resources) {
		t.Helper()
		for topic, want := range map[string]policy.Stay{
			"none": namespace, "null": namespace, "own": own, "own-partition-3": own, "long": long, "public/other/none": {},
		} {
			if len(topic) > 10 && topic[0] == 'p' {
				topic = "persistent://" + topic
			}
			docs, err := policy.Of(r, name(topic))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := docs.Stay(); err != nil || got != want {
				t.Errorf("%s: %+v, %v; want %+v", topic, got, err, want)
			}
		}
		docs, err := policy.Of(r, name("broken"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := docs.Stay(); err == nil {
			t.Errorf("a broken policy is taken for %+v", got)
		}
	}
	check(s)
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	stopped, err := storage.OpenRead(storage.ReadOptions{Dir: "spool", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	check(stopped)
	if err := stopped.Close(); err != nil {
		t.Fatal(err)
	}
}
