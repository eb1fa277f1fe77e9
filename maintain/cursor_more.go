package maintain

import (
	"context"
	"fmt"
	"strings"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/storage/record"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// AckCursor acknowledges single messages: whole entries, or of a batch the one message that the id names.
func AckCursor(ctx context.Context, o CursorOptions, ids []wire.MessageID) (*Result, error) {
	return o.Options.run(ctx, work{
		verb: "cursor-ack",
		plan: func(ctx context.Context, p *Plan) error {
			return o.withCursor(func(t *storage.TopicView, c *storage.CursorState) error {
				for _, id := range ids {
					e, err := t.ReadAt(ctx, id.Position)
					if err != nil {
						return err
					}
					if id.Batch >= e.Header.Messages {
						return fmt.Errorf("%s: the entry has %d messages", id, e.Header.Messages)
					}
					if c.Acked(id.Position) {
						continue
					}
					p.add("acknowledge", "message", id.String(), "for %s: %d bytes, published %s", o.name(), len(e.Data), toTime(e.Header.PublishTime))
				}
				return nil
			})
		},
		apply: o.onTopic(o.Topic, func(ctx context.Context, t *storage.Topic) error {
			c := t.Cursor(o.Subscription)
			if c == nil {
				return fmt.Errorf("%w: %s", storage.ErrCursorNotFound, o.name())
			}
			for _, id := range ids {
				a, err := ack(ctx, t, id)
				if err != nil {
					return err
				}
				if err := c.Ack([]storage.Ack{a}, nil); err != nil {
					return err
				}
			}
			return c.Flush(ctx)
		}),
	})
}

// ack makes the acknowledgement of an id.
func ack(ctx context.Context, t *storage.Topic, id wire.MessageID) (storage.Ack, error) {
	e, err := t.ReadAt(ctx, id.Position)
	if err != nil {
		return storage.Ack{}, err
	}
	a := storage.Ack{Position: id.Position, Messages: e.Header.Messages, Bytes: int64(len(e.Data))}
	if id.Batch >= 0 && e.Header.Messages > 1 {
		a.Remaining = make([]uint64, (e.Header.Messages+63)/64)
		for i := range a.Remaining {
			a.Remaining[i] = ^uint64(0)
		}
		a.Remaining[id.Batch/64] &^= 1 << (id.Batch % 64)
	}
	return a, nil
}

// CreateCursor makes a cursor whose next entry is the first one at or after the target.
func CreateCursor(ctx context.Context, o CursorOptions, at Target, properties map[string]string) (*Result, error) {
	var mark wire.Position
	return o.Options.run(ctx, work{
		verb: "cursor-create",
		plan: func(ctx context.Context, p *Plan) error {
			return o.withTopic(o.Topic, func(t *storage.TopicView) error {
				if t.Cursor(o.Subscription) != nil {
					return fmt.Errorf("%w: %s", storage.ErrCursorExists, o.name())
				}
				next, err := at.resolve(ctx, t)
				if err != nil {
					return err
				}
				mark = t.Ledgers.Prev(next)
				p.add("create", "cursor", o.name(), "at %s: its next entry is %s, %d entries wait in it", at, next, t.Ledgers.End().Entries-t.Ledgers.Index(mark))
				return nil
			})
		},
		apply: o.onTopic(o.Topic, func(ctx context.Context, t *storage.Topic) error {
			_, err := t.CreateCursor(ctx, storage.CursorOptions{Name: o.Subscription, MarkDelete: mark, Durable: true, Properties: properties})
			return err
		}),
	})
}

// RenameCursor gives a cursor another name; its position and acknowledgements stay.
func RenameCursor(ctx context.Context, o CursorOptions, to string) (*Result, error) {
	var topic, cursor uint64
	return o.Options.run(ctx, work{
		verb: "cursor-rename",
		plan: func(_ context.Context, p *Plan) error {
			if strings.TrimSpace(to) == "" {
				return fmt.Errorf("%w: %q", storage.ErrBadName, to)
			}
			return o.withCursor(func(t *storage.TopicView, c *storage.CursorState) error {
				if t.Cursor(to) != nil {
					return fmt.Errorf("%w: %s of %s", storage.ErrCursorExists, to, o.Topic)
				}
				topic, cursor = t.ID, c.ID
				p.add("rename", "cursor", o.name(), "to %s; clients must subscribe as %s from now on", to, to)
				return nil
			})
		},
		apply: onDB(func(_ context.Context, db *pebble.DB) error {
			return edit(db, key.ForCursor(topic, cursor), func(v []byte) ([]byte, error) {
				c, err := record.ParseCursor(v)
				c.Name = to
				return c.Append(nil), err
			})
		}),
	})
}

// edit replaces one record, durably.
func edit(db *pebble.DB, k []byte, change func(v []byte) ([]byte, error)) error {
	v, closer, err := db.Get(k)
	if err != nil {
		return fmt.Errorf("read %s: %w", key.Format(k), err)
	}
	v, err = change(v)
	if cerr := closer.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", key.Format(k), err)
	}
	return db.Set(k, v, pebble.Sync)
}
