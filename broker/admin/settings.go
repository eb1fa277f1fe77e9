package admin

import (
	"context"
	"net/http"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// Settings is the daemon's configuration as it can be changed while it runs.
type Settings interface {
	Names() []string                                   // what can be changed
	Values() (map[string]string, error)                // what was changed, as it was given
	Effective() map[string]string                      // everything, with the value in effect
	Set(ctx context.Context, name, value string) error // durable on return
	Reset(ctx context.Context, name string) error      // durable on return
}

func (s *Server) settingsRoutes() []route {
	const base = "/admin/v2/brokers/configuration"
	with := func(do func(ctx context.Context, c *call) (any, error)) func(context.Context, *call) (any, error) {
		return func(ctx context.Context, c *call) (any, error) {
			if s.o.Settings == nil {
				return nil, fault.New(fault.Unsupported, "this broker's configuration cannot be changed while it runs")
			}
			return do(ctx, c)
		}
	}
	return []route{
		{"GET " + base, with(func(context.Context, *call) (any, error) { return orEmpty(s.o.Settings.Names()), nil })},
		{"GET " + base + "/values", with(func(context.Context, *call) (any, error) { return s.o.Settings.Values() })},
		{"GET " + base + "/runtime", with(func(context.Context, *call) (any, error) { return s.o.Settings.Effective(), nil })},
		{"POST " + base + "/{name}/{value}", with(func(ctx context.Context, c *call) (any, error) {
			if err := s.o.Settings.Set(ctx, c.part("name"), c.part("value")); err != nil {
				return nil, err
			}
			return &reply{status: http.StatusOK}, nil // not 204: clients of Pulsar compare
		})},
		{"DELETE " + base + "/{name}", with(func(ctx context.Context, c *call) (any, error) {
			return nil, s.o.Settings.Reset(ctx, c.part("name"))
		})},
		{"GET /admin/v2/brokers/backlog-quota-check", func(ctx context.Context, _ *call) (any, error) {
			s.reg.CheckQuotas(ctx)
			return nil, nil
		}},
	}
}

// historyRoutes answer with the revisions of what is configured, the newest first.
func (s *Server) historyRoutes() []route {
	all := []route{
		{"GET /spool/v1/history/namespaces/{tenant}/{namespace}", func(_ context.Context, c *call) (any, error) {
			ns, err := c.namespace()
			if err != nil {
				return nil, err
			}
			return s.history(storage.KindNamespace, ns.String())
		}},
		{"GET /spool/v1/history/settings", func(context.Context, *call) (any, error) {
			return s.history(storage.KindSettings, "broker")
		}},
	}
	for _, domain := range []string{wire.Persistent.String(), wire.NonPersistent.String()} {
		all = append(all, topicRoute(domain)("GET /spool/v1/history/topics/"+domain+"/{tenant}/{namespace}/{topic}",
			func(_ context.Context, _ *call, name wire.TopicName) (any, error) {
				return s.history(storage.KindTopicPolicies, name.Base().String())
			}))
	}
	return all
}

func (s *Server) history(kind storage.Kind, path string) (any, error) {
	revisions, err := s.o.Store.ResourceHistory(kind, path)
	if err != nil {
		return nil, fault.Wrap(fault.Persistence, err, "the history cannot be read")
	}
	return orEmpty(revisions), nil
}
