package maintain

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"spoolctl/inspect/archive"
	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// ImportOptions are for Import.
type ImportOptions struct {
	Options
	From string // how the plan names the source
	// Open opens the archive, or the lines of JSON of one; it is called twice: all is read and checked before anything
	// changes.
	Open func() (io.ReadCloser, error)
}

// arrival is a topic that is imported.
type arrival struct {
	name    string
	ledgers []int64
	entries int64
	bytes   int64
	cursors int
	missing int64
	renew   bool // its ledgers get new ids: some of theirs are taken

	next, want int64 // of the ledger that is being read: the next entry, and how many it has
}

// take notes that the entries from first to last of the ledger have come.
func (a *arrival) take(first, last int64) error {
	if first != a.next || last >= a.want {
		return fmt.Errorf("%w: entry %d of %s comes where entry %d of %d is to come", archive.ErrDamaged, first, a.name, a.next, a.want)
	}
	a.next = last + 1
	return nil
}

// importPlan is what the first reading of an archive found out.
type importPlan struct {
	topics    []*arrival
	resources *Resources
	totals    archive.Totals
}

// Import adds the topics of an archive to a spool, with entries, positions, subscriptions, acknowledgements, schemas and
// the documents they need. Documents that the spool has stay. Positions stay unless the spool has a ledger with the same
// id; the plan says so then. A topic that is there already is an error.
func Import(ctx context.Context, o ImportOptions) (*Result, error) {
	o.Options = o.withDefaults()
	var plan *importPlan
	var puts []func(context.Context, *storage.Store) error
	return o.run(ctx, work{
		verb: "import",
		plan: func(ctx context.Context, p *Plan) (err error) {
			if plan, err = o.survey(ctx); err != nil {
				return err
			}
			return o.reading(func(s *storage.Spool) (err error) {
				puts, err = o.planImport(s, plan, p)
				return err
			})
		},
		apply: func(ctx context.Context, dir string) error {
			// It also records what an unclean stop left unrecorded, before records are added behind.
			err := o.onStore(func(ctx context.Context, s *storage.Store) error {
				for _, put := range puts {
					if err := put(ctx, s); err != nil {
						return err
					}
				}
				return nil
			})(ctx, dir)
			if err != nil {
				return err
			}
			return o.addTopics(ctx, dir, plan)
		},
	})
}

// partReader is an archive in either form.
type partReader interface {
	Next() (any, error)
	Totals() archive.Totals
}

// parts reads f as what it begins as.
func parts(f io.Reader) (r partReader, done func(), err error) {
	in := bufio.NewReader(f)
	if b, err := in.Peek(1); err == nil && b[0] == '{' {
		r, err := archive.NewLineReader(in)
		return r, func() {}, err
	}
	a, err := archive.NewReader(in)
	if err != nil {
		return nil, nil, err
	}
	return a, a.Close, nil
}

// each reads the archive once.
func (o *ImportOptions) each(ctx context.Context, do func(part any) error) (totals archive.Totals, err error) {
	f, err := o.Open()
	if err != nil {
		return totals, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, done, err := parts(f)
	if err != nil {
		return totals, fmt.Errorf("read %s: %w", o.From, err)
	}
	defer done()
	for {
		if err := ctx.Err(); err != nil {
			return totals, err
		}
		part, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Totals(), nil
		}
		if err == nil {
			if err = do(part); err == nil {
				continue
			}
			if lines, ok := r.(*archive.LineReader); ok {
				err = fmt.Errorf("line %d: %w", lines.Line(), err)
			}
		}
		return totals, fmt.Errorf("read %s: %w", o.From, err)
	}
}

