package admin

import (
	"context"
	"net/http"
)

// TenantInfo is the body of tenant calls.
type TenantInfo struct {
	AdminRoles      []string `json:"adminRoles"`
	AllowedClusters []string `json:"allowedClusters"`
}

func (t TenantInfo) body() []byte {
	if t.AdminRoles == nil {
		t.AdminRoles = []string{}
	}
	if t.AllowedClusters == nil {
		t.AllowedClusters = []string{}
	}
	return mustJSON(t)
}

// CreateTenant makes a tenant; the broker wants at least one allowed cluster.
func CreateTenant(name string, info TenantInfo) Request {
	return Request{Method: http.MethodPut, Path: path("tenants", name), Body: info.body()}
}

// UpdateTenant replaces both lists of a tenant.
func UpdateTenant(name string, info TenantInfo) Request {
	return Request{Method: http.MethodPost, Path: path("tenants", name), Body: info.body()}
}

// DeleteTenant removes a tenant; force takes its namespaces and topics along.
func DeleteTenant(name string, force bool) Request {
	return Request{Method: http.MethodDelete, Path: path("tenants", name), Query: flags(map[string]bool{"force": force})}
}

// Tenants lists all tenants.
func (c *Client) Tenants(ctx context.Context) ([]string, error) {
	return get[[]string](ctx, c, Request{Method: http.MethodGet, Path: path("tenants")})
}

// Tenant reads one tenant.
func (c *Client) Tenant(ctx context.Context, name string) (TenantInfo, error) {
	return get[TenantInfo](ctx, c, Request{Method: http.MethodGet, Path: path("tenants", name)})
}

// Clusters lists the clusters that the broker knows.
func (c *Client) Clusters(ctx context.Context) ([]string, error) {
	return get[[]string](ctx, c, Request{Method: http.MethodGet, Path: path("clusters")})
}
