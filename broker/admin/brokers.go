package admin

import (
	"context"
	"net/http"
	"net/url"

	"spoolctl/broker/fault"
	"spoolctl/wire"
)

func (s *Server) brokerRoutes() []route {
	self := func(context.Context, *call) (any, error) { return []string{s.host()}, nil }
	ok := func(context.Context, *call) (any, error) {
		if reason := s.ailment(); reason != "" {
			return nil, fault.New(fault.NotReady, "%s", reason)
		}
		return text("ok"), nil
	}
	return []route{
		{"GET /admin/v2/clusters", func(context.Context, *call) (any, error) { return []string{s.o.Cluster}, nil }},
		{"GET /admin/v2/clusters/{cluster}", s.getCluster},
		{"GET /admin/v2/brokers", self},
		{"GET /admin/v2/brokers/{cluster}", func(ctx context.Context, c *call) (any, error) {
			if c.part("cluster") != s.o.Cluster {
				return nil, &statusError{http.StatusNotFound, "Cluster does not exist"}
			}
			return self(ctx, c)
		}},
		{"GET /admin/v2/brokers/leaderBroker", func(context.Context, *call) (any, error) {
			return map[string]string{"brokerId": s.host(), "serviceUrl": s.o.Web()}, nil
		}},
		{"GET /admin/v2/brokers/health", ok},
		{"GET /admin/v2/brokers/ready", ok},
		{"GET /admin/v2/brokers/version", func(context.Context, *call) (any, error) { return text(s.o.Version), nil }},
		{"GET /lookup/v2/topic/{domain}/{tenant}/{namespace}/{topic}", s.lookup},
	}
}

// host is how Pulsar names a broker: host:port of its web service.
func (s *Server) host() string {
	u, err := url.Parse(s.o.Web())
	if err != nil {
		return s.o.Web()
	}
	return u.Host
}

func (s *Server) getCluster(_ context.Context, c *call) (any, error) {
	if c.part("cluster") != s.o.Cluster {
		return nil, &statusError{http.StatusNotFound, "Cluster does not exist"}
	}
	return map[string]string{"serviceUrl": s.o.Web(), "brokerServiceUrl": s.o.Binary()}, nil
}

// lookup answers where a topic is: always here.
func (s *Server) lookup(_ context.Context, c *call) (any, error) {
	domain := c.part("domain")
	if domain != wire.Persistent.String() && domain != wire.NonPersistent.String() {
		return nil, fault.New(fault.Precondition, "Topic name is not valid")
	}
	name, err := c.topic(domain)
	if err != nil {
		return nil, err
	}
	if _, err := s.reg.Namespace(name.NamespaceName()); err != nil {
		return nil, err
	}
	return map[string]string{"brokerUrl": s.o.Binary(), "nativeUrl": s.o.Binary(), "httpUrl": s.o.Web()}, nil
}
