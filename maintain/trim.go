package maintain

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/policy"
	"spoolctl/wire"
)

// TrimOptions are for Trim.
type TrimOptions struct {
	Options
	Topics []string // names or patterns (* and ? stay inside one part of the name); none is all
}

// trimTopic is what a run does to one topic.
type trimTopic struct {
	name   wire.TopicName
	policy policy.Stay
	expire map[string]wire.Position // by cursor: the entry up to which everything is too old
}

// Trim expires messages by their time to live and removes the ledgers that no cursor needs and retention does not keep.
func Trim(ctx context.Context, o TrimOptions) (*Result, error) {
	o.Options = o.withDefaults()
	var todo []trimTopic
	return o.Options.run(ctx, work{
		verb: "trim",
		plan: func(ctx context.Context, p *Plan) (err error) {
			todo, err = o.planTrim(ctx, p)
			return err
		},
		apply: reclaiming(o.onStore(func(ctx context.Context, s *storage.Store) error {
			for i, t := range todo {
				o.Progress(Progress{"topics trimmed", int64(i), int64(len(todo))})
				if err := trimOne(ctx, s, t); err != nil {
					return fmt.Errorf("trim %s: %w", t.name, err)
				}
			}
			return nil
		})),
	})
}

func trimOne(ctx context.Context, s *storage.Store, todo trimTopic) error {
	t, err := s.OpenTopic(ctx, todo.name, noSink{})
	if err != nil {
		return err
	}
	t.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	for name, at := range todo.expire {
		c := t.Cursor(name)
		if err := c.AckCumulative(storage.Ack{Position: at}, nil, nil); err != nil {
			return err
		}
		if err := c.Flush(ctx); err != nil {
			return err
		}
	}
	t.SetTrimPolicy(todo.policy.Trim)
	if _, err := t.Trim(ctx); err != nil {
		return err
	}
	return t.Close(ctx)
}

func (o *TrimOptions) planTrim(ctx context.Context, p *Plan) (todo []trimTopic, err error) {
	err = o.reading(func(s *storage.Spool) error {
		var heads []storage.TopicHead
		err := s.EachTopic(func(h storage.TopicHead) error {
			heads = append(heads, h)
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortFunc(heads, func(a, b storage.TopicHead) int { return strings.Compare(a.Name, b.Name) })
		found := false
		for _, h := range heads {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(o.Topics) > 0 && !slices.ContainsFunc(o.Topics, func(glob string) bool { return matches(glob, h.Name) }) {
				continue
			}
			found = true
			t, err := s.Topic(h.ID)
			if err != nil {
				return err
			}
			one, changes, err := o.planTopic(ctx, s, t, p)
			if err != nil {
				return err
			}
			if changes {
				todo = append(todo, one)
			}
		}
		if !found && len(o.Topics) > 0 {
			return fmt.Errorf("%w: %s", storage.ErrTopicNotFound, strings.Join(o.Topics, ", "))
		}
		return nil
	})
	return todo, err
}

// planTopic adds to p what is done to t and what stays, with reasons.
func (o *TrimOptions) planTopic(ctx context.Context, s *storage.Spool, t *storage.TopicView, p *Plan) (todo trimTopic, changes bool, err error) {
	if todo.name, err = wire.ParseTopic(t.Name); err != nil {
		return todo, false, err
	}
	docs, err := policy.Of(s, todo.name)
	if err == nil {
		todo.policy, err = docs.Stay()
	}
	if err != nil {
		return todo, false, fmt.Errorf("policies of %s: %w", todo.name, err)
	}
	before := len(p.Actions)
	if err := o.planExpiry(ctx, t, &todo, p); err != nil {
		return todo, false, err
	}
	// What expires moves cursors, and so changes what may go.
	for i, tr := range t.Trimmable(todo.policy.Trim, o.Now()) {
		if l := t.Ledgers[i]; tr.OK {
			p.add("remove", "ledger", fmt.Sprint(l.ID), "of %s: %d entries, %d bytes; %s", t.Name, l.Entries, l.Bytes, tr.Reason)
		}
	}
	return todo, len(p.Actions) > before, nil
}

func (o *TrimOptions) planExpiry(ctx context.Context, t *storage.TopicView, todo *trimTopic, p *Plan) error {
	if todo.policy.TTL <= 0 {
		return nil
	}
	limit := o.Now().Add(-todo.policy.TTL)
	first, err := t.SeekTime(ctx, limit.UnixMilli())
	if err != nil {
		return err
	}
	last := t.Ledgers.Prev(first)
	for _, c := range t.Cursors {
		next := c.NextUnacked(t.Ledgers, wire.Earliest())
		if !next.Less(first) {
			continue
		}
		if todo.expire == nil {
			todo.expire = map[string]wire.Position{}
		}
		todo.expire[c.Name] = last
		p.add("expire", "cursor", c.Name+" of "+t.Name, "entries %s to %s were published before %s and live for %s only",
			next, last, limit.UTC().Format(time.RFC3339), todo.policy.TTL)
		c.MarkDelete = last // in this copy of the state only
	}
	return nil
}

// matches reports whether a full topic name is meant by a name or pattern. A partitioned topic's name means its partitions.
func matches(glob, full string) bool {
	if strings.ContainsAny(glob, "*?") {
		if glob == "*" {
			return true
		}
		if !strings.Contains(glob, "://") {
			if !strings.Contains(glob, "/") {
				glob = "public/default/" + glob
			}
			glob = wire.Persistent.String() + "://" + glob
		}
		ok, err := path.Match(glob, full)
		return err == nil && ok
	}
	want, err := wire.ParseTopic(glob)
	if err != nil {
		return false
	}
	got, err := wire.ParseTopic(full)
	return err == nil && (got == want || got.Base() == want)
}
