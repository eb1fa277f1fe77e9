package topic

import (
	"context"
	"encoding/json"
	"slices"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// createDefaults makes what every spool has.
func (r *Registry) createDefaults(ctx context.Context) error {
	for _, ns := range []wire.NamespaceName{{Tenant: "public", Namespace: "default"}, {Tenant: "pulsar", Namespace: "system"}} {
		var t storage.Tenant
		found, err := r.store.Resource(storage.KindTenant, ns.Tenant, &t)
		if err != nil {
			return storeFault(err, "reading tenant %s", ns.Tenant)
		}
		if found {
			continue
		}
		t = storage.Tenant{AllowedClusters: []string{r.opt.Cluster}, Created: r.opt.Now()}
		if err := r.store.PutResource(ctx, storage.KindTenant, ns.Tenant, t); err != nil {
			return storeFault(err, "creating tenant %s", ns.Tenant)
		}
		if err := r.store.PutResource(ctx, storage.KindNamespace, ns.String(), storage.Namespace{Created: r.opt.Now()}); err != nil {
			return storeFault(err, "creating namespace %s", ns)
		}
	}
	return nil
}

// Tenants lists the tenants' names, ordered.
func (r *Registry) Tenants() ([]string, error) {
	names, err := r.store.ResourcePaths(storage.KindTenant, "")
	return names, storeFault(err, "listing tenants")
}

// Tenant gives one tenant, or TenantNotFound.
func (r *Registry) Tenant(name string) (storage.Tenant, error) {
	var t storage.Tenant
	found, err := r.store.Resource(storage.KindTenant, name, &t)
	if err != nil {
		return t, storeFault(err, "reading tenant %s", name)
	}
	if !found {
		return t, fault.New(fault.TenantNotFound, "Tenant does not exist")
	}
	return t, nil
}

// CreateTenant makes a tenant; Exists, Precondition (bad name) otherwise.
func (r *Registry) CreateTenant(ctx context.Context, name string, t storage.Tenant) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !wire.ValidName(name) {
		return fault.New(fault.Precondition, "Tenant name is not valid: use letters, digits and - = : . _")
	}
	if _, err := r.Tenant(name); err == nil {
		return fault.New(fault.Exists, "Tenant already exists")
	} else if !fault.Is(err, fault.TenantNotFound) {
		return err
	}
	t.Created = r.opt.Now()
	return storeFault(r.store.PutResource(ctx, storage.KindTenant, name, t), "creating tenant %s", name)
}

// UpdateTenant replaces a tenant's roles and clusters.
func (r *Registry) UpdateTenant(ctx context.Context, name string, t storage.Tenant) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := r.Tenant(name)
	if err != nil {
		return err
	}
	t.Created = old.Created
	return storeFault(r.store.PutResource(ctx, storage.KindTenant, name, t), "updating tenant %s", name)
}

// DeleteTenant removes a tenant; Conflict while it has namespaces, unless force.
func (r *Registry) DeleteTenant(ctx context.Context, name string, force bool) error {
	if _, err := r.Tenant(name); err != nil {
		return err
	}
	spaces, err := r.Namespaces(name)
	if err != nil {
		return err
	}
	if len(spaces) > 0 && !force {
		return fault.New(fault.Conflict, "The tenant still has active namespaces")
	}
	for _, ns := range spaces {
		if err := r.DeleteNamespace(ctx, ns, true); err != nil {
			return err
		}
	}
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return storeFault(r.store.DeleteResource(ctx, storage.KindTenant, name), "deleting tenant %s", name)
}

// Namespaces lists a tenant's namespaces, ordered; TenantNotFound when there is none.
// With an empty tenant it lists all.
func (r *Registry) Namespaces(tenant string) ([]wire.NamespaceName, error) {
	prefix := ""
	if tenant != "" {
		if _, err := r.Tenant(tenant); err != nil {
			return nil, err
		}
		prefix = tenant + "/"
	}
	paths, err := r.store.ResourcePaths(storage.KindNamespace, prefix)
	if err != nil {
		return nil, storeFault(err, "listing namespaces")
	}
	out := make([]wire.NamespaceName, 0, len(paths))
	for _, p := range paths {
		ns, err := wire.ParseNamespace(p)
		if err != nil {
			return nil, fault.Wrap(fault.Persistence, err, "the spool holds a namespace with a bad name")
		}
		out = append(out, ns)
	}
	return out, nil
}

