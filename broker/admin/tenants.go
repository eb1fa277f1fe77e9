package admin

import (
	"context"
	"net/http"
	"slices"

	"spoolctl/broker/fault"
	"spoolctl/storage"
)

// tenantInfo is Pulsar's body for a tenant.
type tenantInfo struct {
	AdminRoles      []string `json:"adminRoles"`
	AllowedClusters []string `json:"allowedClusters"`
}

func (s *Server) tenantRoutes() []route {
	return []route{
		{"GET /admin/v2/tenants", func(context.Context, *call) (any, error) { return list(s.reg.Tenants()) }},
		{"GET /admin/v2/tenants/{tenant}", func(_ context.Context, c *call) (any, error) {
			t, err := s.reg.Tenant(c.part("tenant"))
			if err != nil {
				return nil, err
			}
			return tenantInfo{orEmpty(t.AdminRoles), orEmpty(t.AllowedClusters)}, nil
		}},
		{"PUT /admin/v2/tenants/{tenant}", func(ctx context.Context, c *call) (any, error) {
			t, err := s.tenantBody(c)
			if err != nil {
				return nil, err
			}
			return nil, s.reg.CreateTenant(ctx, c.part("tenant"), t)
		}},
		{"POST /admin/v2/tenants/{tenant}", func(ctx context.Context, c *call) (any, error) {
			t, err := s.tenantBody(c)
			if err != nil {
				return nil, err
			}
			return nil, s.reg.UpdateTenant(ctx, c.part("tenant"), t)
		}},
		{"DELETE /admin/v2/tenants/{tenant}", func(ctx context.Context, c *call) (any, error) {
			return nil, s.reg.DeleteTenant(ctx, c.part("tenant"), c.flag("force"))
		}},
	}
}

func (s *Server) tenantBody(c *call) (storage.Tenant, error) {
	info := tenantInfo{}
	if err := c.body(&info); err != nil {
		return storage.Tenant{}, err
	}
	if len(info.AllowedClusters) == 0 {
		return storage.Tenant{}, fault.New(fault.Precondition, "Clusters can not be empty")
	}
	if slices.ContainsFunc(info.AllowedClusters, func(n string) bool { return n != s.o.Cluster }) {
		return storage.Tenant{}, &statusError{http.StatusPreconditionFailed, "Clusters do not exist: this broker has only " + s.o.Cluster}
	}
	return storage.Tenant{AdminRoles: info.AdminRoles, AllowedClusters: info.AllowedClusters}, nil
}

// orEmpty makes a list that is encoded as [] and never as null.
func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func list(names []string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return orEmpty(names), nil
}
