package inspect

import (
	"context"
	"errors"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/wire"
)

// unpacker gives the messages of one topic's entries that pass the options.
type unpacker struct {
	s       *Session
	t       *storage.TopicView
	o       MessagesOptions
	chunks  *joiner
	ahead   *ahead // nil: nothing is searched, so that every message is given
	yield   func(Message, error) bool
	stopped bool // nobody wants more
}

// found is a message of an entry, and what is wrong with the entry.
type found struct {
	m      Message
	bad    *damage.Problem // nil: nothing
	passes bool
}

// unpack gives the messages of the entries that walk visits, and reports
// whether to go on with another topic.
func (s *Session) unpack(ctx context.Context, t *storage.TopicView, o MessagesOptions, out *Messages, yield func(Message, error) bool, walk func(*unpacker) error) bool {
	u := &unpacker{s: s, t: t, o: o, chunks: s.joiner(ctx, t, &out.folded), yield: yield}
	if !o.Filter.empty() {
		u.ahead = newAhead(u, s.o.Memory)
		defer u.ahead.close()
	}
	if err := walk(u); err != nil {
		yield(Message{}, err)
		return false
	}
	return u.settle() && u.chunks.rest(u.giveJoined)
}

// walk visits all that may be in the bounds.
func (u *unpacker) walk(ctx context.Context) error {
	for _, sp := range u.o.spans(u.t) {
		each := func(e storage.Entry) (bool, error) { return u.entry(storage.PendingEntry{Entry: e}), nil }
		if err := u.s.walkSettled(ctx, u.t, sp.from, sp.to, each, u.settle); err != nil || u.stopped {
			return err
		}
	}
	return nil
}

// walkPending visits what a cursor would receive inside the bounds.
func (u *unpacker) walkPending(ctx context.Context, c *storage.CursorState) error {
	for _, sp := range u.o.spans(u.t) {
		each := func(e storage.PendingEntry) bool { return e.Position.Less(sp.to) && u.entry(e) }
		if err := u.s.walkPending(ctx, u.t, c, sp.from, each, u.settle); err != nil || u.stopped {
			return err
		}
	}
	return nil
}

// entry gives the messages of an entry, at once or later in their order; its
// data need not stay. Where Remaining is not nil, it has a bit for each message
// of the batch that is wanted. It reports whether to go on.
func (u *unpacker) entry(e storage.PendingEntry) bool {
	if u.ahead != nil {
		return u.ahead.add(e)
	}
	return u.now(e)
}

// settle gives what was put off, and reports whether to go on.
func (u *unpacker) settle() bool {
	return !u.stopped && (u.ahead == nil || u.ahead.settle())
}

// now is entry at once.
func (u *unpacker) now(e storage.PendingEntry) bool {
	d := decodeEntry(e.Entry)
	if d.chunk() {
		m, ok := u.chunks.take(e.Entry, &d)
		return !ok || u.giveJoined(m)
	}
	for f := range u.look(e, &d) {
		if !u.give(f) {
			return false
		}
	}
	return true
}

// look takes apart an entry that is no chunk. It may run beside others.
func (u *unpacker) look(e storage.PendingEntry, d *decoded) func(yield func(found) bool) {
	return func(yield func(found) bool) {
		if !u.o.inTime(e.Header.PublishTime) || !u.o.entry(d) {
			return
		}
		for m, bad := range messagesOf(u.t.Name, e.Entry, d, e.Remaining) {
			if !yield(found{m, bad, u.passes(&m)}) {
				return
			}
		}
	}
}

func (u *unpacker) passes(m *Message) bool {
	return u.o.inTime(m.PublishTime.UnixMilli()) && u.o.Filter.Match(m)
}

func (u *unpacker) giveJoined(m Message) bool { return u.give(found{m: m, passes: u.passes(&m)}) }

func (u *unpacker) give(f found) bool {
	if f.bad != nil {
		u.s.problem(*f.bad)
	}
	if f.passes && !u.yield(f.m, nil) {
		u.stopped = true
	}
	return !u.stopped
}

// How much is read at a time for a cursor.
const (
	pendingEntries = 64
	pendingBytes   = 1 << 20
)

// walkPending calls each for what a cursor would receive, stepping over
// entries that cannot be read. Before it notes one, it calls settle, and ends
// when that wants no more.
func (s *Session) walkPending(ctx context.Context, t *storage.TopicView, c *storage.CursorState, from wire.Position, each func(storage.PendingEntry) bool, settle func() bool) error {
	at := pendingEntries
	for {
		got, next, err := t.Pending(ctx, c, from, at, pendingBytes, nil)
		bad, away := new(storage.CorruptError), new(storage.OffloadedError)
		switch {
		case err == nil:
			at = pendingEntries
		case errors.As(err, &away):
			if !settle() {
				return nil
			}
			from = s.skipOffloaded(t, away)
			continue
		case !errors.As(err, &bad) || bad.Topic == "" || bad.Position.Less(from):
			return err
		case at > 1:
			at = 1 // one at a time up to the damage
			continue
		case !settle():
			return nil
		default:
			next = s.skip(t, bad.Position, bad.Cause)
			if !bad.Position.Less(next) {
				return nil
			}
		}
		for _, e := range got {
			if !each(e) {
				return nil
			}
		}
		if err == nil && len(got) == 0 {
			return nil
		}
		from = next
	}
}
