package scrape_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"spoolctl/live/scrape"
)

// TestSieve compares plain lines with the same lines with a timestamp, which only the full parser takes.
func TestSieve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"pulsar_rate_in", "pulsar_msg_backlog", "pulsar_out_messages_total", "pulsar_subscription_back_log", "spoold_topic_entries", "other"})
		label := rapid.SampledFrom([]string{
			`cluster="c"`, `topic="t1"`, `topic="t2"`, `topic="日本"`, `topic="a\"b"`, `topic=""`, `subscription="s"`,
			`partition="-1"`, `partition="3"`, `le="5"`, `remote_cluster="local"`, `remote_cluster="far"`, `consumer_id="1"`,
		})
		value := rapid.SampledFrom([]string{"0", "12", "-1", "3.25", "1e9", "NaN", "+Inf", "123456789012345678"})
		var plain, stamped strings.Builder
		for _, family := range rapid.SliceOfNDistinct(name, 1, 4, rapid.ID).Draw(t, "families") {
			if kind := rapid.SampledFrom([]string{"gauge", "counter", "untyped", ""}).Draw(t, "kind"); kind != "" {
				fmt.Fprintf(&plain, "# TYPE %s %s\n", family, kind)
				fmt.Fprintf(&stamped, "# TYPE %s %s\n", family, kind)
			}
			for range rapid.IntRange(1, 5).Draw(t, "series") {
				labels := rapid.SliceOfNDistinct(label, 1, 5, func(l string) string { l, _, _ = strings.Cut(l, "="); return l }).Draw(t, "labels")
				line := fmt.Sprintf("%s{namespace=\"n/s\",%s} %s", family, strings.Join(labels, ","), value.Draw(t, "value"))
				plain.WriteString(line + "\n")
				stamped.WriteString(line + " 1700000000000\n")
			}
		}
		got, err := scrape.Parse(strings.NewReader(plain.String()))
		want, wantErr := scrape.Parse(strings.NewReader(stamped.String()))
		if err != nil || wantErr != nil {
			t.Fatalf("%v, %v", err, wantErr)
		}
		if !reflect.DeepEqual(got.Topics, want.Topics) || !reflect.DeepEqual(got.Namespaces, want.Namespaces) || len(got.Families) != len(want.Families) {
			t.Fatalf("sorted differently:\n%s", plain.String())
		}
	})
}

// BenchmarkParse reads a page of 1 000 topics.
func BenchmarkParse(b *testing.B) {
	var page strings.Builder
	for _, family := range []string{"pulsar_rate_in", "pulsar_rate_out", "pulsar_msg_backlog", "pulsar_storage_size", "pulsar_in_messages_total"} {
		fmt.Fprintf(&page, "# TYPE %s gauge\n", family)
		for i := range 1000 {
			fmt.Fprintf(&page, "%s{cluster=\"standalone\",namespace=\"public/default\",topic=\"persistent://public/default/topic-%d\"} %d\n", family, i, i*1000)
		}
	}
	b.SetBytes(int64(page.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scrape.Parse(strings.NewReader(page.String())); err != nil {
			b.Fatal(err)
		}
	}
}
