package inspect

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"spoolctl/inspect/archive"
	"spoolctl/storage"
	"spoolctl/wire"
)

// ExportOptions are for Session.Export.
type ExportOptions struct {
	Selector
	// Everything exports all topics, with tenants, namespaces and settings that
	// no topic needs.
	Everything bool
	Program    string // who writes, for the archive's header
	// Progress, when not nil, is called now and then with the payload bytes that
	// are done.
	Progress func(what string, done, total int64)
}

// Export writes the chosen topics with all that belongs to them to an archive,
// exactly: positions, acknowledgements, schemas, resources. What cannot be read
// is a gap in the archive, and a problem of the session.
func (s *Session) Export(ctx context.Context, w io.Writer, o ExportOptions) (archive.Totals, error) {
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return archive.Totals{}, err
	}
	a, err := archive.NewWriter(w, archive.Header{Spool: s.source.UUID, Written: s.o.Now().UTC(), Program: o.Program})
	if err != nil {
		return archive.Totals{}, err
	}
	x := &exporter{s: s, ctx: ctx, o: o, w: a}
	for _, t := range views {
		x.total += t.Stats().Bytes
	}
	if err := x.all(views); err != nil {
		a.Abort()
		return a.Totals(), err
	}
	return a.Totals(), a.Close()
}

type exporter struct {
	s           *Session
	ctx         context.Context
	o           ExportOptions
	w           *archive.Writer
	done, total int64
}

func (x *exporter) all(views []*storage.TopicView) error {
	if err := x.resources(views); err != nil {
		return err
	}
	for _, t := range views {
		if err := x.topic(t); err != nil {
			return err
		}
	}
	return nil
}

// needed are the resources that topics need, by kind and path.
func needed(views []*storage.TopicView) map[storage.Kind]map[string]bool {
	need := map[storage.Kind]map[string]bool{
		storage.KindTenant: {}, storage.KindNamespace: {}, storage.KindPartitioned: {}, storage.KindTopicPolicies: {}, storage.KindSchemas: {},
	}
	for _, t := range views {
		need[storage.KindTopicPolicies][t.Name] = true
		n, err := wire.ParseTopic(t.Name)
		if err != nil {
			continue
		}
		need[storage.KindTenant][n.NamespaceName().Tenant] = true
		need[storage.KindNamespace][n.NamespaceName().String()] = true
		need[storage.KindPartitioned][n.Base().String()] = true
		need[storage.KindTopicPolicies][n.Base().String()] = true
		need[storage.KindSchemas][storage.SchemaSubject(n)] = true
	}
	return need
}

// resources writes documents and schemas.
func (x *exporter) resources(views []*storage.TopicView) error {
	need := needed(views)
	for _, kind := range []storage.Kind{storage.KindSettings, storage.KindTenant, storage.KindNamespace, storage.KindPartitioned, storage.KindTopicPolicies, storage.KindSchemas} {
		paths, err := x.s.spool.ResourcePaths(kind, "")
		if err != nil {
			return err
		}
		for _, path := range paths {
			if !x.o.Everything && !need[kind][path] {
				continue
			}
			if kind == storage.KindSchemas {
				err = x.schemas(path)
			} else {
				var value json.RawMessage
				if _, err = x.s.spool.Resource(kind, path, &value); err == nil {
					err = x.w.Resource(archive.Resource{Kind: byte(kind), Path: path, Value: value})
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *exporter) schemas(subject string) error {
	versions, err := x.s.spool.Schemas(subject)
	if err != nil {
		return err
	}
	for _, v := range versions {
		err := x.w.Schema(archive.Schema{
			Subject: subject, Version: v.Version, Type: v.Type, Name: v.Name, Data: v.Data, Properties: v.Properties,
			Timestamp: v.Timestamp, User: v.User, Deleted: v.Deleted,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) topic(t *storage.TopicView) error {
	err := x.w.Topic(archive.Topic{Name: t.Name, Created: t.Created, Terminated: t.Terminated, Last: t.Last, Properties: t.Properties})
	for _, l := range t.Ledgers {
		if err == nil {
			err = x.ledger(t, l)
		}
	}
	for _, c := range t.Cursors {
		if err == nil {
			err = x.cursor(c)
		}
	}
	for _, name := range sortedKeys(t.Producers) {
		if p := t.Producers[name]; err == nil {
			err = x.w.Producer(archive.Producer{Name: name, Sequence: p.Sequence, Chunked: p.Chunked, Chunk: p.Chunk, LastUse: p.LastUse})
		}
	}
	return err
}

func (x *exporter) ledger(t *storage.TopicView, l *storage.Ledger) error {
	err := x.w.Ledger(archive.Ledger{
		ID: l.ID, Entries: l.Entries, Messages: l.Messages, Bytes: l.Bytes, Created: l.Created, Closed: l.Closed,
		FirstPublish: l.FirstPublish, LastPublish: l.LastPublish, StartEntries: l.StartEntries, StartMessages: l.StartMessages, StartBytes: l.StartBytes,
	})
	if err != nil || l.Entries == 0 {
		return err
	}
	next := int64(0) // entry
	gap := func(to int64) error {
		if next >= to {
			return nil
		}
		return x.w.Gap(archive.Gap{First: next, Last: to - 1, Why: "could not be read when the archive was written"})
	}
	from, to := wire.Position{Ledger: l.ID}, wire.Position{Ledger: l.ID, Entry: l.Entries}
	err = x.s.walk(x.ctx, t, from, to, func(e storage.Entry) (bool, error) {
		if err := gap(e.Position.Entry); err != nil {
			return false, err
		}
		next = e.Position.Entry + 1
		if x.done += int64(len(e.Data)); x.o.Progress != nil && next%256 == 0 {
			x.o.Progress("bytes", x.done, x.total)
		}
		return true, x.w.Entry(archive.Entry{ID: e.Position.Entry, PublishTime: e.Header.PublishTime, Messages: e.Header.Messages,
			Checksum: uint8(e.Header.Checksum), Data: e.Data})
	})
	if err == nil {
		err = gap(l.Entries)
	}
	return err
}

func (x *exporter) cursor(c *storage.CursorState) error {
	err := x.w.Cursor(archive.Cursor{Name: c.Name, MarkDelete: c.MarkDelete, Created: c.Created, LastActive: c.LastActive, Properties: c.Properties, Positions: c.Positions})
	for _, id := range c.Acks.Ledgers() {
		if err != nil {
			return err
		}
		h := c.Acks.Holes(id)
		a := archive.Acks{Ledger: id}
		for it := h.Acked.Iterator(); it.HasNext(); {
			n := int64(it.Next())
			if k := len(a.Ranges); k > 0 && a.Ranges[k-1][1] == n-1 {
				a.Ranges[k-1][1] = n
				continue
			}
			a.Ranges = append(a.Ranges, [2]int64{n, n})
		}
		for e, p := range h.Partials {
			if a.Partials == nil {
				a.Partials = map[int64]archive.Partial{}
			}
			a.Partials[int64(e)] = archive.Partial{Size: p.Size, Words: p.Words}
		}
		err = x.w.Acks(a)
	}
	return err
}

// FileName is where a message's payload goes in an export of files, relative
// to its topic's folder.
func FileName(m MessageHead) string { return strings.ReplaceAll(m.ID, ":", "-") + ".payload" }
