package topic

import (
	"context"

	"spoolctl/broker/fault"
	"spoolctl/storage"
	"spoolctl/wire"
)

// partitions gives the partition count of a base topic; false when it is not partitioned.
func (r *Registry) partitions(base wire.TopicName) (int, bool, error) {
	p, ok, err := r.Partitioned(base)
	return p.Partitions, ok, err
}

// Partitioned gives the partitioned topic's metadata; false when there is none.
func (r *Registry) Partitioned(base wire.TopicName) (storage.Partitioned, bool, error) {
	var p storage.Partitioned
	found, err := r.store.Resource(storage.KindPartitioned, base.String(), &p)
	return p, found, storeFault(err, "reading the partitions of %s", base)
}

// PartitionedTopics lists the base names of a namespace's partitioned topics, ordered.
func (r *Registry) PartitionedTopics(ns wire.NamespaceName) ([]wire.TopicName, error) {
	var out []wire.TopicName
	for _, d := range []wire.Domain{wire.NonPersistent, wire.Persistent} {
		paths, err := r.store.ResourcePaths(storage.KindPartitioned, d.String()+"://"+ns.String()+"/")
		if err != nil {
			return nil, storeFault(err, "listing partitioned topics")
		}
		for _, p := range paths {
			if name, err := wire.ParseTopic(p); err == nil {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// PartitionCount answers a client's question before it uses a topic: the number of
// partitions, 0 for a topic that is not partitioned. When the topic does not exist and
// create is set, it is made as the configuration and the namespace say: a partitioned
// topic at once, another one when it is first used. TopicNotFound otherwise.
func (r *Registry) PartitionCount(ctx context.Context, name wire.TopicName, create bool) (int, error) {
	if name.Partition() >= 0 {
		// A partition is never partitioned itself.
		if r.Exists(name) {
			return 0, nil
		}
		n, ok, err := r.partitions(name.Base())
		if err != nil || (ok && name.Partition() < n) {
			return 0, err
		}
	} else {
		n, ok, err := r.partitions(name)
		if err != nil || ok {
			return n, err
		}
		if r.Exists(name) {
			return 0, nil
		}
	}
	auto, err := r.autoCreation(name)
	if err != nil {
		return 0, err
	}
	if !create || !auto.allowed {
		return 0, notFound(name)
	}
	if !auto.partitioned || name.Partition() >= 0 {
		return 0, nil
	}
	err = r.CreatePartitioned(ctx, name, auto.partitions, nil)
	if fault.Is(err, fault.Exists) {
		n, _, err := r.partitions(name)
		return n, err
	}
	return auto.partitions, err
}

// autoRule is how topics of a namespace come into being by being used.
type autoRule struct {
	allowed     bool
	partitioned bool
	partitions  int
}

// autoCreation is the rule for a topic that does not exist.
func (r *Registry) autoCreation(name wire.TopicName) (autoRule, error) {
	var o autoTopics
	_, err := r.Effective(name, fieldAutoTopics, &o)
	return autoRule{allowed: o.Allow, partitioned: o.Type == "partitioned", partitions: max(1, o.Partitions)}, err
}

// autoSubscriptions says whether subscriptions come into being by being used.
func (r *Registry) autoSubscriptions(name wire.TopicName) (bool, error) {
	var o autoSubscriptions
	_, err := r.Effective(name, fieldAutoSubscriptions, &o)
	return o.Allow, err
}

// mayCreate says whether using a topic that does not exist may create it.
func (r *Registry) mayCreate(name wire.TopicName, force bool) error {
	if name.Partition() >= 0 {
		if n, ok, err := r.partitions(name.Base()); err != nil {
			return err
		} else if ok {
			if name.Partition() < n {
				return nil
			}
			return fault.New(fault.TopicNotFound, "Topic %s not found: %s has %d partitions", name, name.Base(), n)
		}
	} else if _, ok, err := r.partitions(name); err != nil {
		return err
	} else if ok {
		return fault.New(fault.NotAllowed, "%s is a partitioned topic; use its partitions", name)
	}
	auto, err := r.autoCreation(name)
	if err != nil {
		return err
	}
	if !force || !auto.allowed {
		return notFound(name)
	}
	return r.checkRoom(name, 1)
}

// checkNewName says whether a topic may be created under a name on request.
func (r *Registry) checkNewName(name wire.TopicName) error {
	if _, err := r.Namespace(name.NamespaceName()); err != nil {
		return err
	}
	if _, ok, err := r.partitions(name); err != nil {
		return err
	} else if ok || r.Exists(name) {
		return fault.New(fault.Exists, "This topic already exists")
	}
	return r.checkRoom(name, 1)
}

// checkRoom applies the namespace's limit on topics.
func (r *Registry) checkRoom(name wire.TopicName, more int) error {
	limit := 0
	if _, err := r.Effective(name, fieldMaxTopics, &limit); err != nil {
		return err
	}
	if limit > 0 && len(r.Topics(name.NamespaceName(), All))+more > limit {
		return fault.New(fault.Precondition, "Exceed maximum number of topics in namespace.")
	}
	return nil
}

// CreatePartitioned makes a partitioned topic with its partitions. It refuses with
// Exists, Invalid (count), NamespaceNotFound.
func (r *Registry) CreatePartitioned(ctx context.Context, base wire.TopicName, n int, properties map[string]string) error {
	if n <= 0 {
		return fault.New(fault.Invalid, "Number of partitions should be more than 0")
	}
	if r.opt.MaxPartitions > 0 && n > r.opt.MaxPartitions {
		return fault.New(fault.Invalid, "Number of partitions should be less than or equal to %d", r.opt.MaxPartitions)
	}
	if base.Partition() >= 0 {
		return fault.New(fault.Precondition, "Partitioned Topic Name should not contain '-partition-'")
	}
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.checkNewName(base); err != nil {
		return err
	}
	if err := r.checkRoom(base, n); err != nil {
		return err
	}
	p := storage.Partitioned{Partitions: n, Properties: properties, Created: r.opt.Now()}
	if err := r.store.PutResource(ctx, storage.KindPartitioned, base.String(), p); err != nil {
		return storeFault(err, "creating partitioned topic %s", base)
	}
	return r.createPartitions(ctx, base, 0, n)
}

// UpdatePartitions raises the number of partitions; existing subscriptions are made on
// the new ones. Conflict when the number does not grow.
func (r *Registry) UpdatePartitions(ctx context.Context, base wire.TopicName, n int) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p, ok, err := r.Partitioned(base)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.TopicNotFound, "Partitioned Topic not found: %s has zero partitions", base)
	}
	if n <= p.Partitions {
		return fault.New(fault.Conflict, "Number of partitions must be more than the existing %d", p.Partitions)
	}
	if r.opt.MaxPartitions > 0 && n > r.opt.MaxPartitions {
		return fault.New(fault.Invalid, "Number of partitions should be less than or equal to %d", r.opt.MaxPartitions)
	}
	if err := r.checkRoom(base, n-p.Partitions); err != nil {
		return err
	}
	old := p.Partitions
	p.Partitions = n
	if err := r.createPartitions(ctx, base, old, n); err != nil {
		return err
	}
	if err := r.copySubscriptions(ctx, base, old, n); err != nil {
		return err
	}
	return storeFault(r.store.PutResource(ctx, storage.KindPartitioned, base.String(), p), "updating the partitions of %s", base)
}

// createPartitions makes the partitions from..to-1 of a persistent topic; the others
// come into being when they are used.
func (r *Registry) createPartitions(ctx context.Context, base wire.TopicName, from, to int) error {
	if base.Domain == wire.NonPersistent {
		return nil
	}
	for i := from; i < to; i++ {
		name := base.WithPartition(i)
		_, err := r.acquire(ctx, name, func() (*Topic, error) {
			if r.Exists(name) {
				return r.open(ctx, name)
			}
			return r.create(ctx, name, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copySubscriptions makes the durable subscriptions of partition 0 on new partitions,
// at their start, so that nothing published there is missed.
func (r *Registry) copySubscriptions(ctx context.Context, base wire.TopicName, from, to int) error {
	if base.Domain == wire.NonPersistent || from == 0 {
		return nil
	}
	first, err := r.Get(ctx, base.WithPartition(0))
	if err != nil {
		return err
	}
	for _, s := range first.Subscriptions() {
		if !s.Durable() {
			continue
		}
		for i := from; i < to; i++ {
			t, err := r.Get(ctx, base.WithPartition(i))
			if err != nil {
				return err
			}
			err = t.CreateSubscription(ctx, NewSubscription{Name: s.Name(), Durable: true, At: wire.Earliest(), Properties: s.Properties()})
			if err != nil && !fault.Is(err, fault.Exists) {
				return err
			}
		}
	}
	return nil
}

// DeletePartitioned removes a partitioned topic and its partitions; without force it
// refuses, with Precondition, while one of them is in use.
func (r *Registry) DeletePartitioned(ctx context.Context, base wire.TopicName, force bool) error {
	unlock, err := r.lockAdmin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	n, ok, err := r.partitions(base)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.TopicNotFound, "Partitioned Topic not found: %s has zero partitions", base)
	}
	if !force {
		// All of them before anything is deleted; loaded, to see their subscriptions.
		for i := range n {
			t, err := r.Get(ctx, base.WithPartition(i))
			if fault.Is(err, fault.TopicNotFound) {
				continue
			}
			if err == nil {
				t.mu.Lock()
				err = t.unused()
				t.mu.Unlock()
			}
			if err != nil {
				return err
			}
		}
	}
	// Before the partitions go, so that a client that comes back finds no topic.
	if err := r.store.DeleteResource(ctx, storage.KindPartitioned, base.String()); err != nil {
		return storeFault(err, "deleting partitioned topic %s", base)
	}
	for i := range n {
		if err := r.Delete(ctx, base.WithPartition(i), force); err != nil && !fault.Is(err, fault.TopicNotFound) {
			return err
		}
	}
	if err := r.dropTopicPolicies(ctx, base); err != nil {
		return err
	}
	return r.dropSchema(ctx, storage.SchemaSubject(base))
}
