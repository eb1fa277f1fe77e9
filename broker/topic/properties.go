package topic

import (
	"context"
	"maps"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// Properties gives the properties of a topic or a partitioned topic; a non-persistent topic has none.
func (r *Registry) Properties(ctx context.Context, name wire.TopicName) (map[string]string, error) {
	if p, partitioned, err := r.Partitioned(name); err != nil || partitioned {
		return p.Properties, err
	}
	t, err := r.Get(ctx, name)
	if err != nil || t.store == nil {
		return nil, err
	}
	p := t.store.Properties()
	delete(p, epochProperty)
	return p, nil
}

// UpdateProperties changes the properties of a topic or a partitioned topic; durable on return.
func (r *Registry) UpdateProperties(ctx context.Context, name wire.TopicName, change func(map[string]string)) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p, partitioned, err := r.Partitioned(name)
	if err != nil {
		return err
	}
	if partitioned {
		if p.Properties = maps.Clone(p.Properties); p.Properties == nil {
			p.Properties = map[string]string{}
		}
		change(p.Properties)
		return storeFault(r.store.PutResource(ctx, storage.KindPartitioned, name.String(), p), "storing the properties of %s", name)
	}
	t, err := r.Get(ctx, name)
	if err != nil {
		return err
	}
	if t.store == nil {
		return fault.New(fault.NotAllowed, "a non-persistent topic has no properties: nothing of it is stored")
	}
	return t.changeProperties(ctx, func(p map[string]string) {
		epoch, has := p[epochProperty]
		change(p)
		if delete(p, epochProperty); has {
			p[epochProperty] = epoch
		}
	})
}

// changeProperties changes the stored properties, those of our own included; durable on return.
func (t *Topic) changeProperties(ctx context.Context, change func(map[string]string)) error {
	select {
	case t.describing <- struct{}{}:
		defer func() { <-t.describing }()
	case <-ctx.Done():
		return fault.Wrap(fault.NotReady, ctx.Err(), "waiting for another change of the properties of %s", t.name)
	}
	p := t.store.Properties()
	if p == nil {
		p = map[string]string{}
	}
	change(p)
	return storeFault(t.store.SetProperties(ctx, p), "storing the properties of topic %s", t.name)
}
