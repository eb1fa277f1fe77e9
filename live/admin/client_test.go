package admin_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"spoolctl/live/admin"
	"spoolctl/wire"
	"spoolctl/wire/pb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client talks to a server that answers with h.
func client(t *testing.T, h http.HandlerFunc, o admin.Options) *admin.Client {
	t.Helper()
	s := httptest.NewServer(h)
	transport := &http.Transport{}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); transport.CloseIdleConnections() })
	o.URL, o.HTTP = s.URL, transport
	c, err := admin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestStatusErrors(t *testing.T) {
	const js = "application/json"
	for _, c := range []struct {
		name   string
		h      http.HandlerFunc
		is     error
		reason string
	}{
		{"401", answer(401, js, `{"reason":"Authentication required"}`), admin.ErrUnauthorized, "Authentication required"},
		{"403", answer(403, js, `{"reason":"Unauthorized to validateTopicOperation"}`), admin.ErrForbidden, "Unauthorized to validateTopicOperation"},
		{"404", answer(404, js, `{"reason":"Tenant does not exist"}`), admin.ErrNotFound, "Tenant does not exist"},
		{"409", answer(409, js, `{"reason":"Tenant already exists"}`), admin.ErrConflict, "Tenant already exists"},
		{"412", answer(412, js, `{"reason":"Clusters can not be empty"}`), admin.ErrPrecondition, "Clusters can not be empty"},
		{"500 stack trace", answer(500, "text/plain", "java.lang.NullPointerException: x\n\tat a.b\n"), admin.ErrServer, "java.lang.NullPointerException: x"},
		{"500 empty", answer(500, js, ""), admin.ErrServer, ""},
		{"500 HTML", answer(500, "text/html", "<html><h1>Oops</h1></html>"), admin.ErrServer, ""},
		{"404 HTML", answer(404, "text/html", "<html>404</html>"), admin.ErrUnsupported, ""},
		{"404 of net/http", answer(404, "text/plain", "404 page not found\n"), admin.ErrUnsupported, ""},
		{"405", answer(405, "text/plain", ""), admin.ErrUnsupported, ""},
		{"501", answer(501, js, `{"reason":"not built"}`), admin.ErrUnsupported, "not built"},
		{"problem JSON", answer(409, "application/problem+json", `{"title":"Conflict","detail":"busy"}`), admin.ErrConflict, "busy"},
		{"huge text", answer(500, "text/plain", strings.Repeat("x", 10_000)), admin.ErrServer, strings.Repeat("x", 300) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := client(t, c.h, admin.Options{}).Tenants(t.Context())
			var status *admin.StatusError
			if !errors.As(err, &status) || !errors.Is(err, c.is) || status.Reason != c.reason {
				t.Fatalf("%T %v", err, err)
			}
			kinds := 0
			for _, k := range []error{admin.ErrUnauthorized, admin.ErrForbidden, admin.ErrNotFound, admin.ErrConflict, admin.ErrPrecondition, admin.ErrServer, admin.ErrUnsupported} {
				if errors.Is(err, k) {
					kinds++
				}
			}
			if kinds != 1 {
				t.Errorf("%d kinds", kinds)
			}
			if strings.Contains(err.Error(), "<") {
				t.Errorf("HTML in %q", err)
			}
		})
	}
}

