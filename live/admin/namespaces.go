package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"spoolctl/wire"
)

func nsPath(ns wire.NamespaceName, more ...string) string {
	return path(append([]string{"namespaces", ns.Tenant, ns.Namespace}, more...)...)
}

// CreateNamespace makes a namespace with default policies, or with policies
// given as Pulsar's JSON document.
func CreateNamespace(ns wire.NamespaceName, policies json.RawMessage) Request {
	r := Request{Method: http.MethodPut, Path: nsPath(ns)}
	if len(policies) > 0 {
		r.Body = policies
	}
	return r
}

// DeleteNamespace removes a namespace; force takes its topics along.
func DeleteNamespace(ns wire.NamespaceName, force bool) Request {
	return Request{Method: http.MethodDelete, Path: nsPath(ns), Query: flags(map[string]bool{"force": force})}
}

// GrantNamespace lets role do the actions (produce, consume, functions, …) on
// every topic of the namespace.
func GrantNamespace(ns wire.NamespaceName, role string, actions []string) Request {
	return Request{Method: http.MethodPost, Path: nsPath(ns, "permissions", role), Body: mustJSON(actions)}
}

// RevokeNamespace takes all actions of role away.
func RevokeNamespace(ns wire.NamespaceName, role string) Request {
	return Request{Method: http.MethodDelete, Path: nsPath(ns, "permissions", role)}
}

// Namespaces lists the namespaces of a tenant as tenant/namespace.
func (c *Client) Namespaces(ctx context.Context, tenant string) ([]string, error) {
	return get[[]string](ctx, c, Request{Method: http.MethodGet, Path: path("namespaces", tenant)})
}

// NamespaceTopics lists full topic names; partitions are listed one by one.
// mode is PERSISTENT, NON_PERSISTENT or ALL.
func (c *Client) NamespaceTopics(ctx context.Context, ns wire.NamespaceName, mode string) ([]string, error) {
	return get[[]string](ctx, c, Request{
		Method: http.MethodGet, Path: nsPath(ns, "topics"),
		Query: url.Values{"mode": {mode}},
	})
}

// Policies reads the policies document of a namespace as it is.
func (c *Client) Policies(ctx context.Context, ns wire.NamespaceName) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, Request{Method: http.MethodGet, Path: nsPath(ns)})
}

// Permissions reads role -> actions of a namespace.
func (c *Client) Permissions(ctx context.Context, ns wire.NamespaceName) (map[string][]string, error) {
	return get[map[string][]string](ctx, c, Request{Method: http.MethodGet, Path: nsPath(ns, "permissions")})
}
