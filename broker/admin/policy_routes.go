package admin

import (
	"context"
	"encoding/json"
	"strconv"

	"spoolctl/broker/fault"
	"spoolctl/broker/topic"
	"spoolctl/storage"
	"spoolctl/wire"
)

// owner is what has policies: how its document is read and changed.
type owner struct {
	read      func(c *call) (map[string]json.RawMessage, error)
	update    func(ctx context.Context, c *call, change func(map[string]json.RawMessage) error) error
	effective func(c *call, field string, into any) (bool, error) // nil: what is stored is what holds
}

// namespacePolicies reads and changes a namespace's document.
func (s *Server) namespacePolicies() owner {
	return owner{
		read: func(c *call) (map[string]json.RawMessage, error) {
			n, err := s.namespaceOf(c)
			return n.Policies, err
		},
		update: func(ctx context.Context, c *call, change func(map[string]json.RawMessage) error) error {
			ns, err := c.namespace()
			if err != nil {
				return err
			}
			return s.reg.UpdateNamespace(ctx, ns, func(n *storage.Namespace) error { return change(n.Policies) })
		},
	}
}

// topicPolicies reads and changes a topic's document. Partitions have none of their own.
func (s *Server) topicPolicies(domain string) owner {
	named := func(c *call) (wire.TopicName, error) {
		name, err := c.topic(domain)
		if err == nil && name.Partition() >= 0 {
			if _, partitioned, err := s.reg.Partitioned(name.Base()); err != nil || partitioned {
				return name, errorOr(err, fault.New(fault.NotAllowed, "Not allowed to set/get topic policy for a partition"))
			}
		}
		if err != nil {
			return name, err
		}
		if _, err := s.reg.Namespace(name.NamespaceName()); err != nil {
			return name, err
		}
		_, partitioned, err := s.reg.Partitioned(name)
		if err == nil && !partitioned && !s.reg.Exists(name) {
			err = fault.New(fault.TopicNotFound, "Topic %s not found", name)
		}
		return name, err
	}
	return owner{
		read: func(c *call) (map[string]json.RawMessage, error) {
			name, err := named(c)
			if err != nil {
				return nil, err
			}
			return s.reg.TopicPolicies(name)
		},
		update: func(ctx context.Context, c *call, change func(map[string]json.RawMessage) error) error {
			name, err := named(c)
			if err != nil {
				return err
			}
			return s.reg.UpdateTopicPolicies(ctx, name, change)
		},
		effective: func(c *call, field string, into any) (bool, error) {
			name, err := named(c)
			if err != nil {
				return false, err
			}
			return s.reg.Effective(name, field, into)
		},
	}
}

func errorOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// policyRoutes are get, set and remove of each policy of namespaces and topics.
func (s *Server) policyRoutes() (all []route) {
	const namespace, own = "/namespaces/{tenant}/{namespace}/", "/spool/v1"
	root := func(p policy) string {
		if p.own {
			return own
		}
		return "/admin/v2"
	}
	for _, p := range policies() {
		if p.namespace != "" {
			all = append(all, s.routesOf(p, root(p)+namespace+p.namespace, p.namespace, s.namespacePolicies())...)
		}
	}
	all = append(all, s.quotaRoutes("/admin/v2"+namespace, s.namespacePolicies())...)
	all = append(all, route{"DELETE /admin/v2" + namespace + "removeOffloadPolicies", func(ctx context.Context, c *call) (any, error) {
		return nil, s.namespacePolicies().update(ctx, c, func(doc map[string]json.RawMessage) error { delete(doc, "offload_policies"); return nil })
	}})
	for _, domain := range []string{wire.Persistent.String(), wire.NonPersistent.String()} {
		one := "/" + domain + "/{tenant}/{namespace}/{topic}/"
		for _, p := range policies() {
			if p.topic != "" {
				all = append(all, s.routesOf(p, root(p)+one+p.topic, p.topic, s.topicPolicies(domain))...)
			}
		}
		all = append(all, s.quotaRoutes("/admin/v2"+one, s.topicPolicies(domain))...)
	}
	return all
}

// routesOf makes the routes of one policy. Pulsar sets some with POST and some with PUT; here both set all.
func (s *Server) routesOf(p policy, path, name string, o owner) []route {
	set := func(ctx context.Context, c *call) (any, error) {
		raw, err := policyBody(c, name)
		if err != nil {
			return nil, err
		}
		if p.inert {
			s.o.Logger.Warn("a policy is stored that nothing acts on in this version", "policy", name, "path", c.r.URL.Path)
		}
		// The owner is looked up before the value is checked, as clients expect a missing namespace to be told first.
		return nil, o.update(ctx, c, func(doc map[string]json.RawMessage) error {
			delete(doc, p.field)
			if len(raw) == 0 || string(raw) == "null" {
				return nil
			}
			v, err := p.check(name, raw)
			if err == nil && v != nil {
				doc[p.field] = s.wrap(p, v)
			}
			return err
		})
	}
	return []route{
		{"GET " + path, func(_ context.Context, c *call) (any, error) { return s.getPolicy(c, p, o) }},
		{"POST " + path, set},
		{"PUT " + path, set},
		{"DELETE " + path, func(ctx context.Context, c *call) (any, error) {
			return nil, o.update(ctx, c, func(doc map[string]json.RawMessage) error { delete(doc, p.field); return nil })
		}},
	}
}