func TestUnusableAnswers(t *testing.T) {
	release := make(chan struct{})
	hang := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `["a",`)
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	t.Cleanup(func() { close(release) })
	loop := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `["a"`)
	}
	for name, h := range map[string]http.HandlerFunc{"hanging body": hang, "redirect loop": loop, "cut body": cut} {
		_, err := client(t, h, admin.Options{Timeout: 100 * time.Millisecond}).Tenants(t.Context())
		var unreachable *admin.UnreachableError
		if !errors.As(err, &unreachable) {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
	_, err := client(t, answer(200, "text/html", "<html>login</html>"), admin.Options{}).Tenants(t.Context())
	if !errors.Is(err, admin.ErrAnswer) {
		t.Errorf("HTML page: %v", err)
	}
	c, err := admin.New(admin.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Tenants(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "cannot reach http://127.0.0.1:1: connect: ") {
		t.Errorf("closed port: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Tenants(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, u := range []string{"localhost:8080", "ftp://x", "http://", "://"} {
		if _, err := admin.New(admin.Options{URL: u}); err == nil {
			t.Errorf("URL %q is accepted", u)
		}
	}
}

func TestEmptyAnswerIsZero(t *testing.T) {
	c := client(t, answer(204, "", ""), admin.Options{})
	if names, err := c.Tenants(t.Context()); err != nil || names != nil {
		t.Errorf("%v %v", names, err)
	}
}

// TestRequests checks method, path, query and body of every call against
// Pulsar's REST API.
func TestRequests(t *testing.T) {
	tn := wire.TopicName{Domain: wire.Persistent, Tenant: "t", Namespace: "n", Local: "a/b c"}
	ns := wire.NamespaceName{Tenant: "t", Namespace: "n"}
	id := wire.MessageID{Position: wire.Position{Ledger: 3, Entry: 4}, Partition: -1, Batch: -1}
	const top = "/admin/v2/persistent/t/n/a%2Fb%20c"
	for _, c := range []struct {
		r    admin.Request
		want string
	}{
		{admin.CreateTenant("a b", admin.TenantInfo{}), `PUT /admin/v2/tenants/a%20b {"adminRoles":[],"allowedClusters":[]}`},
		{admin.UpdateTenant("a", admin.TenantInfo{AdminRoles: []string{"r"}, AllowedClusters: []string{"c"}}), `POST /admin/v2/tenants/a {"adminRoles":["r"],"allowedClusters":["c"]}`},
		{admin.DeleteTenant("a", true), "DELETE /admin/v2/tenants/a?force=true "},
		{admin.CreateNamespace(ns, nil), "PUT /admin/v2/namespaces/t/n "},
		{admin.DeleteNamespace(ns, false), "DELETE /admin/v2/namespaces/t/n "},
		{admin.GrantNamespace(ns, "r/1", []string{"produce", "consume"}), `POST /admin/v2/namespaces/t/n/permissions/r%2F1 ["produce","consume"]`},
		{admin.RevokeNamespace(ns, "r"), "DELETE /admin/v2/namespaces/t/n/permissions/r "},
		{admin.CreateTopic(tn, nil), "PUT " + top + " "},
		{admin.CreatePartitioned(tn, 4), "PUT " + top + "/partitions 4"},
		{admin.UpdatePartitions(tn, 8), "POST " + top + "/partitions 8"},
		{admin.DeleteTopic(tn, false, false), "DELETE " + top + " "},
		{admin.DeleteTopic(tn, true, true), "DELETE " + top + "/partitions?force=true "},
		{admin.UnloadTopic(tn), "PUT " + top + "/unload "},
		{admin.TerminateTopic(tn), "POST " + top + "/terminate "},
		{admin.CreateSubscription(tn, "s?", id), `PUT ` + top + `/subscription/s%3F {"ledgerId":3,"entryId":4,"partitionIndex":-1}`},
		{admin.DeleteSubscription(tn, "s", true), "DELETE " + top + "/subscription/s?force=true "},
		{admin.SkipMessages(tn, "s", 7), "POST " + top + "/subscription/s/skip/7 "},
		{admin.ClearBacklog(tn, "s"), "POST " + top + "/subscription/s/skip_all "},
		{admin.SeekMessage(tn, "s", id), "POST " + top + `/subscription/s/resetcursor {"ledgerId":3,"entryId":4,"partitionIndex":-1}`},
		{admin.SeekTime(tn, "s", time.UnixMilli(1234)), "POST " + top + "/subscription/s/resetcursor/1234 "},
		{admin.PeekMessage(tn, "s", 1), "GET " + top + "/subscription/s/position/1 "},
	} {
		if got := c.r.Method + " " + c.r.URL("") + " " + string(c.r.Body); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestHeadersAndTrace(t *testing.T) {
	var seen http.Header
	var body []byte
	var trace []admin.Exchange
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	}, admin.Options{
		Token: func() (string, error) { return "secret", nil },
		Trace: func(x admin.Exchange) { trace = append(trace, x) },
	})
	r := admin.CreateTenant("a", admin.TenantInfo{AllowedClusters: []string{"c"}})
	if _, err := c.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if seen.Get("Authorization") != "Bearer secret" || seen.Get("Content-Type") != "application/json" || string(body) != string(r.Body) {
		t.Errorf("%v %s", seen, body)
	}
	if len(trace) != 1 || trace[0].Status != http.StatusNoContent || strings.Contains(trace[0].URL+string(trace[0].RequestBody), "secret") {
		t.Errorf("%+v", trace)
	}
}

// TestRedirectKeepsBodyAndToken: a cluster sends calls on to the owner.
func TestRedirectKeepsBodyAndToken(t *testing.T) {
	var got string
	owner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.Header.Get("Authorization") + " " + string(b)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer owner.Close()
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, owner.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}, admin.Options{Token: func() (string, error) { return "tok", nil }})
	if _, err := c.Do(t.Context(), admin.CreatePartitioned(wire.TopicName{Tenant: "t", Namespace: "n", Local: "x"}, 2)); err != nil {
		t.Fatal(err)
	}
	if got != "PUT Bearer tok 2" {
		t.Errorf("got %q", got)
	}
}

func TestStatsKeepUnknownFields(t *testing.T) {
	const doc = `{"msgRateIn":1.5,"newField":{"deep":[1]},"subscriptions":{"s":{"msgBacklog":7,"alsoNew":true,"consumers":[]}}}`
	c := client(t, answer(200, "application/json", doc), admin.Options{})
	s, raw, err := c.Stats(t.Context(), wire.TopicName{Tenant: "t", Namespace: "n", Local: "x"}, false)
	if err != nil || *s.MsgRateIn != 1.5 || *s.Subscriptions["s"].MsgBacklog != 7 {
		t.Fatalf("%+v %v", s, err)
	}
	if s.StorageSize != nil || s.Subscriptions["s"].UnackedMessages != nil {
		t.Error("an absent number is not nil")
	}
	if string(raw) != doc {
		t.Errorf("raw is %s", raw)
	}
}

func batch(t *testing.T, payloads ...string) string {
	t.Helper()
	var b []byte
	for i, p := range payloads {
		meta, err := proto.Marshal(&pb.SingleMessageMetadata{
			PayloadSize:  proto.Int32(int32(len(p))),
			PartitionKey: proto.String("k" + p),
			EventTime:    proto.Uint64(uint64(1000 + i)),
		})
		if err != nil {
			t.Fatal(err)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(meta)))
		b = append(append(b, meta...), p...)
	}
	return string(b)
}

