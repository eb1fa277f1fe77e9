package inspect

import (
	"bytes"
	"context"
	"fmt"

	"spoolctl/inspect/damage"
	"spoolctl/storage"
	"spoolctl/wire"
)

// maxChunked bounds how many messages of a topic may be half read at a time.
const maxChunked = 1000

// joiner puts the chunks of large messages together again while the entries of
// one topic pass by. It keeps positions, not payloads: a message is read when
// its last chunk has come.
type joiner struct {
	s     *Session
	ctx   context.Context
	t     *storage.TopicView
	open  map[string]*chunked // by producer and uuid
	order []string            // the same, oldest first
	// folded counts the entries that are no row of their own: parts of a later
	// message, and chunks that were sent twice.
	folded *int64
}

// chunked is a message of which some chunks have passed by.
type chunked struct {
	at   []wire.Position
	want int32
	last Message // head of the newest chunk
}

func (s *Session) joiner(ctx context.Context, t *storage.TopicView, folded *int64) *joiner {
	return &joiner{s: s, ctx: ctx, t: t, open: map[string]*chunked{}, folded: folded}
}

// take notes a chunk. It returns the message that the chunk completes, or one
// that can not be completed any more; ok is false when there is none yet.
func (j *joiner) take(e storage.Entry, d *decoded) (m Message, ok bool) {
	meta := &d.meta
	id := string(meta.ProducerName) + "\x00" + string(meta.UUID)
	c := j.open[id]
	if c == nil {
		if len(j.order) >= maxChunked {
			m, ok = j.incomplete(j.order[0]), true
		}
		c = &chunked{want: meta.NumChunks}
		j.open[id], j.order = c, append(j.order, id)
	}
	if n := len(c.at); n > 0 && meta.ChunkID <= c.last.chunkID {
		*j.folded++ // sent twice
		return m, ok
	}
	c.at = append(c.at, e.Position)
	c.last = Message{MessageHead: MessageHead{ID: messageID(e.Position), Topic: j.t.Name, PublishTime: fromMillis(e.Header.PublishTime)}}
	c.last.entry(d)
	c.last.chunkID = meta.ChunkID
	c.last.rawKey = bytes.Clone(c.last.rawKey) // it may be given when the entry is gone
	switch {
	case meta.ChunkID < meta.NumChunks-1:
		return m, ok
	case int32(len(c.at)) == c.want:
		return j.join(id), true
	}
	return j.incomplete(id), true
}

// rest gives the messages that were not completed.
func (j *joiner) rest(give func(Message) bool) bool {
	for len(j.order) > 0 {
		if !give(j.incomplete(j.order[0])) {
			return false
		}
	}
	return true
}

func (j *joiner) close(id string) *chunked {
	c := j.open[id]
	delete(j.open, id)
	for i, o := range j.order {
		if o == id {
			j.order = append(j.order[:i], j.order[i+1:]...)
			break
		}
	}
	*j.folded += int64(len(c.at) - 1)
	return c
}

// incomplete is what is there of a message, and a note.
func (j *joiner) incomplete(id string) Message {
	c := j.close(id)
	m := c.last
	m.Chunk = new(fmt.Sprintf("%d of %d", len(c.at), c.want))
	m.Note = new(fmt.Sprintf("incomplete: %d of %d chunks are there, the first at %s; a consumer gets nothing of it", len(c.at), c.want, c.at[0]))
	return m
}

// join reads the chunks of a message. One that cannot be read makes it
// incomplete.
func (j *joiner) join(id string) Message {
	c := j.close(id)
	m := c.last
	m.Chunk = new(fmt.Sprintf("1-%d/%d from %s", c.want, c.want, c.at[0]))
	bad := func(why string) Message {
		m.Payload, m.Size, m.Note = nil, 0, &why
		j.s.problem(damage.Problem{What: fmt.Sprintf("%s: the message of the chunks %s to %s cannot be joined: %s", j.t.Name, c.at[0], m.ID, why)})
		return m
	}
	var meta wire.Metadata
	var whole []byte
	for _, p := range c.at {
		e, err := j.s.readAt(j.ctx, j.t, p)
		if err != nil {
			return bad(fmt.Sprintf("chunk %s cannot be read: %s", p, firstLine(err)))
		}
		d := decodeEntry(e)
		if d.err == nil {
			d.err = d.parts.Verify()
		}
		if d.err == nil && len(whole)+len(d.parts.Payload) > maxPayload {
			d.err = fmt.Errorf("more than %d bytes", maxPayload)
		}
		if d.err != nil {
			return bad(fmt.Sprintf("chunk %s: %s", p, firstLine(d.err)))
		}
		meta = d.meta
		whole = append(whole, d.parts.Payload...)
	}
	if meta.Encrypted {
		m.Payload, m.Size, m.Note = whole, len(whole), new("the payload is encrypted")
		return m
	}
	payload, err := wire.Decompress(&meta, whole, maxPayload)
	if err != nil {
		return bad(firstLine(err))
	}
	m.Payload, m.Size = payload, len(payload)
	return m
}

// messageID is the id of an entry that is no batch.
func messageID(p wire.Position) string {
	return wire.MessageID{Position: p, Partition: -1, Batch: -1}.String()
}
