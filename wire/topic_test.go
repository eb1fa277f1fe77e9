package wire_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"spoolctl/wire"
)

func TestParseTopic(t *testing.T) {
	for s, want := range map[string]wire.TopicName{
		"orders":                         {wire.Persistent, "public", "default", "orders"},
		"t/n/orders":                     {wire.Persistent, "t", "n", "orders"},
		"persistent://t/n/orders":        {wire.Persistent, "t", "n", "orders"},
		"non-persistent://a=b/c.d:e/x y": {wire.NonPersistent, "a=b", "c.d:e", "x y"},
		"a%2Fb":                          {wire.Persistent, "public", "default", "a%2Fb"},
		"größe-partition-0":              {wire.Persistent, "public", "default", "größe-partition-0"},
	} {
		got, err := wire.ParseTopic(s)
		if err != nil || got != want {
			t.Errorf("%q: got %#v, %v", s, got, err)
		}
		if again, err := wire.ParseTopic(got.String()); err != nil || again != got {
			t.Errorf("%q: reads back as %#v, %v", got, again, err)
		}
		if ns := got.NamespaceName(); ns != (wire.NamespaceName{Tenant: want.Tenant, Namespace: want.Namespace}) {
			t.Errorf("%q: namespace %v", got, ns)
		}
	}
}

func TestParseTopicErrors(t *testing.T) {
	for _, s := range []string{
		"", "/", "t/n", "t/n/", "/n/x", "t//x", "t/n/x/y", "persistent://x", "persistent://t/c/n/x", "memory://t/n/x", "://t/n/x",
		"Persistent://t/n/x", "t!/n/x", "t/n n/x", "a\x00b", "a\nb", "a\xffb", "é/n/x",
	} {
		if got, err := wire.ParseTopic(s); !errors.Is(err, wire.ErrTopicName) {
			t.Errorf("%q: got %#v, %v", s, got, err)
		}
	}
}

func TestPartitionNames(t *testing.T) {
	for local, want := range map[string]struct {
		base  string
		index int
	}{
		"x":                         {"x", -1},
		"x-partition-0":             {"x", 0},
		"x-partition-12":            {"x", 12},
		"x-partition-1-partition-2": {"x-partition-1", 2},
		"x-partition-":              {"x-partition-", -1},
		"x-partition-01":            {"x-partition-01", -1},
		"x-partition--1":            {"x-partition--1", -1},
		"x-partition-1a":            {"x-partition-1a", -1},
		"x-partition-99999999999":   {"x-partition-99999999999", -1},
		"-partition-1":              {"-partition-1", -1},
		"x-partition-3-DLQ":         {"x-partition-3-DLQ", -1},
		"x-partition-2147483647":    {"x", 2147483647},
		"x-partition-2147483648":    {"x-partition-2147483648", -1},
		"x-partition-5-partition-y": {"x-partition-5-partition-y", -1},
		"multi-partition-topic":     {"multi-partition-topic", -1},
		"multi-partition-topic-1":   {"multi-partition-topic-1", -1},
		"partition-1":               {"partition-1", -1},
		"x-partition-+1":            {"x-partition-+1", -1},
		"x-partition-1_0":           {"x-partition-1_0", -1},
	} {
		topic := wire.TopicName{Tenant: "t", Namespace: "n", Local: local}
		if got := topic.Partition(); got != want.index {
			t.Errorf("%q: partition %d, want %d", local, got, want.index)
		}
		if got := topic.Base().Local; got != want.base {
			t.Errorf("%q: base %q, want %q", local, got, want.base)
		}
	}
}

func TestWithPartitionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic := wire.TopicName{Tenant: "t", Namespace: "n", Local: rapid.StringMatching(`[a-z]{1,3}(-partition-[0-9]{0,3})?`).Draw(t, "local")}
		i := rapid.IntRange(0, 1<<31-1).Draw(t, "i")
		part := topic.WithPartition(i)
		if part.Base() != topic || part.Partition() != i {
			t.Fatalf("%v: base %v, partition %d", part, part.Base(), part.Partition())
		}
	})
}

func TestParseNamespace(t *testing.T) {
	if got, err := wire.ParseNamespace("public/default"); err != nil || got.String() != "public/default" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, s := range []string{"", "public", "public/", "/default", "a/b/c", "a b/c", "a/b\n"} {
		if got, err := wire.ParseNamespace(s); !errors.Is(err, wire.ErrNamespaceName) {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
}

func TestTopicsHash(t *testing.T) {
	// CRC-32C of "123456789" is e3069283; the hash shows its bytes in reverse.
	if got := wire.TopicsHash([]string{"123456789"}); got != "839206e3" {
		t.Errorf("one name: %s", got)
	}
	if got := wire.TopicsHash(nil); got != "00000000" {
		t.Errorf("no name: %s", got)
	}
	joined := wire.TopicsHash([]string{"persistent://t/n/a,persistent://t/n/b"})
	if got := wire.TopicsHash([]string{"persistent://t/n/a", "persistent://t/n/b"}); got != joined {
		t.Errorf("two names: %s, joined by hand %s", got, joined)
	}
}

func FuzzParseTopic(f *testing.F) {
	for _, s := range []string{"x", "t/n/x", "persistent://t/n/x-partition-3", "non-persistent://t/n/é", "t/n/x/y", "://", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		topic, err := wire.ParseTopic(s)
		if err != nil {
			if !errors.Is(err, wire.ErrTopicName) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := wire.ParseTopic(topic.String()); err != nil || again != topic {
			t.Fatalf("%q gave %v, which reads back as %v, %v", s, topic, again, err)
		}
		if ns, err := wire.ParseNamespace(topic.NamespaceName().String()); err != nil || ns != topic.NamespaceName() {
			t.Fatalf("namespace of %v reads back as %v, %v", topic, ns, err)
		}
		if i := topic.Partition(); i >= 0 && topic.Base().WithPartition(i) != topic {
			t.Fatalf("%v is not partition %d of %v", topic, i, topic.Base())
		}
	})
}
