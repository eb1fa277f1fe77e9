package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spoolctl": main})
}

// TestScripts drive the real program against a small admin API.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			broker := &fakeBroker{tenants: map[string]json.RawMessage{"public": json.RawMessage(`{"adminRoles":[],"allowedClusters":["standalone"]}`)}}
			server := httptest.NewServer(broker)
			env.Defer(server.Close)
			env.Setenv("ADMIN", server.URL)
			env.Setenv("HOME", env.WorkDir)
			return os.WriteFile(env.WorkDir+"/token", []byte("secret\n"), 0o600)
		},
	})
}

// fakeBroker answers the calls of the scripts as Pulsar does.
type fakeBroker struct {
	mu      sync.Mutex
	tenants map[string]json.RawMessage
}

func (b *fakeBroker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reason := func(status int, text string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"reason": text})
	}
	if r.Header.Get("Authorization") != "Bearer secret" {
		reason(http.StatusUnauthorized, "Authentication required")
		return
	}
	body, _ := io.ReadAll(r.Body)
	path := strings.TrimPrefix(r.URL.Path, "/admin/v2/")
	name, isTenant := strings.CutPrefix(path, "tenants/")
	switch {
	case path == "clusters":
		_, _ = io.WriteString(w, `["standalone","global"]`)
	case path == "tenants":
		names := make([]string, 0, len(b.tenants))
		for n := range b.tenants {
			names = append(names, n)
		}
		_ = json.NewEncoder(w).Encode(names)
	case isTenant && b.tenants[name] == nil && r.Method != http.MethodPut:
		reason(http.StatusNotFound, "Tenant does not exist")
	case isTenant && b.tenants[name] != nil && r.Method == http.MethodPut:
		reason(http.StatusConflict, "Tenant already exists")
	case isTenant && r.Method == http.MethodGet:
		_, _ = w.Write(b.tenants[name])
	case isTenant && r.Method == http.MethodDelete:
		delete(b.tenants, name)
		w.WriteHeader(http.StatusNoContent)
	case isTenant:
		b.tenants[name] = body
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(path, "namespaces/") && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusNoContent)
	case path == "persistent/public/default/t/partitions" && r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"partitions":0}`)
	case path == "persistent/public/default/p/partitions" && r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"partitions":3}`)
	case path == "persistent/public/default/p-partition-1/subscription/s/skip_all":
		reason(http.StatusNotFound, "Subscription not found")
	case strings.HasPrefix(path, "persistent/public/default/p-partition-"):
		w.WriteHeader(http.StatusNoContent)
	case path == "persistent/public/default/t/stats":
		_, _ = io.WriteString(w, `{"msgRateIn":2.5,"novel":1,"subscriptions":{"s":{"type":"Shared","msgBacklog":84120,"backlogSize":-1,"novel":true,"consumers":[{}]},"r":{"consumers":[]}}}`)
	default:
		http.NotFound(w, r)
	}
}
