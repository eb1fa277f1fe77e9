package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"spoolctl/inspect"
	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// offloadedSpool is the sample with the closed ledgers 1 and 2 of orders in a bucket only, and a copy there of the one that
// acme/shop/events has.
func offloadedSpool(t testing.TB) (vfs.FS, *storagetest.Bucket) {
	t.Helper()
	fs, b := vfs.NewMem(), storagetest.NewBucket(nil)
	asked := make(chan struct{}, 1) // the time was
	m := makeSpool(t, fs, "spool", func(o *storage.Options) {
		o.Bucket, o.OffloadInterval = b, time.Millisecond
		o.Now = func() time.Time {
			select {
			case asked <- struct{}{}:
			default:
			}
			return base()
		}
	})
	sample(m)
	for name, lag := range map[string]time.Duration{"orders": 0, "acme/shop/events": -1} {
		o := m.tops[name]
		o.SetOffloadPolicy(storage.OffloadPolicy{Threshold: -1, DeletionLag: lag})
		if err := o.Offload(wire.Latest()); err != nil {
			t.Fatal(err)
		}
		there := func(l storage.LedgerInfo) bool { return l.Object == "" || l.LocalDeleted != (lag == 0) }
		for looks := 0; slices.ContainsFunc(o.Ledgers()[:len(o.Ledgers())-1], there); looks++ {
			if looks == 10_000 {
				t.Fatalf("%s is not offloaded: %v", name, o.OffloadStatus())
			}
			<-asked
		}
	}
	m.stop()
	return fs, b
}

// readings are what verbs say that read entries.
func readings(t *testing.T, s *inspect.Session) string {
	t.Helper()
	var b strings.Builder
	ctx := context.Background()
	orders := inspect.Selector{Globs: []string{"orders"}}
	for name, o := range map[string]inspect.MessagesOptions{
		"all":     {},
		"pending": {Selector: orders, Pending: "holes"},
		"since":   {Bounds: inspect.Bounds{Since: fromMs(publishMs(3)), Until: fromMs(publishMs(12))}},
		"grep":    {Filter: inspect.Filter{Grep: regexp.MustCompile("1")}},
	} {
		list, err := s.Messages(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		var rows strings.Builder
		for m, err := range list.Rows {
			fmt.Fprintln(&rows, m.Topic, m.ID, string(m.Payload), err)
		}
		fmt.Fprintf(&b, "%s\n%s", name, rows.String())
	}
	lines := strings.Split(b.String(), "\n")
	slices.Sort(lines) // maps have no order
	return strings.Join(lines, "\n")
}

// TestOffloaded: with the bucket, offloaded ledgers are read as others are, and verified.
func TestOffloaded(t *testing.T) {
	fs := vfs.NewMem()
	m := makeSpool(t, fs, "spool")
	sample(m)
	m.stop()
	plain := open(t, inspect.Options{Dir: "spool", FS: fs})
	away, b := offloadedSpool(t)
	s := open(t, inspect.Options{Dir: "spool", FS: away, Bucket: b})
	if got, want := readings(t, s), readings(t, plain); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got, err := s.Verify(context.Background(), inspect.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Verify(context.Background(), inspect.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Found > 0 || got.Offloaded != 0 || got.Entries != want.Entries || got.Messages != want.Messages || got.Bytes != want.Bytes {
		t.Errorf("%s\nwant\n%s\nfindings %v", dump(got), dump(want), got.Findings)
	}
	if p := s.Problems(); len(p) > 0 || s.Away() {
		t.Error(p)
	}

	manifests, err := away.List("spool/store")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range manifests {
		if strings.HasPrefix(name, "MANIFEST") {
			if err := away.Remove("spool/store/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	s = open(t, inspect.Options{Dir: "spool", FS: away, Bucket: b})
	if got, want := readings(t, s), readings(t, plain); got != want || !s.Source().Damaged || s.Away() {
		t.Errorf("without a MANIFEST: %+v, got\n%s\nwant\n%s", s.Source(), got, want)
	}
}

// TestAway: without the bucket, what needs no entries is answered in full, and the rest says what is missing.
func TestAway(t *testing.T) {
	ctx := context.Background()
	fs, _ := offloadedSpool(t)
	s := open(t, inspect.Options{Dir: "spool", FS: fs})
	if sum, err := s.Summary(ctx); err != nil || sum.Totals.Entries != 29 {
		t.Error(dump(sum), err)
	}
	list, err := s.Backlog(ctx, inspect.BacklogOptions{Subscription: "slow", Explain: true})
	if err != nil || list.Backlogs[0].Messages != 28 || !list.Backlogs[0].Oldest.Equal(base()) {
		t.Error(dump(list), err)
	}
	ledgers, err := s.Ledgers(ctx, inspect.Selector{Globs: []string{"*"}})
	var where []string
	for _, l := range ledgers.Ledgers {
		where = append(where, l.Where)
	}
	if got := strings.Join(where, ", "); err != nil || got != "spool and object, spool, spool, object, object, spool" {
		t.Error(got, err)
	}
	got, err := s.Verify(ctx, inspect.VerifyOptions{})
	if err != nil || got.Found > 0 || got.Offloaded != 16 {
		t.Error(dump(got), got.Findings, err)
	}
	if _, err := s.Message(ctx, wire.MessageID{Position: wire.Position{Ledger: 1, Entry: 3}}); !errors.As(err, new(*storage.OffloadedError)) || s.Source().Damaged {
		t.Error(err)
	}
	if p := s.Problems(); len(p) > 0 || s.Away() {
		t.Errorf("no entry was needed, but %v", p)
	}
	text := readings(t, s)
	if strings.Contains(text, "order\":3}") || !strings.Contains(text, "order\":17}") {
		t.Error(text)
	}
	for _, p := range s.Problems() {
		if p.Lost != nil || !strings.Contains(p.String(), "object storage") {
			t.Error(p)
		}
	}
	if n := len(s.Problems()); n != 2 || !s.Away() {
		t.Errorf("%d problems: %v", n, s.Problems())
	}
}

// TestDamagedObject: an object that is missing or damaged costs what it held and no more, and verify finds it.
func TestDamagedObject(t *testing.T) {
	fs, b := offloadedSpool(t)
	for name, whole := range b.All() {
		for what, bad := range map[string][]byte{"missing": nil, "short": whole[:len(whole)/2], "flipped": flipped(whole, 30), "flipped end": flipped(whole, len(whole)-9)} {
			b.Set(name, bad)
			s := open(t, inspect.Options{Dir: "spool", FS: fs, Bucket: b})
			got, err := s.Verify(context.Background(), inspect.VerifyOptions{})
			if err != nil {
				t.Fatal(name, what, err)
			}
			at := slices.IndexFunc(got.Findings, func(f inspect.Finding) bool { return f.Check == inspect.CheckObjects && f.File == name })
			if at < 0 || got.Found > 2 { // the other one is a backlog that cannot be counted again
				t.Fatalf("%s %s: %s", name, what, dump(got.Findings))
			}
			text := readings(t, s)
			if inSpool := got.Findings[at].Topic != "persistent://public/default/orders"; inSpool != (len(s.Problems()) == 0) || !strings.Contains(text, "order\":17}") {
				t.Errorf("%s %s: %v\n%s", name, what, s.Problems(), text)
			}
		}
		b.Set(name, whole)
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}
