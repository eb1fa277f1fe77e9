package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/inspect"
	"spoolctl/wire"
)

// entryBounds reads the flags that choose entries.
type entryBounds struct {
	f                      *factory
	from, to, since, until string
}

func (o *entryBounds) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&o.from, "from", "", "first position: ledger:entry or earliest")
	fl.StringVar(&o.to, "to", "", "last position: ledger:entry or latest")
	fl.StringVar(&o.since, "since", "", "published at this time or later: RFC 3339, a date, or an age such as 3h")
	fl.StringVar(&o.until, "until", "", "published before this time")
}

func (o *entryBounds) bounds() (b inspect.Bounds, err error) {
	position := func(flag, text string) (*wire.Position, error) {
		if text == "" {
			return nil, nil
		}
		p, err := wire.ParsePosition(text)
		if err != nil {
			return nil, &format.Error{Kind: format.ErrUsage, Msg: flag, Err: err}
		}
		return &p, nil
	}
	if b.From, err = position("--from", o.from); err != nil {
		return b, err
	}
	if b.To, err = position("--to", o.to); err != nil {
		return b, err
	}
	now := o.f.now()
	if o.since != "" {
		if b.Since, err = format.ParseTime(o.since, now); err != nil {
			return b, &format.Error{Kind: format.ErrUsage, Msg: "--since", Err: err}
		}
	}
	if o.until != "" {
		if b.Until, err = format.ParseTime(o.until, now); err != nil {
			return b, &format.Error{Kind: format.ErrUsage, Msg: "--until", Err: err}
		}
	}
	return b, nil
}

func newInspectEntries(o *inspectOptions) *cobra.Command {
	var sel selector
	bounds := entryBounds{f: o.f}
	cmd := o.verb("entries TOPIC...", "List stored entries with their metadata", 0, -1, func(ctx context.Context, s *inspect.Session, args []string) error {
		chosen, err := sel.selector(args)
		if err != nil {
			return err
		}
		b, err := bounds.bounds()
		if err != nil {
			return err
		}
		list, err := s.Entries(ctx, inspect.EntriesOptions{Selector: chosen, Bounds: b})
		if err != nil {
			return err
		}
		return printStream(o.f, list.Rows, format.ListOptions{Total: int(list.Total)})
	})
	sel.flags(cmd)
	bounds.flags(cmd)
	return cmd
}

// messageFlags are the flags of inspect messages.
type messageFlags struct {
	*inspectOptions
	sel        selector
	bounds     entryBounds
	pending    string
	key        string
	producer   string
	properties []string
	grep       string
	payload    string
}

func newInspectMessages(o *inspectOptions) *cobra.Command {
	m := &messageFlags{inspectOptions: o, bounds: entryBounds{f: o.f}, payload: "auto"}
	cmd := o.verb("messages TOPIC...", "List messages, batches unpacked", 0, -1, m.run)
	cmd.Example = "  spoolctl inspect messages orders --spool ./spool --pending billing --limit 10\n" +
		"  spoolctl inspect messages orders --spool ./spool --since 2h --grep 'order-4[0-9]' --payload json"
	m.sel.flags(cmd)
	m.bounds.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&m.pending, "pending", "", "exactly what this subscription would receive next, in order")
	fl.StringVar(&m.key, "key", "", "only messages with this key")
	fl.StringVar(&m.producer, "producer", "", "only messages of this producer")
	fl.StringArrayVar(&m.properties, "property", nil, "only messages with this property, NAME=VALUE (repeatable)")
	fl.StringVar(&m.grep, "grep", "", "only messages whose payload, key or properties match a regular expression")
	fl.Var(newChoice(&m.payload, append([]string{"auto", inspect.FormSchema}, inspect.PayloadForms()...)...), "payload",
		"how to show payloads; auto is a preview in tables, base64 in JSON; schema decodes by the topic's schema")
	return cmd
}

func (m *messageFlags) options(globs []string) (o inspect.MessagesOptions, err error) {
	o.Pending, o.Key, o.Producer = m.pending, m.key, m.producer
	if o.Selector, err = m.sel.selector(globs); err != nil {
		return o, err
	}
	if o.Bounds, err = m.bounds.bounds(); err != nil {
		return o, err
	}
	if o.Grep, err = expression("--grep", m.grep); err != nil {
		return o, err
	}
	for _, p := range m.properties {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return o, format.Usagef("--property %q: write NAME=VALUE", p)
		}
		if o.Properties == nil {
			o.Properties = map[string]string{}
		}
		o.Properties[k] = v
	}
	return o, nil
}

func (m *messageFlags) run(ctx context.Context, s *inspect.Session, args []string) error {
	o, err := m.options(args)
	if err != nil {
		return err
	}
	list, err := s.Messages(ctx, o)
	if err != nil {
		return err
	}
	lo := format.ListOptions{Finish: func(o *format.ListOptions) { o.Total = int(list.Total()) }}
	switch m.payload {
	case "auto":
		return printStream(m.f, list.Rows, lo)
	case inspect.FormSchema:
		return printStream(m.f, decodedRows(list.Rows, s.DecodedBySchema), lo)
	}
	form := func(row inspect.Message) (inspect.DecodedMessage, error) { return row.Decoded(m.payload) }
	return printStream(m.f, decodedRows(list.Rows, form), lo)
}

func decodedRows(rows iter.Seq2[inspect.Message, error], decode func(inspect.Message) (inspect.DecodedMessage, error)) iter.Seq2[inspect.DecodedMessage, error] {
	return func(yield func(inspect.DecodedMessage, error) bool) {
		for row, err := range rows {
			d, derr := decode(row)
			if !yield(d, errors.Join(err, derr)) {
				return
			}
		}
	}
}

func newInspectMessage(o *inspectOptions) *cobra.Command {
	return o.verb("message POSITION", "Show one entry in full, with a hexdump", 1, 1, func(ctx context.Context, s *inspect.Session, args []string) error {
		id, err := wire.ParseMessageID(args[0])
		if err != nil {
			return &format.Error{Kind: format.ErrUsage, Err: err}
		}
		m, err := s.Message(ctx, id)
		if err != nil {
			return err
		}
		if err := o.f.print(m); err != nil {
			return err
		}
		p, err := o.f.printer()
		if err != nil || !p.Human() {
			return err
		}
		parts := make([]format.Part, len(m.Parts))
		for i, part := range m.Parts {
			parts[i] = format.Part{Name: part.Name, Offset: part.Offset}
		}
		if _, err := fmt.Fprintln(o.f.io.out); err != nil {
			return format.OutputError(err)
		}
		return format.OutputError(format.Hexdump(o.f.io.out, m.Data, parts...))
	})
}