// policyBody is the value to be set: the body, or for some of Pulsar's calls a query parameter.
func policyBody(c *call, name string) (json.RawMessage, error) {
	var raw json.RawMessage
	if err := c.body(&raw); err != nil {
		return nil, err
	}
	if q := c.r.URL.Query(); q.Has(name) && (len(raw) == 0 || string(raw) == "null") {
		raw = json.RawMessage(strconv.Quote(q.Get(name)))
	}
	return raw, nil
}

// getPolicy answers with a policy as it is stored or, when that is asked for, as it holds; nothing is 204.
func (s *Server) getPolicy(c *call, p policy, o owner) (any, error) {
	var raw json.RawMessage
	if o.effective != nil && c.flag("applied") {
		if _, err := o.effective(c, p.field, &raw); err != nil {
			return nil, err
		}
		if raw == nil && p.fallback != "" {
			raw = json.RawMessage(p.fallback)
		}
	} else {
		doc, err := o.read(c)
		if err != nil {
			return nil, err
		}
		raw = doc[p.field]
	}
	switch {
	case raw != nil:
		return s.unwrap(p, raw), nil
	case o.effective == nil && p.unset != "":
		return json.RawMessage(p.unset), nil
	}
	return nil, nil
}

// wrap gives a value the form in which Pulsar stores it.
func (s *Server) wrap(p policy, raw json.RawMessage) json.RawMessage {
	if !p.cluster {
		return raw
	}
	return mustJSON(map[string]json.RawMessage{s.o.Cluster: raw})
}

func (s *Server) unwrap(p policy, raw json.RawMessage) any {
	var by map[string]json.RawMessage
	if !p.cluster || json.Unmarshal(raw, &by) != nil {
		return raw
	}
	if v, ok := by[s.o.Cluster]; ok {
		return v
	}
	return nil
}

// quotaRoutes are those of backlog quotas, which are one policy with a part for each kind.
func (s *Server) quotaRoutes(base string, o owner) []route {
	const field = "backlog_quota_map"
	change := func(ctx context.Context, c *call, change func(quotas map[string]json.RawMessage, kind string) error) error {
		kind := c.r.URL.Query().Get("backlogQuotaType")
		if kind == "" {
			kind = "destination_storage"
		}
		return o.update(ctx, c, func(doc map[string]json.RawMessage) error {
			quotas := map[string]json.RawMessage{}
			if raw, set := doc[field]; set {
				if err := json.Unmarshal(raw, &quotas); err != nil {
					return fault.Wrap(fault.Persistence, err, "the backlog quotas cannot be read")
				}
			}
			if err := change(quotas, kind); err != nil {
				return err
			}
			if doc[field] = mustJSON(quotas); len(quotas) == 0 {
				delete(doc, field)
			}
			return nil
		})
	}
	return []route{
		{"GET " + base + "backlogQuotaMap", func(_ context.Context, c *call) (any, error) {
			quotas := map[string]json.RawMessage{}
			if o.effective != nil && c.flag("applied") {
				_, err := o.effective(c, field, &quotas)
				return quotas, err
			}
			doc, err := o.read(c)
			if err != nil {
				return nil, err
			}
			if raw, set := doc[field]; set {
				return raw, nil
			}
			return quotas, nil
		}},
		{"POST " + base + "backlogQuota", func(ctx context.Context, c *call) (any, error) {
			var raw json.RawMessage
			if err := c.body(&raw); err != nil {
				return nil, err
			}
			return nil, change(ctx, c, func(quotas map[string]json.RawMessage, kind string) error {
				q, err := topic.ParseQuota(raw, kind)
				quotas[kind] = q
				return err
			})
		}},
		{"DELETE " + base + "backlogQuota", func(ctx context.Context, c *call) (any, error) {
			return nil, change(ctx, c, func(quotas map[string]json.RawMessage, kind string) error { delete(quotas, kind); return nil })
		}},
	}
}

// checkPolicies checks the policies of a namespace to be created, and leaves out what says nothing.
func (s *Server) checkPolicies(doc map[string]json.RawMessage) error {
	for field, raw := range doc { // "not set" has one form
		if string(raw) == "null" || string(raw) == `""` {
			delete(doc, field)
		}
	}
	for _, p := range policies() {
		raw, set := doc[p.field]
		if !set || p.cluster {
			continue
		}
		v, err := p.check(p.field, raw)
		if err != nil {
			return err
		}
		if doc[p.field] = v; v == nil {
			delete(doc, p.field)
		}
	}
	var quotas map[string]json.RawMessage
	if raw, set := doc["backlog_quota_map"]; set {
		if err := json.Unmarshal(raw, &quotas); err != nil {
			return badBody(err)
		}
		for kind, q := range quotas {
			v, err := topic.ParseQuota(q, kind)
			if err != nil {
				return err
			}
			quotas[kind] = v
		}
		doc["backlog_quota_map"] = mustJSON(quotas)
	}
	return nil
}
