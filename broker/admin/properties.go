package admin

import (
	"context"
	"encoding/json"
	"maps"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// namespaceProperties is the field in which a namespace's policies have its properties.
const namespaceProperties = "properties"

func (s *Server) propertyRoutes() (all []route) {
	const ns = " /admin/v2/namespaces/{tenant}/{namespace}/"
	put := func(ctx context.Context, c *call) (any, error) {
		var more map[string]string
		if err := c.body(&more); err != nil {
			return nil, err
		}
		return nil, s.changeProperties(ctx, c, func(p map[string]string) { maps.Copy(p, more) })
	}
	all = append(all,
		route{"GET" + ns + "properties", func(_ context.Context, c *call) (any, error) { return s.namespaceProperties(c) }},
		route{"PUT" + ns + "properties", put},
		route{"DELETE" + ns + "properties", func(ctx context.Context, c *call) (any, error) {
			return nil, s.changeProperties(ctx, c, func(p map[string]string) { clear(p) })
		}},
		route{"GET" + ns + "property/{key}", func(_ context.Context, c *call) (any, error) {
			p, err := s.namespaceProperties(c)
			if err != nil {
				return nil, err
			}
			if v, ok := p[c.part("key")]; ok {
				return v, nil
			}
			return nil, nil
		}},
		route{"PUT" + ns + "property/{key}/{value}", func(ctx context.Context, c *call) (any, error) {
			return nil, s.changeProperties(ctx, c, func(p map[string]string) { p[c.part("key")] = c.part("value") })
		}},
		route{"DELETE" + ns + "property/{key}", func(ctx context.Context, c *call) (any, error) {
			return nil, s.changeProperties(ctx, c, func(p map[string]string) { delete(p, c.part("key")) })
		}})
	for _, domain := range []string{wire.Persistent.String(), wire.NonPersistent.String()} {
		on := topicRoute(domain)
		path := " /admin/v2/" + domain + "/{tenant}/{namespace}/{topic}/properties"
		all = append(all,
			on("GET"+path, func(ctx context.Context, _ *call, name wire.TopicName) (any, error) {
				p, err := s.reg.Properties(ctx, name)
				return propertiesOf(p), err
			}),
			on("PUT"+path, func(ctx context.Context, c *call, name wire.TopicName) (any, error) {
				var more map[string]string
				if err := c.body(&more); err != nil {
					return nil, err
				}
				return nil, s.reg.UpdateProperties(ctx, name, func(p map[string]string) { maps.Copy(p, more) })
			}),
			on("DELETE"+path, func(ctx context.Context, c *call, name wire.TopicName) (any, error) {
				key := c.r.URL.Query().Get("key")
				if key == "" {
					return nil, fault.New(fault.Precondition, "say which property: ?key=NAME")
				}
				return nil, s.reg.UpdateProperties(ctx, name, func(p map[string]string) { delete(p, key) })
			}))
	}
	return all
}

func readProperties(n *storage.Namespace) (map[string]string, error) {
	p := map[string]string{}
	if raw, set := n.Policies[namespaceProperties]; set {
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fault.Wrap(fault.Persistence, err, "the namespace's properties cannot be read")
		}
	}
	return p, nil
}

func (s *Server) namespaceProperties(c *call) (map[string]string, error) {
	n, err := s.namespaceOf(c)
	if err != nil {
		return nil, err
	}
	return readProperties(&n)
}

func (s *Server) changeProperties(ctx context.Context, c *call, change func(map[string]string)) error {
	ns, err := c.namespace()
	if err != nil {
		return err
	}
	return s.reg.UpdateNamespace(ctx, ns, func(n *storage.Namespace) error {
		p, err := readProperties(n)
		if err != nil {
			return err
		}
		change(p)
		n.Policies[namespaceProperties] = mustJSON(p)
		return nil
	})
}
