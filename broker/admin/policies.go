package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// policy is a namespace policy that this broker acts on.
type policy struct {
	path  string                                 // last part of the URL
	field string                                 // Pulsar's name in the namespace's policies
	check func(json.RawMessage) error            // refuses values; a nil one never comes
	after func(s *Server, ns wire.NamespaceName) // makes a change known; may be nil
}

func policies() []policy {
	return []policy{
		{"autoTopicCreation", "autoTopicCreationOverride", checkAutoTopics, nil},
		{"autoSubscriptionCreation", "autoSubscriptionCreationOverride", checkObject, nil},
		{"retention", "retention_policies", checkRetention, func(s *Server, ns wire.NamespaceName) { s.reg.ApplyRetention(ns) }},
		{"maxTopicsPerNamespace", "max_topics_per_namespace", checkMaxTopics, nil},
	}
}

// policyRoutes are get, set and remove of each policy; one that is not set answers 204.
func (s *Server) policyRoutes() (all []route) {
	for _, p := range policies() {
		base := " /admin/v2/namespaces/{tenant}/{namespace}/" + p.path
		all = append(all,
			route{"GET" + base, func(_ context.Context, c *call) (any, error) {
				n, err := s.namespaceOf(c)
				if err != nil {
					return nil, err
				}
				if raw, set := n.Policies[p.field]; set {
					return raw, nil
				}
				return nil, nil
			}},
			route{"POST" + base, func(ctx context.Context, c *call) (any, error) {
				var raw json.RawMessage
				if err := c.body(&raw); err != nil {
					return nil, err
				}
				return nil, s.setPolicy(ctx, c, p, raw)
			}},
			route{"DELETE" + base, func(ctx context.Context, c *call) (any, error) { return nil, s.setPolicy(ctx, c, p, nil) }})
	}
	return all
}

// setPolicy sets a policy, or removes it when raw is nil. The namespace is looked up before the value is checked, as
// clients expect the missing namespace to be told first.
func (s *Server) setPolicy(ctx context.Context, c *call, p policy, raw json.RawMessage) error {
	ns, err := c.namespace()
	if err != nil {
		return err
	}
	err = s.reg.UpdateNamespace(ctx, ns, func(n *storage.Namespace) error {
		if raw == nil || string(raw) == "null" {
			delete(n.Policies, p.field)
			return nil
		}
		if err := p.check(raw); err != nil {
			return err
		}
		n.Policies[p.field] = raw
		return nil
	})
	if err == nil && p.after != nil {
		p.after(s, ns)
	}
	return err
}

func badBody(err error) error {
	return &statusError{http.StatusBadRequest, "the body is not what this call takes: " + err.Error()}
}

func checkObject(raw json.RawMessage) error {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(raw, &o); err != nil {
		return badBody(err)
	}
	return nil
}

func checkAutoTopics(raw json.RawMessage) error {
	var o struct {
		Allow      bool   `json:"allowAutoTopicCreation"`
		Type       string `json:"topicType"`
		Partitions *int   `json:"defaultNumPartitions"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return badBody(err)
	}
	refuse := func(detail string) error {
		return &statusError{http.StatusNotAcceptable, "Invalid configuration for autoTopicCreationOverride. the detail is [defaultNumPartitions] " + detail}
	}
	switch {
	case !o.Allow:
		return nil
	case o.Type == "partitioned" && o.Partitions == nil:
		return refuse("cannot be null when the type is partitioned.")
	case o.Type == "partitioned" && *o.Partitions < 1:
		return refuse("cannot be less than 1 for partition type.")
	case o.Type == "non-partitioned" && o.Partitions != nil:
		return refuse("is not allowed to be set when the type is non-partition.")
	case o.Type != "partitioned" && o.Type != "non-partitioned":
		return &statusError{http.StatusNotAcceptable, "Invalid configuration for autoTopicCreationOverride. the detail is [topicType] must be partitioned or non-partitioned"}
	}
	return nil
}

func checkRetention(raw json.RawMessage) error {
	var r struct {
		Minutes *int64 `json:"retentionTimeInMinutes"`
		MB      *int64 `json:"retentionSizeInMB"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return badBody(err)
	}
	if r.Minutes == nil || r.MB == nil || *r.Minutes < -1 || *r.MB < -1 || (*r.Minutes == 0) != (*r.MB == 0) {
		return fault.New(fault.Precondition, "Invalid retention policy: give both time and size, -1 for no limit, or 0 for both")
	}
	return nil
}

func checkMaxTopics(raw json.RawMessage) error {
	var n int
	if err := json.Unmarshal(raw, &n); err != nil {
		return badBody(err)
	}
	if n < 0 {
		return fault.New(fault.Precondition, "maxTopicsPerNamespace must be 0 or more")
	}
	return nil
}
