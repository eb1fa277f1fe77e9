package maintain_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spoolctl/inspect"
	"spoolctl/maintain"
	"spoolctl/storage"
	"spoolctl/storage/record"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) {
	if holdSpool() {
		return
	}
	inMemory()
	goleak.VerifyTestMain(m)
}

// inMemory has temporary folders in memory where there is enough of it: that a killed process loses nothing of what it
// wrote is true there too, and syncing costs nothing.
func inMemory() {
	const shm, enough = "/dev/shm", 1 << 30
	if u, err := vfs.Default.GetDiskUsage(shm); err == nil && u.AvailBytes > enough && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", shm) //nolint:errcheck // the disk will do
	}
}

// base is when sample spools are made.
func base() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// later is when they are maintained.
func later() time.Time { return base().Add(24 * time.Hour) }

func name(t testing.TB, s string) wire.TopicName {
	t.Helper()
	n, err := wire.ParseTopic(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// entry is one message as a client sends it.
func entry(seq uint64, payload string) []byte {
	meta := &pb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(seq), PublishTime: proto.Uint64(uint64(base().UnixMilli()) + seq)}
	return wire.BuildEntry(meta, []byte(payload))
}

// ballast makes payloads that take some room and tell themselves apart.
func ballast(topic string, i int) string {
	return fmt.Sprintf("%s %d ", topic, i) + strings.Repeat(fmt.Sprint(i*7919), 20)
}

// sample is what every sample spool holds.
const (
	orders = "persistent://public/default/orders"
	events = "persistent://public/default/events"
)

// makeSpool makes a spool: orders with 40 entries in ledgers of 8 and the subscriptions billing (entry 10 and some above
// are acknowledged) and audit (nothing is), events with 12 and the subscription all, at the end. Everything but the last
// entries of events is in tables.
func makeSpool(t testing.TB, change ...func(*storage.Options)) string {
	t.Helper()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "spool")
	o := storage.Options{Dir: dir, Ledger: storage.LedgerLimits{MaxEntries: 8}, Now: base, MemTableBytes: 1 << 20}
	for _, c := range change {
		c(&o)
	}
	s := open(t, o)
	must(t, s.PutResource(ctx, storage.KindTenant, "public", storage.Tenant{AdminRoles: []string{"root"}, Created: base()}))
	must(t, s.PutResource(ctx, storage.KindNamespace, "public/default", storage.Namespace{Created: base()}))
	_, err := s.PutSchema(ctx, "public/default/orders", record.Schema{Type: 2, Name: "orders", Data: []byte(`{"type":"record"}`), Timestamp: base()})
	must(t, err)
	a := fill(t, s, orders, 40)
	fill(t, s, events, 6)
	ends := func(topic *storage.Topic, sub string, at wire.Position) *storage.Cursor {
		c, err := topic.CreateCursor(ctx, storage.CursorOptions{Name: sub, MarkDelete: at, Durable: true, Properties: map[string]string{"k": sub}})
		must(t, err)
		return c
	}
	pos := positions(t, a)
	billing := ends(a, "billing", pos[10])
	must(t, billing.Ack([]storage.Ack{{Position: pos[15]}, {Position: pos[16]}, {Position: pos[30]}}, nil))
	must(t, billing.Flush(ctx))
	ends(a, "audit", wire.Earliest())
	must(t, s.Close(ctx))

	s = open(t, o) // now the first part is in tables or a log of its own
	e, err := s.OpenTopic(ctx, name(t, events), storagetest.NewSink())
	must(t, err)
	e.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	must(t, e.Close(ctx))
	more(t, s, events, 6, 6)
	e, err = s.OpenTopic(ctx, name(t, events), storagetest.NewSink())
	must(t, err)
	e.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	ends(e, "all", wire.Latest())
	must(t, s.Close(ctx))
	return dir
}

func open(t testing.TB, o storage.Options) *storage.Store {
	t.Helper()
	s, err := storage.Open(context.Background(), o)
	must(t, err)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill makes a topic with n entries.
func fill(t testing.TB, s *storage.Store, topic string, n int) *storage.Topic {
	t.Helper()
	sink := storagetest.NewSink()
	tp, err := s.CreateTopic(context.Background(), name(t, topic), storage.TopicOptions{Sink: sink, Properties: map[string]string{"team": "blue"}})
	must(t, err)
	tp.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	put(t, tp, sink, topic, 0, n)
	return tp
}

func more(t testing.TB, s *storage.Store, topic string, from, n int) {
	t.Helper()
	sink := storagetest.NewSink()
	tp, err := s.OpenTopic(context.Background(), name(t, topic), sink)
	must(t, err)
	tp.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
	put(t, tp, sink, topic, from, n)
	must(t, tp.Close(context.Background()))
}

func put(t testing.TB, tp *storage.Topic, sink *storagetest.Sink, topic string, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		must(t, tp.Append(storage.Append{Data: entry(uint64(i), ballast(topic, i)), PublishTime: base().UnixMilli() + int64(i), Messages: 1, Checksum: record.ChecksumVerified}))
	}
	sink.Wait(n)
}

func positions(t testing.TB, tp *storage.Topic) (out []wire.Position) {
	t.Helper()
	for _, l := range tp.Ledgers() {
		for e := range l.Entries {
			out = append(out, wire.Position{Ledger: l.ID, Entry: e})
		}
	}
	return out
}

// tree is a digest of every file below dir, with times.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h := sha256.Sum256(b)
			sum = hex.EncodeToString(h[:8])
		}
		out[strings.TrimPrefix(path, dir)] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	}))
	return out
}

// contents are the spool's entries by topic and position, and the cursors with their backlog.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	must(t, err)
	defer s.Close()
	out := map[string]string{}
	must(t, s.EachTopic(func(h storage.TopicHead) error {
		v, err := s.Topic(h.ID)
		if err != nil {
			return err
		}
		out[h.Name] = fmt.Sprint(h.Terminated, h.Properties)
		for _, c := range v.Cursors {
			out[h.Name+"|"+c.Name] = fmt.Sprint(c.MarkDelete, c.Acks.Ranges(0), v.Backlog(c), c.Properties)
		}
		return v.Walk(context.Background(), wire.Earliest(), wire.Latest(), func(e storage.Entry) (bool, error) {
			out[h.Name+"@"+e.Position.String()] = string(e.Data)
			return true, nil
		})
	}))
	return out
}

// sound fails the test unless the spool passes every check.
func sound(t testing.TB, dir string) {
	t.Helper()
	for _, f := range findings(t, dir) {
		t.Errorf("%s: %+v", dir, f)
	}
}

func findings(t testing.TB, dir string) []inspect.Finding {
	t.Helper()
	s, err := inspect.Open(context.Background(), inspect.Options{Dir: dir})
	must(t, err)
	defer s.Close()
	v, err := s.Verify(context.Background(), inspect.VerifyOptions{})
	must(t, err)
	return v.Findings
}

func options(dir string) maintain.Options { return maintain.Options{Dir: dir, Now: later} }

func cursorOf(t testing.TB, o maintain.Options, topic, sub string) maintain.CursorOptions {
	return maintain.CursorOptions{Options: o, Topic: name(t, topic), Subscription: sub}
}