// Namespace gives a namespace with its policies; TenantNotFound or NamespaceNotFound.
func (r *Registry) Namespace(ns wire.NamespaceName) (storage.Namespace, error) {
	var n storage.Namespace
	found, err := r.store.Resource(storage.KindNamespace, ns.String(), &n)
	if err != nil {
		return n, storeFault(err, "reading namespace %s", ns)
	}
	if found {
		return n, nil
	}
	if _, err := r.Tenant(ns.Tenant); err != nil {
		return n, err
	}
	return n, fault.New(fault.NamespaceNotFound, "Namespace does not exist")
}

// CreateNamespace makes a namespace with policies by Pulsar's JSON field names.
func (r *Registry) CreateNamespace(ctx context.Context, ns wire.NamespaceName, policies map[string]json.RawMessage) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !wire.ValidName(ns.Namespace) {
		return fault.New(fault.Precondition, "Namespace name is not valid: use letters, digits and - = : . _")
	}
	if _, err := r.Namespace(ns); err == nil {
		return fault.New(fault.Exists, "Namespace already exists")
	} else if !fault.Is(err, fault.NamespaceNotFound) {
		return err
	}
	n := storage.Namespace{Policies: policies, Created: r.opt.Now()}
	return storeFault(r.store.PutResource(ctx, storage.KindNamespace, ns.String(), n), "creating namespace %s", ns)
}

// UpdateNamespace changes a namespace's policies; change may refuse. Loaded topics follow.
func (r *Registry) UpdateNamespace(ctx context.Context, ns wire.NamespaceName, change func(*storage.Namespace) error) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	n, err := r.Namespace(ns)
	if err != nil {
		return err
	}
	if n.Policies == nil {
		n.Policies = make(map[string]json.RawMessage)
	}
	if err := change(&n); err != nil {
		return err
	}
	if err := r.store.PutResource(ctx, storage.KindNamespace, ns.String(), n); err != nil {
		return storeFault(err, "updating namespace %s", ns)
	}
	r.refresh(ctx, func(name wire.TopicName) bool { return name.NamespaceName() == ns })
	return nil
}

// DeleteNamespace removes a namespace; Conflict while it has topics, unless force,
// which deletes them with their clients attached.
func (r *Registry) DeleteNamespace(ctx context.Context, ns wire.NamespaceName, force bool) error {
	if _, err := r.Namespace(ns); err != nil {
		return err
	}
	topics := r.Topics(ns, All)
	bases, err := r.PartitionedTopics(ns)
	if err != nil {
		return err
	}
	if !force && len(topics)+len(bases) > 0 {
		return fault.New(fault.Conflict, "Cannot delete non empty namespace")
	}
	for _, base := range bases {
		if err := r.DeletePartitioned(ctx, base, true); err != nil && !fault.Is(err, fault.TopicNotFound) {
			return err
		}
	}
	for _, name := range topics {
		if err := r.Delete(ctx, name, true); err != nil && !fault.Is(err, fault.TopicNotFound) {
			return err
		}
	}
	if err := r.dropSchemas(ctx, ns); err != nil {
		return err
	}
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return storeFault(r.store.DeleteResource(ctx, storage.KindNamespace, ns.String()), "deleting namespace %s", ns)
}

// Domains chooses topics by whether they are stored.
type Domains uint8

// The choices of GET_TOPICS_OF_NAMESPACE.
const (
	OnlyPersistent Domains = iota
	OnlyNonPersistent
	All
)

// Topics lists a namespace's topics, partitions one by one, ordered by name. A
// namespace that does not exist has none.
func (r *Registry) Topics(ns wire.NamespaceName, which Domains) []wire.TopicName {
	var out []wire.TopicName
	if which != OnlyNonPersistent {
		out = append(out, r.store.TopicNames(ns)...)
	}
	if which != OnlyPersistent {
		r.mu.Lock()
		for name, s := range r.slots {
			if name.Domain == wire.NonPersistent && name.NamespaceName() == ns && s.topic != nil && s.gone == nil {
				out = append(out, name)
			}
		}
		r.mu.Unlock()
	}
	slices.SortFunc(out, compareNames)
	return out
}
