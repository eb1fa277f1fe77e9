package admin_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"spoolctl/broker/admin"
	"spoolctl/broker/dispatch"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is a server over a registry and a store in a temporary folder.
type api struct {
	*testing.T
	dir      string
	registry *topic.Registry
	server   *httptest.Server
}

func newAPI(t *testing.T) *api {
	t.Helper()
	ctx := context.Background()
	a := &api{T: t, dir: t.TempDir()}
	store, err := storage.Open(ctx, storage.Options{Dir: a.dir, Sync: storage.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	a.registry, err = topic.New(ctx, topic.Options{Store: store, MaxPartitions: 8, Defaults: topic.Defaults{AutoCreateTopics: true, AutoCreateSubscriptions: true}})
	if err != nil {
		t.Fatal(err)
	}
	a.server = httptest.NewServer(admin.New(admin.Options{
		Registry: a.registry, Store: store, Cluster: "standalone", Version: "1.2.3",
		Binary:  func() string { return "pulsar://host:6650" },
		Web:     func() string { return "http://host:8080" },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") }),
	}))
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		a.server.Close()
		if err := a.registry.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := store.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return a
}

// answer is a response whose body was read.
type answer struct {
	*http.Response
	body string
}

func (a *api) do(method, path, body string) answer {
	a.Helper()
	req, err := http.NewRequest(method, a.server.URL+path, strings.NewReader(body))
	if err != nil {
		a.Fatalf("%s %s: %v", method, path, err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // redirects are not followed
	if err != nil {
		a.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return answer{resp, string(b)}
}

// step is one call with what must come back.
type step struct {
	method, path, body string
	status             int
	want               string // the whole body when it begins with "=", the reason when it begins with "!", else a part; "" is an empty body
}

func (a *api) run(steps []step) {
	a.Helper()
	for _, s := range steps {
		got := a.do(s.method, s.path, s.body)
		what := s.method + " " + s.path + " " + s.body
		if got.StatusCode != s.status {
			a.Errorf("%s: status %d, want %d: %s", what, got.StatusCode, s.status, got.body)
			continue
		}
		var ok bool
		switch {
		case s.want == "":
			ok = got.body == ""
		case s.want[0] == '=':
			ok = got.body == s.want[1:]
		case s.want[0] == '!':
			ok = got.body == `{"reason":"`+s.want[1:]+`"}`
		default:
			ok = strings.Contains(got.body, s.want)
		}
		if !ok {
			a.Errorf("%s: %d %q, want %q", what, got.StatusCode, got.body, s.want)
		}
		if got.StatusCode >= 400 && got.Header.Get("Content-Type") != "application/json" {
			a.Errorf("%s: a refusal of type %q", what, got.Header.Get("Content-Type"))
		}
	}
}

// topic loads a topic that exists.
func (a *api) topic(name string) *topic.Topic {
	a.Helper()
	n, err := wire.ParseTopic(name)
	if err != nil {
		a.Fatal(err)
	}
	t, err := a.registry.Get(context.Background(), n)
	if err != nil {
		a.Fatal(err)
	}
	return t
}

// publish stores an entry and waits until it is there.
func (a *api) publish(name string, m *pb.MessageMetadata, payload string) wire.Position {
	a.Helper()
	t := a.topic(name)
	m.ProducerName, m.PublishTime = proto.String("p1"), proto.Uint64(1_700_000_000_123)
	if m.SequenceId == nil {
		m.SequenceId = proto.Uint64(0)
	}
	before := t.In.Messages()
	if err := t.Storage().Append(storage.Append{Data: wire.BuildEntry(m, []byte(payload)), PublishTime: int64(m.GetPublishTime()), Messages: max(1, m.GetNumMessagesInBatch())}); err != nil {
		a.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); t.In.Messages() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			a.Fatal("the entry was not committed")
		}
	}
	return t.Storage().LastConfirmed()
}

// consume attaches a consumer that receives nothing.
func (a *api) consume(name, subscription string) *topic.Consumer {
	a.Helper()
	c, err := a.topic(name).Subscribe(context.Background(), topic.SubscribeOptions{
		Name: subscription, Durable: true, Earliest: true,
		Consumer: dispatch.ConsumerOptions{ID: 1, Name: "c1", Type: pb.CommandSubscribe_Shared, Partition: -1, Outlet: deaf{}, Connected: time.Now()},
	})
	if err != nil {
		a.Fatal(err)
	}
	return c
}

// deaf is a client that takes nothing.
type deaf struct{}

func (deaf) Writable() bool                   { return false }
func (deaf) Overloaded() bool                 { return true }
func (deaf) Deliver([]dispatch.Delivery)      {}
func (deaf) ActiveChange(uint64, bool)        {}
func (deaf) CloseConsumer(*dispatch.Consumer) {}
func (deaf) ReachedEnd(uint64)                {}
