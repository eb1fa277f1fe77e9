package maintain

import (
	"bytes"
	"context"
	"fmt"

	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
)

// CompactOptions are for Compact.
type CompactOptions struct {
	Options
	Family string          // only this family of records, by name; empty: all
	Topic  *wire.TopicName // only what belongs to this topic; nil: all
}

// span is a range of keys, [lower, upper).
type span struct{ lower, upper []byte }

// Compact rewrites tables so that what is deleted takes no space and reads look into few tables.
func Compact(ctx context.Context, o CompactOptions) (*Result, error) {
	o.Options = o.withDefaults()
	var spans []span
	return o.run(ctx, work{
		verb: "compact",
		plan: func(_ context.Context, p *Plan) (err error) {
			spans, err = o.plan(p)
			return err
		},
		apply: reclaiming(onDB(func(ctx context.Context, db *pebble.DB) error {
			for i, s := range spans {
				o.Progress(Progress{"ranges compacted", int64(i), int64(len(spans))})
				if err := db.Compact(ctx, s.lower, s.upper, true); err != nil {
					return err
				}
			}
			o.Progress(Progress{"ranges compacted", int64(len(spans)), int64(len(spans))})
			return nil
		})),
	})
}

func (o *CompactOptions) plan(p *Plan) (spans []span, err error) {
	all, _, err := size(o.Dir)
	if err != nil {
		return nil, err
	}
	p.Need = all // every table may be there twice for a while
	if o.Topic != nil {
		return o.planTopic(p)
	}
	for _, f := range key.Families() {
		if o.Family != "" && o.Family != f.String() {
			continue
		}
		lower, upper := f.Bounds()
		spans = append(spans, span{lower, upper})
	}
	if len(spans) == 0 {
		return nil, fmt.Errorf("%w: there is no family %q", storage.ErrBadName, o.Family)
	}
	return spans, o.reading(func(s *storage.Spool) error {
		for _, sp := range spans {
			bytes, err := s.DB().EstimateDiskUsage(sp.lower, sp.upper)
			if err != nil {
				return err
			}
			if bytes > 0 {
				p.add("compact", "family", key.Family(sp.lower[0]).String(), "%d bytes in tables", bytes)
			}
		}
		return nil
	})
}

// planTopic finds the ranges of one topic, or of all partitions of one.
func (o *CompactOptions) planTopic(p *Plan) (spans []span, err error) {
	t := TopicOptions{Options: o.Options, Topic: *o.Topic}
	err = o.reading(func(s *storage.Spool) error {
		return t.parts(s, func(v *storage.TopicView) error {
			own := topicSpans(v)
			total := uint64(0)
			for _, sp := range own {
				n, err := s.DB().EstimateDiskUsage(sp.lower, sp.upper)
				if err != nil {
					return err
				}
				total += n
			}
			spans = append(spans, own...)
			p.add("compact", "topic", v.Name, "%d bytes in tables", total)
			return nil
		})
	})
	return spans, err
}

// topicSpans are the ranges of keys that hold a topic.
func topicSpans(t *storage.TopicView) (out []span) {
	add := func(lower, upper []byte) {
		if bytes.Compare(lower, upper) < 0 {
			out = append(out, span{lower, upper})
		}
	}
	add(key.ForCursors(t.ID))
	add(key.ForHolesOfTopic(t.ID))
	add(key.ForProducers(t.ID))
	add(key.ForLedgers(t.ID))
	for _, l := range t.Ledgers {
		add(key.ForExtents(l.ID))
		for _, x := range l.Extents {
			add(key.ForEntry(x.Epoch, l.ID, x.First), key.ForEntry(x.Epoch, l.ID, x.End()))
		}
	}
	return out
}
