package inspect

import (
	"context"
	"strings"

	"spoolctl/storage"
)

// Tenant is a tenant with its namespaces.
type Tenant struct {
	Name       string
	Namespaces []string // without the tenant, sorted
}

// Namespaces lists the tenants, sorted, with their namespaces, also those
// without topics.
func (s *Session) Namespaces(ctx context.Context) ([]Tenant, error) {
	return again(s, func() ([]Tenant, error) {
		byName := map[string][]string{}
		for _, kind := range []storage.Kind{storage.KindTenant, storage.KindNamespace} {
			paths, err := s.spool.ResourcePaths(kind, "")
			if err != nil {
				return nil, s.degrade(ctx, err)
			}
			for _, p := range paths {
				tenant, namespace, inner := strings.Cut(p, "/")
				of := byName[tenant]
				if inner {
					of = append(of, namespace)
				}
				byName[tenant] = of
			}
		}
		var out []Tenant
		for _, name := range sortedKeys(byName) {
			out = append(out, Tenant{name, byName[name]})
		}
		return out, nil
	})
}
