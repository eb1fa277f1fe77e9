package inspect_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

// base is the moment at which sample spools are made.
func base() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// now is the moment of every inspection of a sample.
func now() time.Time { return base().Add(24 * time.Hour) }

type sink struct {
	mu   sync.Mutex
	cond sync.Cond
	n    int
	err  error
	pos  []wire.Position
}

func newSink() *sink {
	s := &sink{}
	s.cond.L = &s.mu
	return s
}

// Committed implements storage.Sink.
func (s *sink) Committed(entries []storage.Appended, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += len(entries)
	s.err = errors.Join(s.err, err)
	for _, e := range entries {
		s.pos = append(s.pos, e.Position)
	}
	s.cond.Broadcast()
}

// wait blocks until n entries have a result and returns all positions.
func (s *sink) wait(t testing.TB, n int) []wire.Position {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.n < n {
		s.cond.Wait()
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return append([]wire.Position(nil), s.pos...)
}

// maker builds a spool through package storage.
type maker struct {
	testing.TB
	*storage.Store
	tops map[string]*topicMaker
}

type topicMaker struct {
	*storage.Topic
	m    *maker
	sink *sink
	sent int
}

func makeSpool(t testing.TB, fs vfs.FS, dir string, change ...func(*storage.Options)) *maker {
	t.Helper()
	m := &maker{TB: t, tops: map[string]*topicMaker{}}
	o := storage.Options{Dir: dir, FS: fs, CursorFlushInterval: time.Millisecond, Ledger: storage.LedgerLimits{MaxEntries: 8},
		Now: base}
	for _, c := range change {
		c(&o)
	}
	s, err := storage.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	m.Store = s
	return m
}

func (m *maker) stop() {
	m.Helper()
	if err := m.Store.Close(context.Background()); err != nil {
		m.Fatal(err)
	}
}

func topicName(t testing.TB, s string) wire.TopicName {
	t.Helper()
	n, err := wire.ParseTopic(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (m *maker) topic(name string) *topicMaker {
	m.Helper()
	if t := m.tops[name]; t != nil {
		return t
	}
	sk := newSink()
	tp, err := m.CreateTopic(context.Background(), topicName(m, name), storage.TopicOptions{Sink: sk, Properties: map[string]string{"team": "blue"}})
	if err != nil {
		m.Fatal(err)
	}
	tp.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	t := &topicMaker{Topic: tp, m: m, sink: sk}
	m.tops[name] = t
	return t
}

func (t *topicMaker) append(entry []byte, ms int64, n int32) {
	t.m.Helper()
	err := t.Append(storage.Append{Data: entry, PublishTime: ms, Messages: n, Checksum: record.ChecksumVerified})
	if err != nil {
		t.m.Fatal(err)
	}
	t.sent++
}

// publishMs is the publish time of the i-th entry of a topic.
func publishMs(i int) int64 { return base().Add(time.Duration(i) * time.Minute).UnixMilli() }

// single publishes one message that is no batch.
func (t *topicMaker) single(payload, key string, props ...string) {
	ms := publishMs(t.sent)
	meta := &pb.MessageMetadata{ProducerName: proto.String("p1"), SequenceId: proto.Uint64(uint64(t.sent)), PublishTime: proto.Uint64(uint64(ms))}
	if key != "" {
		meta.PartitionKey = proto.String(key)
	}
	for i := 0; i+1 < len(props); i += 2 {
		meta.Properties = append(meta.Properties, &pb.KeyValue{Key: &props[i], Value: &props[i+1]})
	}
	t.append(wire.BuildEntry(meta, []byte(payload)), ms, 1)
}

// batch publishes messages as one entry.
func (t *topicMaker) batch(payloads ...string) {
	ms := publishMs(t.sent)
	var body []byte
	for i, p := range payloads {
		body = wire.AppendSingle(body, &pb.SingleMessageMetadata{PartitionKey: proto.String(fmt.Sprintf("k%d", i)), SequenceId: proto.Uint64(uint64(i))}, []byte(p))
	}
	meta := &pb.MessageMetadata{ProducerName: proto.String("p2"), SequenceId: proto.Uint64(uint64(t.sent)), PublishTime: proto.Uint64(uint64(ms)),
		NumMessagesInBatch: proto.Int32(int32(len(payloads)))}
	t.append(wire.BuildEntry(meta, body), ms, int32(len(payloads)))
}

func (t *topicMaker) positions() []wire.Position { return t.sink.wait(t.m, t.sent) }

func (t *topicMaker) cursor(name string) *storage.Cursor {
	t.m.Helper()
	c, err := t.CreateCursor(context.Background(), storage.CursorOptions{Name: name, MarkDelete: wire.Earliest(), Durable: true})
	if err != nil {
		t.m.Fatal(err)
	}
	return c
}

func (t *topicMaker) ack(c *storage.Cursor, acks ...storage.Ack) {
	t.m.Helper()
	done := make(chan error, 1)
	if err := c.Ack(acks, func(err error) { done <- err }); err != nil {
		t.m.Fatal(err)
	}
	if err := <-done; err != nil {
		t.m.Fatal(err)
	}
}

func (t *topicMaker) ackUpTo(c *storage.Cursor, p wire.Position) {
	t.m.Helper()
	done := make(chan error, 1)
	if err := c.AckCumulative(storage.Ack{Position: p}, nil, func(err error) { done <- err }); err != nil {
		t.m.Fatal(err)
	}
	if err := <-done; err != nil {
		t.m.Fatal(err)
	}
}

// sample fills a spool with what the verbs have to show: two namespaces,
// several ledgers, batches, keys, properties, and cursors in every state.
func sample(m *maker) {
	ctx := context.Background()
	put := func(k storage.Kind, path string, v any) {
		if err := m.PutResource(ctx, k, path, v); err != nil {
			m.Fatal(err)
		}
	}
	put(storage.KindTenant, "public", storage.Tenant{AllowedClusters: []string{"standalone"}, Created: base()})
	put(storage.KindNamespace, "public/default", storage.Namespace{Created: base()})
	put(storage.KindTenant, "acme", storage.Tenant{Created: base()})
	put(storage.KindNamespace, "acme/shop", storage.Namespace{Created: base(),
		Policies: map[string]json.RawMessage{"retention_policies": json.RawMessage(`{"retentionTimeInMinutes":-1,"retentionSizeInMB":-1}`)}})

	o := m.topic("orders")
	fast, holes := o.cursor("fast"), o.cursor("holes")
	o.cursor("slow")
	for i := range 20 {
		if i%5 == 4 {
			o.batch(fmt.Sprintf("b%d-0", i), fmt.Sprintf("b%d-1", i), fmt.Sprintf("b%d-2", i))
			continue
		}
		o.single(fmt.Sprintf(`{"order":%d}`, i), fmt.Sprintf("key-%d", i%3), "color", []string{"red", "blue"}[i%2])
	}
	pos := o.positions()
	o.ackUpTo(fast, pos[19])
	o.ackUpTo(holes, pos[1])
	o.ack(holes, storage.Ack{Position: pos[3]}, storage.Ack{Position: pos[7]}, storage.Ack{Position: pos[8]}, storage.Ack{Position: pos[11]})
	o.ack(holes, storage.Ack{Position: pos[9], Remaining: []uint64{0b101}})

	e := m.topic("acme/shop/events")
	e.ackUpTo(e.cursor("audit"), publishMany(e, 9)[8])
	m.topic("empty").cursor("nobody")
}

func publishMany(t *topicMaker, n int) []wire.Position {
	for i := range n {
		t.single(fmt.Sprintf("event %d", i), "")
	}
	return t.positions()
}

func open(t testing.TB, o inspect.Options) *inspect.Session {
	t.Helper()
	if o.Now == nil {
		o.Now = now
	}
	s, err := inspect.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// treeHash is a digest of a folder: names, modes, sizes, times and contents.
func treeHash(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %d", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// answers runs every verb and returns what they said, for comparing.
func answers(ctx context.Context, s *inspect.Session) (string, error) {
	var b strings.Builder
	var errs []error
	show := func(v any, err error) {
		errs = append(errs, err)
		fmt.Fprintf(&b, "%s\n", dump(v))
	}
	sum, err := s.Summary(ctx)
	if sum != nil {
		sum.Disk, sum.LogBytes, sum.LastWrite, sum.Source = nil, 0, time.Time{}, inspect.Source{}
	}
	show(sum, err)
	topics, err := s.Topics(ctx, inspect.TopicsOptions{Producers: true})
	show(topics, err)
	ledgers, err := s.Ledgers(ctx, inspect.Selector{})
	show(ledgers, err)
	cursors, err := s.Cursors(ctx, inspect.Selector{})
	show(cursors, err)
	backlog, err := s.Backlog(ctx, inspect.BacklogOptions{Explain: true})
	show(backlog, err)
	producers, err := s.Producers(ctx, inspect.ProducersOptions{})
	show(producers, err)
	schemas, err := s.Schemas(ctx, inspect.Selector{})
	show(schemas, err)
	policies, err := s.Policies(ctx, inspect.PoliciesOptions{})
	show(policies, err)
	dedups, err := s.Dedups(ctx, inspect.Selector{})
	show(dedups, err)
	txns, err := s.Transactions(ctx)
	show(txns, err)
	sizes, err := s.Sizes(ctx, inspect.SizesOptions{})
	show(sizes, err)
	delayed, err := s.Delayed(ctx, inspect.DelayedOptions{Past: true})
	errs = append(errs, err)
	if err == nil {
		for d, err := range delayed.Rows {
			show(d, err)
		}
	}
	list, err := s.Messages(ctx, inspect.MessagesOptions{})
	errs = append(errs, err)
	if err == nil {
		for m, err := range list.Rows {
			show(m, err)
		}
	}
	entries, err := s.Entries(ctx, inspect.EntriesOptions{})
	errs = append(errs, err)
	if err == nil {
		for e, err := range entries.Rows {
			show(e, err)
		}
	}
	for _, c := range cursors.Cursors {
		list, err := s.Messages(ctx, inspect.MessagesOptions{Selector: inspect.Selector{Globs: []string{c.Topic}}, Pending: c.Subscription})
		errs = append(errs, err)
		if err == nil {
			for m, err := range list.Rows {
				show(m.ID, err)
			}
		}
		r, err := s.Ranges(ctx, inspect.RangesOptions{Topic: c.Topic, Subscription: c.Subscription})
		errs = append(errs, err)
		if err == nil {
			for row, err := range r.Rows {
				show(row, err)
			}
		}
	}
	return b.String(), errors.Join(errs...)
}

// fromMs is a moment in milliseconds since 1970.
func fromMs(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// dump is v as indented JSON, lists of functions left out by their tags.
func dump(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}
