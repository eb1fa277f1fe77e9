package inspect

import (
	"fmt"

	"spoolctl/inspect/decode"
	"spoolctl/storage"
	"spoolctl/wire"
)

// FormSchema is the payload form of DecodedBySchema.
const FormSchema = "schema"

// maxSubjects bounds how many topics' schemas are kept ready.
const maxSubjects = 256

// subject holds the decoders of one topic's schemas.
type subject struct {
	versions []storage.SchemaVersion
	ready    map[uint64]*decode.Schema
	err      error
}

// DecodedBySchema returns m with its payload as a value, read by the schema
// that the message names, or by the topic's newest one. A payload that cannot
// be read so is shown as text, or as base64 when it is not text, and the note
// says why.
func (s *Session) DecodedBySchema(m Message) (DecodedMessage, error) {
	d := DecodedMessage{MessageHead: m.MessageHead}
	if m.NullValue || m.Note != nil && m.Payload == nil {
		return d, nil
	}
	v, form, err := s.bySchema(m)
	if err == nil {
		d.Payload, d.Form = v, form
		return d, nil
	}
	form = "base64"
	if printable(m.Payload) {
		form = "text"
	}
	if d, err2 := m.Decoded(form); err2 != nil || m.Note != nil {
		return d, err2
	}
	d, _ = m.Decoded(form) // its forms are known
	d.Note = new(firstLine(err))
	return d, nil
}

func (s *Session) bySchema(m Message) (v any, form string, err error) {
	if m.Note != nil {
		return nil, "", fmt.Errorf("%s", *m.Note)
	}
	sub := s.subject(m.Topic)
	if sub.err != nil {
		return nil, "", sub.err
	}
	sc, err := sub.decoder(m.Schema)
	if err != nil {
		return nil, "", err
	}
	v, err = sc.Decode(m.Payload, m.rawKey)
	return v, sc.Type(), err
}

func (s *Session) subject(topic string) *subject {
	if sub := s.subjects[topic]; sub != nil {
		return sub
	}
	sub := &subject{ready: map[uint64]*decode.Schema{}}
	name, err := wire.ParseTopic(topic)
	if err == nil {
		sub.versions, err = s.spool.Schemas(storage.SchemaSubject(name))
	}
	if err != nil {
		sub.err = fmt.Errorf("the topic's schemas cannot be read: %w", err)
	}
	if s.subjects == nil || len(s.subjects) >= maxSubjects {
		s.subjects = map[string]*subject{}
	}
	s.subjects[topic] = sub
	return sub
}

// decoder returns the decoder of a version; nil is the newest.
func (sub *subject) decoder(version *uint64) (*decode.Schema, error) {
	for i := len(sub.versions) - 1; i >= 0; i-- {
		v := sub.versions[i]
		if v.Deleted || version != nil && *version != v.Version {
			continue
		}
		if d := sub.ready[v.Version]; d != nil {
			return d, nil
		}
		d, err := decode.New(v.Schema)
		if err != nil {
			return nil, fmt.Errorf("version %d: %w", v.Version, err)
		}
		sub.ready[v.Version] = d
		return d, nil
	}
	if version != nil {
		return nil, fmt.Errorf("version %d of the topic's schema is not in the spool", *version)
	}
	return nil, fmt.Errorf("the topic has no schema")
}
