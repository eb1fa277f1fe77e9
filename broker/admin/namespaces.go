package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire"
)

func (s *Server) namespaceRoutes() []route {
	return []route{
		{"GET /admin/v2/namespaces/{tenant}", s.listNamespaces},
		{"GET /admin/v2/namespaces/{tenant}/{namespace}", s.getPolicies},
		{"PUT /admin/v2/namespaces/{tenant}/{namespace}", s.createNamespace},
		{"DELETE /admin/v2/namespaces/{tenant}/{namespace}", s.deleteNamespace},
		{"GET /admin/v2/namespaces/{tenant}/{namespace}/topics", s.namespaceTopics},
		{"GET /admin/v2/namespaces/{tenant}/{namespace}/permissions", s.getPermissions},
		{"POST /admin/v2/namespaces/{tenant}/{namespace}/permissions/{role}", s.grantPermission},
		{"DELETE /admin/v2/namespaces/{tenant}/{namespace}/permissions/{role}", s.revokePermission},
		{"GET /admin/v2/namespaces/{tenant}/{namespace}/permissions/subscription", s.subscriptionPermissions},
		{"POST /admin/v2/namespaces/{tenant}/{namespace}/permissions/subscription/{subscription}", s.grantSubscription},
		{"DELETE /admin/v2/namespaces/{tenant}/{namespace}/permissions/{subscription}/{role}", s.revokeSubscription},
		{"PUT /admin/v2/namespaces/{tenant}/{namespace}/unload", s.unloadNamespace},
	}
}

func (s *Server) listNamespaces(_ context.Context, c *call) (any, error) {
	all, err := s.reg.Namespaces(c.part("tenant"))
	if err != nil {
		return nil, err
	}
	out := make([]string, len(all))
	for i, ns := range all {
		out[i] = ns.String()
	}
	return out, nil
}

func (s *Server) getPolicies(_ context.Context, c *call) (any, error) {
	n, err := s.namespaceOf(c)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{
		"auth_policies":        json.RawMessage(`{"namespace_auth":{},"destination_auth":{},"subscription_auth_roles":{}}`),
		"replication_clusters": mustJSON([]string{s.o.Cluster}),
		"bundles":              json.RawMessage(`{"boundaries":["0x00000000","0xffffffff"],"numBundles":1}`),
		"backlog_quota_map":    json.RawMessage(`{}`),
	}
	for k, v := range n.Policies {
		out[k] = v
	}
	return out, nil
}

func (s *Server) namespaceOf(c *call) (storage.Namespace, error) {
	ns, err := c.namespace()
	if err != nil {
		return storage.Namespace{}, err
	}
	return s.reg.Namespace(ns)
}

func (s *Server) createNamespace(ctx context.Context, c *call) (any, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	var policies map[string]json.RawMessage
	if err := c.body(&policies); err != nil {
		return nil, err
	}
	if err := s.checkPolicies(policies); err != nil {
		return nil, err
	}
	return nil, s.reg.CreateNamespace(ctx, ns, policies)
}

func (s *Server) deleteNamespace(ctx context.Context, c *call) (any, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	return nil, s.reg.DeleteNamespace(ctx, ns, c.flag("force"))
}

func (s *Server) namespaceTopics(_ context.Context, c *call) (any, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if _, err := s.reg.Namespace(ns); err != nil {
		return nil, err
	}
	which := topic.OnlyPersistent
	switch mode := strings.ToUpper(c.r.URL.Query().Get("mode")); mode {
	case "", "PERSISTENT":
	case "NON_PERSISTENT":
		which = topic.OnlyNonPersistent
	case "ALL":
		which = topic.All
	default:
		return nil, &statusError{http.StatusBadRequest, "mode must be PERSISTENT, NON_PERSISTENT or ALL, not " + mode}
	}
	return names(s.reg.Topics(ns, which)), nil
}

func names(topics []wire.TopicName) []string {
	out := make([]string, len(topics))
	for i, t := range topics {
		out[i] = t.String()
	}
	return out
}

