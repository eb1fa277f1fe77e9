package maintain

import (
	"context"
	"fmt"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"
)

// CursorOptions say which cursor a verb is about.
type CursorOptions struct {
	Options
	Topic        wire.TopicName
	Subscription string
}

// cursorWork is one verb of cursors: what it says of the cursor as it is, and what it does to it.
type cursorWork struct {
	verb   string
	action string
	detail func(ctx context.Context, t *storage.TopicView, c *storage.CursorState) (string, error)
	apply  func(ctx context.Context, t *storage.Topic, c *storage.Cursor) error
}

func (o CursorOptions) run(ctx context.Context, w cursorWork) (*Result, error) {
	return o.Options.run(ctx, work{
		verb: w.verb,
		plan: func(ctx context.Context, p *Plan) error {
			return o.withCursor(func(t *storage.TopicView, c *storage.CursorState) error {
				detail, err := w.detail(ctx, t, c)
				if err == nil {
					p.add(w.action, "cursor", o.name(), "%s", detail)
				}
				return err
			})
		},
		apply: o.onTopic(o.Topic, func(ctx context.Context, t *storage.Topic) error {
			c := t.Cursor(o.Subscription)
			if c == nil {
				return fmt.Errorf("%w: %s", storage.ErrCursorNotFound, o.name())
			}
			return w.apply(ctx, t, c)
		}),
	})
}

func (o CursorOptions) name() string { return o.Subscription + " of " + o.Topic.String() }

// withCursor reads the cursor as it is.
func (o CursorOptions) withCursor(use func(t *storage.TopicView, c *storage.CursorState) error) error {
	return o.withTopic(o.Topic, func(t *storage.TopicView) error {
		c := t.Cursor(o.Subscription)
		if c == nil {
			return fmt.Errorf("%w: %s", storage.ErrCursorNotFound, o.name())
		}
		return use(t, c)
	})
}

func (o *Options) withTopic(name wire.TopicName, use func(t *storage.TopicView) error) error {
	return o.reading(func(s *storage.Spool) error {
		t, err := s.TopicByName(name)
		if err != nil {
			return err
		}
		return use(t)
	})
}

// onTopic makes an apply of a change of one topic. Nothing is trimmed behind its back: the policies that decide are the
// broker's to set.
func (o *Options) onTopic(name wire.TopicName, change func(ctx context.Context, t *storage.Topic) error) func(context.Context, string) error {
	return o.onStore(func(ctx context.Context, s *storage.Store) error {
		t, err := s.OpenTopic(ctx, name, noSink{})
		if err != nil {
			return err
		}
		t.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
		return change(ctx, t)
	})
}

// noSink is the sink of topics that nothing is appended to.
type noSink struct{}

// Committed implements storage.Sink.
func (noSink) Committed([]storage.Appended, error) {}

// Target is where a cursor goes: a position, or the first entry published at Time or later.
type Target struct {
	Position wire.Position
	Time     time.Time // zero: Position counts
}

func (t Target) String() string {
	switch {
	case !t.Time.IsZero():
		return t.Time.UTC().Format(time.RFC3339)
	case t.Position == wire.Earliest():
		return "earliest"
	case t.Position == wire.Latest():
		return "latest"
	}
	return t.Position.String()
}

// resolve gives the position of the next entry to be delivered.
func (t Target) resolve(ctx context.Context, v *storage.TopicView) (wire.Position, error) {
	if t.Time.IsZero() {
		return v.Ledgers.Normal(t.Position), nil
	}
	return v.SeekTime(ctx, t.Time.UnixMilli())
}

// SetCursor moves a cursor so that the next entry delivered is the first one at or after the target, and forgets what was
// acknowledged beyond.
func SetCursor(ctx context.Context, o CursorOptions, to Target) (*Result, error) {
	var next wire.Position
	return o.run(ctx, cursorWork{
		verb: "cursor-set", action: "move",
		detail: func(ctx context.Context, t *storage.TopicView, c *storage.CursorState) (_ string, err error) {
			if next, err = to.resolve(ctx, t); err != nil {
				return "", err
			}
			end := t.Ledgers.End()
			left := end.Entries - t.Ledgers.Index(t.Ledgers.Prev(next))
			return fmt.Sprintf("to %s: the next entry becomes %s instead of %s, the backlog %d entries instead of %d; %d acknowledged entries behind are forgotten",
				to, next, c.NextUnacked(t.Ledgers, wire.Earliest()), left, t.Backlog(c).Entries, c.Acks.Entries()), nil
		},
		apply: func(ctx context.Context, _ *storage.Topic, c *storage.Cursor) error { return c.Seek(ctx, next) },
	})
}

// SkipCursor acknowledges the next n messages that are not acknowledged.
func SkipCursor(ctx context.Context, o CursorOptions, n int64) (*Result, error) {
	return o.run(ctx, cursorWork{
		verb: "cursor-skip", action: "skip",
		detail: func(_ context.Context, t *storage.TopicView, c *storage.CursorState) (string, error) {
			b := t.Backlog(c)
			return fmt.Sprintf("%d of the %d messages that wait, from %s on", min(n, b.Messages), b.Messages, c.NextUnacked(t.Ledgers, wire.Earliest())), nil
		},
		apply: func(ctx context.Context, _ *storage.Topic, c *storage.Cursor) error {
			_, err := c.Skip(ctx, n)
			return err
		},
	})
}

// ClearCursor acknowledges everything that is stored.
func ClearCursor(ctx context.Context, o CursorOptions) (*Result, error) {
	return o.run(ctx, cursorWork{
		verb: "cursor-clear", action: "clear",
		detail: func(_ context.Context, t *storage.TopicView, c *storage.CursorState) (string, error) {
			b := t.Backlog(c)
			return fmt.Sprintf("%d entries, %d messages, %d bytes are acknowledged unread", b.Entries, b.Messages, b.Bytes), nil
		},
		apply: func(ctx context.Context, _ *storage.Topic, c *storage.Cursor) error { return c.Clear(ctx) },
	})
}

// DeleteCursor deletes a cursor and forgets what it has not read.
func DeleteCursor(ctx context.Context, o CursorOptions) (*Result, error) {
	return o.run(ctx, cursorWork{
		verb: "cursor-delete", action: "delete",
		detail: func(_ context.Context, t *storage.TopicView, c *storage.CursorState) (string, error) {
			b := t.Backlog(c)
			return fmt.Sprintf("%d entries, %d messages wait in it", b.Entries, b.Messages), nil
		},
		apply: func(ctx context.Context, t *storage.Topic, c *storage.Cursor) error {
			return t.DeleteCursor(ctx, c.Name())
		},
	})
}
