package maintain

import (
	"context"
	"fmt"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// TopicOptions say which topic a verb is about. A partitioned topic means all its partitions.
type TopicOptions struct {
	Options
	Topic wire.TopicName
}

// parts calls each for the topic, or for every partition of a partitioned one. It returns storage.ErrTopicNotFound.
func (o *TopicOptions) parts(s *storage.Spool, each func(t *storage.TopicView) error) error {
	n := 0
	var ids []uint64
	err := s.EachTopic(func(h storage.TopicHead) error {
		name, err := wire.ParseTopic(h.Name)
		if err == nil && (name == o.Topic || name.Base() == o.Topic) {
			ids = append(ids, h.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		t, err := s.Topic(id)
		if err != nil {
			return err
		}
		if err := each(t); err != nil {
			return err
		}
		n++
	}
	if n > 0 {
		return nil
	}
	if found, err := s.Resource(storage.KindPartitioned, o.Topic.String(), new(storage.Partitioned)); found || err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", storage.ErrTopicNotFound, o.Topic)
}

// whole is what people lose with a topic.
func whole(t *storage.TopicView) string {
	s := t.Stats()
	return fmt.Sprintf("%d entries, %d messages, %d bytes, %d subscriptions", s.Entries, s.Messages, s.Bytes, len(t.Cursors))
}

// onTopics makes an apply that opens each of the topics that the plan named.
func (o *TopicOptions) onTopics(names *[]wire.TopicName, change func(ctx context.Context, t *storage.Topic) error) func(context.Context, string) error {
	return o.onStore(func(ctx context.Context, s *storage.Store) error {
		for _, name := range *names {
			t, err := s.OpenTopic(ctx, name, noSink{})
			if err != nil {
				return err
			}
			t.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
			if err := change(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// planParts adds an action for each part and notes the names.
func (o *TopicOptions) planParts(p *Plan, names *[]wire.TopicName, action string, detail func(t *storage.TopicView) string) error {
	*names = nil
	return o.reading(func(s *storage.Spool) error {
		return o.parts(s, func(t *storage.TopicView) error {
			name, err := wire.ParseTopic(t.Name)
			*names = append(*names, name)
			if text := detail(t); err == nil && text != "" {
				p.add(action, "topic", t.Name, "%s", text)
			}
			return err
		})
	})
}

// DeleteTopic deletes a topic with its messages, subscriptions, policies, and its number of partitions. Schemas stay, as
// they do with a running broker.
func DeleteTopic(ctx context.Context, o TopicOptions) (*Result, error) {
	var names []wire.TopicName
	return o.run(ctx, work{
		verb: "topic-delete",
		plan: func(_ context.Context, p *Plan) error {
			return o.planParts(p, &names, "delete", func(t *storage.TopicView) string { return "with " + whole(t) })
		},
		apply: reclaiming(o.onStore(func(ctx context.Context, s *storage.Store) error {
			for _, name := range names {
				if err := s.DeleteTopic(ctx, name); err != nil {
					return err
				}
			}
			for _, kind := range []storage.Kind{storage.KindPartitioned, storage.KindTopicPolicies} {
				if found, err := s.Resource(kind, o.Topic.String(), new(any)); err != nil || !found {
					if err != nil {
						return err
					}
					continue
				}
				if err := s.DeleteResource(ctx, kind, o.Topic.String()); err != nil {
					return err
				}
			}
			return nil
		})),
	})
}

// TruncateTopic removes all entries; subscriptions stay, at the end. Retention is not asked.
func TruncateTopic(ctx context.Context, o TopicOptions) (*Result, error) {
	var names []wire.TopicName
	return o.run(ctx, work{
		verb: "topic-truncate",
		plan: func(_ context.Context, p *Plan) error {
			return o.planParts(p, &names, "truncate", func(t *storage.TopicView) string {
				if s := t.Stats(); s.Entries == 0 {
					return ""
				}
				return whole(t) + "; the subscriptions stay and begin at the end"
			})
		},
		apply: reclaiming(o.onTopics(&names, func(ctx context.Context, t *storage.Topic) error {
			_, err := t.Truncate(ctx)
			return err
		})),
	})
}

// TerminateTopic forbids further publishes for ever.
func TerminateTopic(ctx context.Context, o TopicOptions) (*Result, error) {
	var names []wire.TopicName
	return o.run(ctx, work{
		verb: "topic-terminate",
		plan: func(_ context.Context, p *Plan) error {
			return o.planParts(p, &names, "terminate", func(t *storage.TopicView) string {
				if t.Terminated {
					return ""
				}
				return "its last entry is " + t.Ledgers.LastConfirmed().String() + "; what is stored stays readable"
			})
		},
		apply: o.onTopics(&names, func(ctx context.Context, t *storage.Topic) error {
			_, err := t.Terminate(ctx)
			return err
		}),
	})
}

// RenameTopic gives a topic another name, with its subscriptions, policies, partitions and schema; positions stay.
func RenameTopic(ctx context.Context, o TopicOptions, to wire.TopicName) (*Result, error) {
	heads := map[uint64]string{}
	return o.run(ctx, work{
		verb: "topic-rename",
		plan: func(_ context.Context, p *Plan) error {
			if (o.Topic.Partition() >= 0) != (to.Partition() >= 0) {
				return fmt.Errorf("%w: %s and %s: a partition can only become a partition", storage.ErrBadName, o.Topic, to)
			}
			return o.reading(func(s *storage.Spool) error { return o.planRename(s, p, to, heads) })
		},
		apply: onDB(func(_ context.Context, db *pebble.DB) error { return o.rename(db, to, heads) }),
	})
}

func (o *TopicOptions) planRename(s *storage.Spool, p *Plan, to wire.TopicName, heads map[uint64]string) error {
	taken := TopicOptions{Topic: to}
	if err := taken.parts(s, func(*storage.TopicView) error { return nil }); err == nil {
		return fmt.Errorf("%w: %s", storage.ErrTopicExists, to)
	}
	ns, err := s.Resource(storage.KindNamespace, to.NamespaceName().String(), new(storage.Namespace))
	if err != nil {
		return err
	}
	if !ns && to.NamespaceName() != o.Topic.NamespaceName() {
		return fmt.Errorf("%w: there is no namespace %s", storage.ErrBadName, to.NamespaceName())
	}
	return o.parts(s, func(t *storage.TopicView) error {
		name, err := wire.ParseTopic(t.Name)
		if err != nil {
			return err
		}
		renamed := to
		if name != o.Topic {
			renamed = to.WithPartition(name.Partition())
		}
		heads[t.ID] = renamed.String()
		p.add("rename", "topic", t.Name, "to %s, with %s", renamed, whole(t))
		return nil
	})
}

// rename writes everything that holds a topic's name anew, in one batch.
func (o *TopicOptions) rename(db *pebble.DB, to wire.TopicName, heads map[uint64]string) error {
	b := db.NewBatch()
	for id, name := range heads {
		v, closer, err := db.Get(key.ForTopic(id))
		if err != nil {
			return err
		}
		head, err := record.ParseTopic(v)
		if err != nil {
			return err
		}
		if err := closer.Close(); err != nil {
			return err
		}
		head.Name = name
		if err := b.Set(key.ForTopic(id), head.Append(nil), nil); err != nil {
			return err
		}
	}
	moves := [][2]string{}
	if o.Topic.Partition() < 0 {
		for _, kind := range []storage.Kind{storage.KindPartitioned, storage.KindTopicPolicies} {
			moves = append(moves, [2]string{string(key.ForResource(byte(kind), o.Topic.String())), string(key.ForResource(byte(kind), to.String()))})
		}
		schemas := byte(storage.KindSchemas)
		moves = append(moves, [2]string{string(key.ForResource(schemas, storage.SchemaSubject(o.Topic))), string(key.ForResource(schemas, storage.SchemaSubject(to)))})
	}
	for _, m := range moves {
		if err := move(db, b, []byte(m[0]), []byte(m[1])); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// move adds to b that a record, if there is one, gets another key.
func move(db *pebble.DB, b *pebble.Batch, from, to []byte) error {
	v, closer, err := db.Get(from)
	if err == pebble.ErrNotFound { //nolint:errorlint // it is given back as it is
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if err := b.Set(to, v, nil); err != nil {
		return err
	}
	return b.Delete(from, nil)
}
