package browse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/tui/common"
	"spoolctl/tui/component"
	"spoolctl/wire"

	tea "github.com/charmbracelet/bubbletea"
)

// mostShown bounds how many bytes of a payload, and of an entry as it is stored, are drawn.
const mostShown = 64 << 10

// message is the page of one message.
type message struct {
	job
	text
	row    inspect.Message
	full   *inspect.FullMessage
	loaded bool
}

func newMessage(b *base, row inspect.Message) *message {
	return &message{job: job{base: b}, row: row, text: text{component.NewPager(nil)}}
}

func (p *message) title() string { return "message " + p.row.ID }

func (p *message) start() tea.Cmd {
	return p.read("reading the message", func(ctx context.Context, s *inspect.Session) (func() tea.Cmd, error) {
		id, err := wire.ParseMessageID(p.row.ID)
		if err != nil {
			return nil, err
		}
		full, err := s.Message(ctx, id)
		if err != nil {
			return nil, err
		}
		decoded, err := s.DecodedBySchema(p.row)
		if err != nil {
			return nil, err
		}
		lines := lines(p.row, full, decoded)
		return func() tea.Cmd {
			p.full, p.text, p.loaded = full, text{component.NewPager(lines)}, true
			return nil
		}, nil
	})
}

func (p *message) ready() bool { return p.loaded }

func (p *message) line() []common.Key { return []common.Key{p.keys.Up, p.keys.Down} }

// selected implements page: the payload is copied, as it is.
func (p *message) selected() (text, what string) { return string(p.row.Payload), "the payload" }

func (p *message) document() (string, func(*format.Printer) error) {
	full := p.full
	return "message", func(out *format.Printer) error { return out.Object(full) }
}

// lines are the whole page: what the producer said, the payload, and the entry byte by byte.
func lines(m inspect.Message, full *inspect.FullMessage, decoded inspect.DecodedMessage) []string {
	var out []string
	fact := func(name, value string) {
		if value != "" {
			out = append(out, fmt.Sprintf("%-14s %s", name, value))
		}
	}
	time := func(name string, text string) {
		if text != format.Unknown {
			fact(name, text)
		}
	}
	optional := func(name string, s *string) {
		if s != nil {
			fact(name, format.Plain(*s))
		}
	}
	optional("NOTE", m.Note)
	fact("TOPIC", format.Plain(m.Topic))
	fact("PUBLISHED", moment(m.PublishTime))
	time("EVENT TIME", moment(m.EventTime))
	time("DELIVER AT", moment(m.DeliverAt))
	optional("PRODUCER", m.Producer)
	if m.SequenceID != nil {
		fact("SEQUENCE", fmt.Sprint(*m.SequenceID))
	}
	optional("KEY", m.Key)
	if len(m.OrderingKey) > 0 {
		fact("ORDERING KEY", format.Preview(m.OrderingKey))
	}
	optional("CHUNKS", m.Chunk)
	optional("TRANSACTION", m.Txn)
	if m.Schema != nil {
		fact("SCHEMA VERSION", fmt.Sprint(*m.Schema))
	}
	e := full.Entry
	entry := fmt.Sprintf("%s, %s, compression %s", e.Position, plural(int64(e.Messages), "message"), e.Compression)
	if e.Encrypted {
		entry += ", encrypted"
	}
	fact("ENTRY", entry)
	fact("CHECKSUM", fmt.Sprintf("%s; when it was stored: %s", e.Checksum, full.Stored))
	if len(m.Properties) > 0 {
		out = append(out, "", "PROPERTIES")
		for _, k := range slices.Sorted(maps.Keys(m.Properties)) {
			out = append(out, "  "+format.Plain(k)+" = "+format.Plain(m.Properties[k]))
		}
	}
	out = append(out, "")
	out = append(out, payloadLines(m, decoded)...)
	return append(out, entryLines(full)...)
}

// payloadLines show the payload as a value of its schema, as JSON, as text, or as bytes.
func payloadLines(m inspect.Message, decoded inspect.DecodedMessage) []string {
	head := "PAYLOAD, " + format.Size(int64(m.Size))
	if m.NullValue {
		return []string{head, "  (null)", ""}
	}
	var body string
	switch v := decoded.Payload.(type) {
	case string:
		body = v
		var indented bytes.Buffer
		if decoded.Form == "text" && json.Indent(&indented, m.Payload, "", "  ") == nil {
			body, decoded.Form = indented.String(), "json"
		}
	default:
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			text = []byte(err.Error())
		}
		body = string(text)
	}
	if decoded.Form == "base64" { // not text: the bytes say more
		var dump strings.Builder
		_ = format.Hexdump(&dump, m.Payload[:min(mostShown, len(m.Payload))]) // a strings.Builder takes everything
		body, decoded.Form = dump.String(), "bytes"
	}
	cut := len(body) > mostShown && decoded.Form != "bytes"
	if cut {
		body = strings.ToValidUTF8(body[:mostShown], "")
	}
	out := []string{head + ", as " + decoded.Form}
	for line := range strings.Lines(body) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
		out = append(out, "  "+format.Plain(line))
	}
	if cut || len(m.Payload) > mostShown {
		out = append(out, fmt.Sprintf("  … only the first %s are shown", format.Size(mostShown)))
	}
	return append(out, "")
}

// entryLines are the entry as it is stored, its parts named.
func entryLines(full *inspect.FullMessage) []string {
	shown := full.Data[:min(mostShown, len(full.Data))]
	parts := make([]format.Part, len(full.Parts))
	for i, p := range full.Parts {
		parts[i] = format.Part{Name: p.Name, Offset: p.Offset}
	}
	var dump strings.Builder
	_ = format.Hexdump(&dump, shown, parts...) // a strings.Builder takes everything
	out := append([]string{"ENTRY AS STORED, " + format.Size(int64(len(full.Data)))}, strings.Split(strings.TrimSuffix(dump.String(), "\n"), "\n")...)
	if len(shown) < len(full.Data) {
		out = append(out, fmt.Sprintf("… only the first %s are shown; see all with `spoolctl inspect message %s`", format.Size(mostShown), full.At))
	}
	return out
}