// survey reads all of the archive and remembers what is in it.
func (o *ImportOptions) survey(ctx context.Context) (_ *importPlan, err error) {
	p := &importPlan{resources: &Resources{Schemas: map[string][]SchemaDoc{}}}
	byKind := map[storage.Kind]map[string]json.RawMessage{}
	for _, k := range p.resources.kinds() {
		*k.docs = map[string]json.RawMessage{}
		byKind[k.kind] = *k.docs
	}
	var t *arrival
	p.totals, err = o.each(ctx, func(part any) error {
		switch part.(type) {
		case *archive.Topic, *archive.Ledger, *archive.Cursor, *archive.Acks, *archive.Producer:
			if t != nil && t.next != t.want {
				return fmt.Errorf("%w: a ledger of %s has %d entries instead of %d", archive.ErrDamaged, t.name, t.next, t.want)
			}
		}
		if t == nil {
			switch part.(type) {
			case *archive.Ledger, *archive.Entry, *archive.Gap, *archive.Cursor, *archive.Acks, *archive.Producer:
				return fmt.Errorf("%w: a part of a topic stands before any topic", archive.ErrDamaged)
			}
		}
		switch v := part.(type) {
		case *archive.Resource:
			docs, ok := byKind[storage.Kind(v.Kind)]
			if !ok || !json.Valid(v.Value) {
				return fmt.Errorf("%w: a document of the unknown kind %q", archive.ErrDamaged, v.Kind)
			}
			docs[v.Path] = v.Value
		case *archive.Schema:
			p.resources.Schemas[v.Subject] = append(p.resources.Schemas[v.Subject],
				SchemaDoc{v.Version, v.Type, v.Name, v.Data, v.Properties, v.Timestamp, v.User, v.Deleted})
		case *archive.Topic:
			if n, err := wire.ParseTopic(v.Name); err != nil || n.String() != v.Name {
				return fmt.Errorf("%w: %q is no full topic name", archive.ErrDamaged, v.Name)
			}
			t = &arrival{name: v.Name}
			p.topics = append(p.topics, t)
		case *archive.Ledger:
			if n := len(t.ledgers); v.ID <= 0 || (n > 0 && v.ID <= t.ledgers[n-1]) || v.Entries < 0 {
				return fmt.Errorf("%w: ledger %d of %s does not follow the one before", archive.ErrDamaged, v.ID, t.name)
			}
			t.ledgers = append(t.ledgers, v.ID)
			t.next, t.want = 0, v.Entries
		case *archive.Entry:
			t.entries++
			t.bytes += int64(len(v.Data))
			return t.take(v.ID, v.ID)
		case *archive.Gap:
			t.missing += v.Last - v.First + 1
			return t.take(v.First, v.Last)
		case *archive.Cursor:
			t.cursors++
		}
		return nil
	})
	if err == nil && t != nil && t.next != t.want {
		err = fmt.Errorf("read %s: %w: the last ledger of %s has %d entries instead of %d", o.From, archive.ErrDamaged, t.name, t.next, t.want)
	}
	return p, err
}

// planImport compares what arrives with what is there.
func (o *ImportOptions) planImport(s *storage.Spool, a *importPlan, p *Plan) (puts []func(context.Context, *storage.Store) error, err error) {
	used, names := map[int64]bool{}, map[string]bool{}
	err = s.EachTopic(func(h storage.TopicHead) error {
		names[h.Name] = true
		t, err := s.Topic(h.ID)
		if err != nil {
			return err
		}
		for _, l := range slices.Concat(t.Ledgers, t.Compacted) {
			used[l.ID] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, g := range s.Meta().Garbage {
		used[g.Ledger] = true // its entries are still on disk
	}
	have, err := readResources(s)
	if err != nil {
		return nil, err
	}
	haveKinds := have.kinds()
	for i, k := range a.resources.kinds() {
		for path := range *k.docs {
			if _, there := (*haveKinds[i].docs)[path]; there {
				delete(*k.docs, path) // what the spool has stays
			}
		}
	}
	if puts, err = planLoad(s, a.resources, p); err != nil {
		return nil, err
	}
	for _, t := range a.topics {
		if names[t.name] {
			return nil, fmt.Errorf("%w: %s; rename or delete one of them", storage.ErrTopicExists, t.name)
		}
		names[t.name] = true
		t.renew = slices.ContainsFunc(t.ledgers, func(id int64) bool { return used[id] })
		detail := fmt.Sprintf("%d entries, %d bytes, %d subscriptions", t.entries, t.bytes, t.cursors)
		if t.missing > 0 {
			detail += fmt.Sprintf("; %d entries are missing in the archive", t.missing)
		}
		if t.renew {
			detail += "; its ledgers get new ids, as some of theirs are taken"
		}
		if !t.renew {
			for _, id := range t.ledgers {
				used[id] = true
			}
		}
		p.add("import", "topic", t.name, "%s", detail)
	}
	p.Need += a.totals.Bytes + a.totals.Bytes/4
	return puts, nil
}

// addTopics writes the topics into the staged spool in dir.
func (o *ImportOptions) addTopics(ctx context.Context, dir string, plan *importPlan) error {
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	if err != nil {
		return err
	}
	meta := s.Meta()
	if err := s.Close(); err != nil {
		return err
	}
	po := engine()
	po.DisableWAL = true // everything is flushed before anybody relies on it
	db, err := pebble.Open(storeDir(dir), po)
	if err != nil {
		return err
	}
	im := newImporter(o, db, meta, plan)
	_, err = o.each(ctx, im.part)
	if err == nil {
		err = im.end()
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	m := &mender{o: &o.Options, dir: dir, only: im.made}
	return m.mend(ctx)
}
