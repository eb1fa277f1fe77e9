package inspect

import (
	"context"
	"fmt"
	"time"

	"spoolctl/storage"
	"spoolctl/wire"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What a Size counts.
const (
	SizeEntries  = "entry"   // as stored, metadata included
	SizeMessages = "message" // payload of one message, after decompression
)

// Size is one line of `inspect sizes`: a histogram of bytes. Percentiles are
// exact to three digits.
type Size struct {
	Topic   string           `json:"topic" col:"TOPIC,name"` // (all): all chosen ones
	What    string           `json:"what" col:"WHAT"`        // entry or message
	Count   int64            `json:"count" col:"COUNT" fmt:"count"`
	Sum     int64            `json:"sum" col:"SUM" fmt:"bytes"`
	Mean    *float64         `json:"mean" col:"MEAN" fmt:"bytes"` // nil where there is nothing
	Min     *int64           `json:"min" col:"MIN" fmt:"bytes"`
	P50     *int64           `json:"p50" col:"P50" fmt:"bytes"`
	P90     *int64           `json:"p90" col:"P90" fmt:"bytes"`
	P99     *int64           `json:"p99" col:"P99" fmt:"bytes"`
	P999    *int64           `json:"p999" col:"P99.9" fmt:"bytes"`
	Max     *int64           `json:"max" col:"MAX" fmt:"bytes"`
	Buckets map[string]int64 `json:"buckets" col:"BUCKETS,wide"`             // how many are at most so large, and larger than the bucket before
	Unknown int64            `json:"unknown" col:"UNKNOWN,wide" fmt:"count"` // messages in entries that cannot be taken apart or are encrypted
}

// Age is one line of `inspect sizes --ages`: how long ago entries were
// published, in milliseconds.
type Age struct {
	Topic  string    `json:"topic" col:"TOPIC,name"`
	Count  int64     `json:"count" col:"COUNT" fmt:"count"`
	Min    *int64    `json:"min" col:"MIN" fmt:"millis"`
	P50    *int64    `json:"p50" col:"P50" fmt:"millis"`
	P90    *int64    `json:"p90" col:"P90" fmt:"millis"`
	P99    *int64    `json:"p99" col:"P99" fmt:"millis"`
	P999   *int64    `json:"p999" col:"P99.9" fmt:"millis"`
	Max    *int64    `json:"max" col:"MAX" fmt:"millis"`
	Oldest time.Time `json:"oldest" col:"OLDEST,wide" fmt:"time"`
	Newest time.Time `json:"newest" col:"NEWEST,wide" fmt:"time"`
}

// SizesOptions are for Session.Sizes.
type SizesOptions struct {
	Selector
	Bounds
	ByTopic bool // a row for each topic before the sum
}

// Sizes is the answer of Session.Sizes.
type Sizes struct {
	Sizes []Size
	Ages  []Age
}

// bucketBounds are the upper bounds of the buckets, in bytes.
func bucketBounds() []bound {
	return []bound{
		{"1KiB", 1 << 10}, {"2KiB", 2 << 10}, {"4KiB", 4 << 10}, {"16KiB", 16 << 10}, {"64KiB", 64 << 10},
		{"100KiB", 100 << 10}, {"256KiB", 256 << 10}, {"1MiB", 1 << 20}, {"5MiB", 5 << 20},
	}
}

type bound struct {
	name string
	upTo int64
}

// histogram counts values of 1 and more; 0 counts as 0 by itself.
type histogram struct {
	h       *hdrhistogram.Histogram
	buckets []int64
	least   int64 // exactly; the histogram keeps three digits
	most    int64
	sum     int64
	unknown int64
}

// maxAge bounds what an age histogram tells apart: 100 years in milliseconds.
const maxAge = 100 * 366 * 24 * 3600 * 1000

func newHistogram(most int64) *histogram {
	return &histogram{h: hdrhistogram.New(1, most, 3), buckets: make([]int64, len(bucketBounds())+1)}
}

func (h *histogram) add(v int64, bounds []bound) {
	_ = h.h.RecordValue(max(0, min(v, h.h.HighestTrackableValue()))) // cannot fail inside the bounds
	if h.count() == 1 || v < h.least {
		h.least = v
	}
	h.most = max(h.most, v)
	h.sum += v
	for i, b := range bounds {
		if v <= b.upTo {
			h.buckets[i]++
			return
		}
	}
	h.buckets[len(bounds)]++
}

func (h *histogram) count() int64 { return h.h.TotalCount() }

func (h *histogram) merge(o *histogram) {
	if h.count() == 0 || o.count() > 0 && o.least < h.least {
		h.least = o.least
	}
	h.most = max(h.most, o.most)
	h.h.Merge(o.h)
	h.sum += o.sum
	h.unknown += o.unknown
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
}

// at returns a percentile, nil where there is nothing.
func (h *histogram) at(p float64) *int64 {
	switch {
	case h.count() == 0:
		return nil
	case p == 0:
		return new(h.least)
	case p == 100:
		return new(h.most)
	}
	return new(min(h.h.ValueAtPercentile(p), h.most))
}

func (h *histogram) row(topic, what string) Size {
	row := Size{
		Topic: topic, What: what, Count: h.count(), Sum: h.sum, Unknown: h.unknown,
		Min: h.at(0), P50: h.at(50), P90: h.at(90), P99: h.at(99), P999: h.at(99.9), Max: h.at(100), Buckets: map[string]int64{},
	}
	if row.Count > 0 {
		row.Mean = new(float64(row.Sum) / float64(row.Count))
	}
	bounds := bucketBounds()
	for i, n := range h.buckets {
		name := "more"
		if i < len(bounds) {
			name = bounds[i].name
		}
		if n > 0 {
			row.Buckets[name] = n
		}
	}
	return row
}

// sizeCount are the histograms of one topic, or of all.
type sizeCount struct {
	entries, messages, ages *histogram
	oldest, newest          int64
}

func newSizeCount() *sizeCount {
	return &sizeCount{entries: newHistogram(maxPayload), messages: newHistogram(maxPayload), ages: newHistogram(maxAge)}
}

func (c *sizeCount) merge(o *sizeCount) {
	c.entries.merge(o.entries)
	c.messages.merge(o.messages)
	c.ages.merge(o.ages)
	c.published(o.oldest)
	c.published(o.newest)
}

func (c *sizeCount) published(ms int64) {
	if ms > 0 && (c.oldest == 0 || ms < c.oldest) {
		c.oldest = ms
	}
	c.newest = max(c.newest, ms)
}

// Sizes reads the entries of the chosen topics and counts how large they are.
func (s *Session) Sizes(ctx context.Context, o SizesOptions) (out Sizes, err error) {
	views, err := s.views(ctx, o.Selector)
	if err != nil {
		return out, err
	}
	all, bounds, now := newSizeCount(), bucketBounds(), s.o.Now().UnixMilli()
	add := func(topic string, c *sizeCount) {
		out.Sizes = append(out.Sizes, c.entries.row(topic, SizeEntries), c.messages.row(topic, SizeMessages))
		out.Ages = append(out.Ages, c.ageRow(topic))
	}
	for _, t := range views {
		c := all
		if o.ByTopic {
			c = newSizeCount()
		}
		err := s.walkSpans(ctx, t, o.Bounds, func(e storage.Entry) (bool, error) {
			if o.inTime(e.Header.PublishTime) {
				c.entries.add(int64(len(e.Data)), bounds)
				c.ages.add(now-e.Header.PublishTime, nil)
				c.published(e.Header.PublishTime)
				c.countMessages(e, bounds)
			}
			return true, nil
		})
		if err != nil {
			return out, err
		}
		if o.ByTopic {
			add(t.Name, c)
			all.merge(c)
		}
	}
	add("(all)", all)
	return out, nil
}

func (c *sizeCount) ageRow(topic string) Age {
	h := c.ages
	return Age{
		Topic: topic, Count: h.count(), Min: h.at(0), P50: h.at(50), P90: h.at(90), P99: h.at(99), P999: h.at(99.9), Max: h.at(100),
		Oldest: fromMillis(c.oldest), Newest: fromMillis(c.newest),
	}
}

func (c *sizeCount) countMessages(e storage.Entry, bounds []bound) {
	err := eachPayload(e, func(payload []byte) { c.messages.add(int64(len(payload)), bounds) })
	if err != nil {
		c.messages.unknown += int64(e.Header.Messages)
	}
}

// eachPayload calls each for the messages of an entry that is not encrypted;
// a chunk counts by itself.
func eachPayload(e storage.Entry, each func([]byte)) error {
	d := decodeEntry(e)
	m := &d.meta
	switch {
	case d.err != nil:
		return d.err
	case m.Encrypted:
		return wire.ErrEncrypted
	case m.NumChunks > 1:
		each(d.parts.Payload)
		return nil
	}
	payload, err := wire.Decompress(m, d.parts.Payload, maxPayload)
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	for single, err := range wire.Unbatch(m, payload) {
		if err != nil {
			return err
		}
		each(single.Payload)
	}
	return nil
}