// authPolicies is Pulsar's auth_policies; what is not known is kept.
type authPolicies struct {
	Namespace     map[string][]string            `json:"namespace_auth"`
	Destination   map[string]map[string][]string `json:"destination_auth"`
	Subscriptions map[string][]string            `json:"subscription_auth_roles"`
}

const authPolicy = "auth_policies"

func readAuth(n *storage.Namespace) (authPolicies, error) {
	a := authPolicies{}
	if raw, ok := n.Policies[authPolicy]; ok {
		if err := json.Unmarshal(raw, &a); err != nil {
			return a, fault.Wrap(fault.Persistence, err, "the namespace's permissions cannot be read")
		}
	}
	if a.Namespace == nil {
		a.Namespace = map[string][]string{}
	}
	if a.Destination == nil {
		a.Destination = map[string]map[string][]string{}
	}
	if a.Subscriptions == nil {
		a.Subscriptions = map[string][]string{}
	}
	return a, nil
}

func (s *Server) getPermissions(_ context.Context, c *call) (any, error) {
	n, err := s.namespaceOf(c)
	if err != nil {
		return nil, err
	}
	a, err := readAuth(&n)
	return a.Namespace, err
}

func (s *Server) changePermissions(ctx context.Context, c *call, change func(*authPolicies)) error {
	ns, err := c.namespace()
	if err != nil {
		return err
	}
	return s.reg.UpdateNamespace(ctx, ns, func(n *storage.Namespace) error {
		a, err := readAuth(n)
		if err != nil {
			return err
		}
		change(&a)
		n.Policies[authPolicy] = mustJSON(a)
		return nil
	})
}

// actions are the permissions that Pulsar knows.
func actions() []string {
	return []string{"produce", "consume", "functions", "sources", "sinks", "packages"}
}

func (s *Server) grantPermission(ctx context.Context, c *call) (any, error) {
	var wanted []string
	if err := c.body(&wanted); err != nil {
		return nil, err
	}
	for _, a := range wanted {
		if !slices.Contains(actions(), a) {
			return nil, &statusError{http.StatusBadRequest, "no such action: " + a + "; use " + strings.Join(actions(), ", ")}
		}
	}
	slices.Sort(wanted)
	return nil, s.changePermissions(ctx, c, func(a *authPolicies) { a.Namespace[c.part("role")] = slices.Compact(wanted) })
}

func (s *Server) revokePermission(ctx context.Context, c *call) (any, error) {
	return nil, s.changePermissions(ctx, c, func(a *authPolicies) { delete(a.Namespace, c.part("role")) })
}

func (s *Server) subscriptionPermissions(_ context.Context, c *call) (any, error) {
	n, err := s.namespaceOf(c)
	if err != nil {
		return nil, err
	}
	a, err := readAuth(&n)
	return a.Subscriptions, err
}

func (s *Server) grantSubscription(ctx context.Context, c *call) (any, error) {
	var roles []string
	if err := c.body(&roles); err != nil {
		return nil, err
	}
	return nil, s.changePermissions(ctx, c, func(a *authPolicies) { a.Subscriptions[c.subscription()] = orEmpty(roles) })
}

func (s *Server) revokeSubscription(ctx context.Context, c *call) (any, error) {
	return nil, s.changePermissions(ctx, c, func(a *authPolicies) {
		name := c.subscription()
		a.Subscriptions[name] = slices.DeleteFunc(a.Subscriptions[name], func(role string) bool { return role == c.part("role") })
		if len(a.Subscriptions[name]) == 0 {
			delete(a.Subscriptions, name)
		}
	})
}

func (s *Server) unloadNamespace(ctx context.Context, c *call) (any, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if _, err := s.reg.Namespace(ns); err != nil {
		return nil, err
	}
	for _, t := range s.reg.Loaded() {
		if t.Name().NamespaceName() != ns {
			continue
		}
		if err := s.reg.Unload(ctx, t.Name()); err != nil && !fault.Is(err, fault.TopicNotFound) {
			return nil, err
		}
	}
	return nil, nil
}

// mustJSON encodes values of this package, which always can be.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