func TestPeek(t *testing.T) {
	whole := batch(t, "one", "two")
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		switch {
		case strings.HasSuffix(r.URL.Path, "/position/1"):
			h.Set("X-Pulsar-Message-ID", "5:0")
			h.Set("X-Pulsar-publish-time", "2026-01-31T12:00:00.123Z")
			h.Set("X-Pulsar-Property", `{"Case":"kept"}`)
			_, _ = io.WriteString(w, "plain")
		case strings.HasSuffix(r.URL.Path, "/position/2"):
			h.Set("X-Pulsar-Message-ID", "5:1")
			h.Set("X-Pulsar-num-batch-message", "2")
			_, _ = io.WriteString(w, whole)
		default:
			answer(404, "application/json", `{"reason":"Message not found"}`)(w, r)
		}
	}, admin.Options{})
	msgs, err := c.Peek(t.Context(), wire.TopicName{Tenant: "t", Namespace: "n", Local: "x"}, "s", 10)
	if err != nil || len(msgs) != 3 {
		t.Fatalf("%+v %v", msgs, err)
	}
	if m := msgs[0]; string(m.Payload) != "plain" || m.Properties["Case"] != "kept" || m.PublishTime.UnixMilli()%1000 != 123 {
		t.Errorf("%+v", m)
	}
	if m := msgs[2]; m.ID.String() != "5:1:-1:1" || string(m.Payload) != "two" || m.Key != "ktwo" || m.EventTime.UnixMilli() != 1001 {
		t.Errorf("%s %+v", m.ID, m)
	}
}

func TestPeekErrors(t *testing.T) {
	tn := wire.TopicName{Tenant: "t", Namespace: "n", Local: "x"}
	c := client(t, answer(404, "application/json", `{"reason":"Subscription not found"}`), admin.Options{})
	if _, err := c.Peek(t.Context(), tn, "s", 1); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("missing subscription: %v", err)
	}
	for _, body := range []string{"", "\xff\xff\xff\xff", "\x00\x00\x00\x01\xff", batch(t, "one")} {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Pulsar-Message-ID", "5:1")
			w.Header().Set("X-Pulsar-num-batch-message", "2")
			_, _ = io.WriteString(w, body)
		}, admin.Options{})
		if _, err := c.Peek(t.Context(), tn, "s", 1); !errors.Is(err, admin.ErrAnswer) {
			t.Errorf("batch %q: %v", body, err)
		}
	}
}

func TestPoliciesAreRaw(t *testing.T) {
	c := client(t, answer(200, "application/json", ` {"b":1,"a":2} `), admin.Options{})
	raw, err := c.Policies(t.Context(), wire.NamespaceName{Tenant: "t", Namespace: "n"})
	if err != nil || !json.Valid(raw) || string(raw) != `{"b":1,"a":2}` {
		t.Errorf("%s %v", raw, err)
	}
}
