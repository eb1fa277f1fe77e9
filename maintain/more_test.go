package maintain_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/inspect/damage"
	"spoolctl/maintain"
	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// TestCursorVerbs checks what each verb does to a cursor: its backlog and next entry are those of the running broker's
// same command, as both are one implementation; here it is that the right one is called with the right arguments.
func TestCursorVerbs(t *testing.T) {
	dir := makeSpool(t)
	run := verbs(t)
	state := func() (mark string, backlog storage.Backlog) {
		s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
		must(t, err)
		defer s.Close()
		v, err := s.TopicByName(name(t, orders))
		must(t, err)
		c := v.Cursor("billing")
		if c == nil {
			return "gone", storage.Backlog{}
		}
		return c.NextUnacked(v.Ledgers, wire.Earliest()).String(), v.Backlog(c)
	}
	if next, b := state(); next != "2:3" || b.Entries != 26 {
		t.Fatalf("%s %+v", next, b)
	}
	check := func(what string, do func(o maintain.Options) (*maintain.Result, error), wantNext string, wantEntries int64) {
		t.Helper()
		_, err := do(options(dir))
		must(t, err)
		if next, b := state(); next != wantNext || b.Entries != wantEntries || b.Messages != wantEntries {
			t.Errorf("%s: next %s, %+v; want %s, %d", what, next, b, wantNext, wantEntries)
		}
		sound(t, dir)
	}
	check("skip", run["cursor-skip"], "3:4", 19)
	check("ack", func(o maintain.Options) (*maintain.Result, error) {
		return maintain.AckCursor(context.Background(), cursorOf(t, o, orders, "billing"), []wire.MessageID{
			{Position: wire.Position{Ledger: 3, Entry: 4}, Batch: -1}, {Position: wire.Position{Ledger: 3, Entry: 6}, Batch: -1}, {Position: wire.Position{Ledger: 1, Entry: 0}, Batch: -1}})
	}, "3:5", 17)
	check("set by time", run["cursor-set"], "3:4", 20)
	check("set to the start", func(o maintain.Options) (*maintain.Result, error) {
		return maintain.SetCursor(context.Background(), cursorOf(t, o, orders, "billing"), maintain.Target{Position: wire.Earliest()})
	}, "1:0", 40)
	check("clear", run["cursor-clear"], "5:8", 0)
	check("delete", run["cursor-delete"], "gone", 0)
	check("create", func(o maintain.Options) (*maintain.Result, error) {
		return maintain.CreateCursor(context.Background(), cursorOf(t, o, orders, "billing"), maintain.Target{Position: wire.Position{Ledger: 5}}, nil)
	}, "5:0", 8)
	for what, err := range map[string]error{
		"delete of none": second(maintain.DeleteCursor(context.Background(), cursorOf(t, options(dir), orders, "none"))),
		"topic of none":  second(maintain.DeleteCursor(context.Background(), cursorOf(t, options(dir), "none", "none"))),
		"create again":   second(run["cursor-create"](options(dir))),
		"rename to one":  second(maintain.RenameCursor(context.Background(), cursorOf(t, options(dir), orders, "audit"), "billing")),
		"ack of none": second(maintain.AckCursor(context.Background(), cursorOf(t, options(dir), orders, "audit"),
			[]wire.MessageID{{Position: wire.Position{Ledger: 77}, Batch: -1}})),
	} {
		want := map[string]error{"delete of none": storage.ErrCursorNotFound, "topic of none": storage.ErrTopicNotFound, "create again": nil,
			"rename to one": storage.ErrCursorExists, "ack of none": storage.ErrEntryNotFound}[what]
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestTopicRename: everything that bears the name follows, of partitions too, and the broker can go on with it.
func TestTopicRename(t *testing.T) {
	dir := makeSpool(t)
	ctx := context.Background()
	s := open(t, storage.Options{Dir: dir})
	base := name(t, "parted")
	must(t, s.PutResource(ctx, storage.KindPartitioned, base.String(), storage.Partitioned{Partitions: 2}))
	must(t, s.PutResource(ctx, storage.KindTopicPolicies, base.String(), map[string]int{"message_ttl_in_seconds": 60}))
	for i := range 2 {
		fill(t, s, base.WithPartition(i).String(), 3)
	}
	must(t, s.Close(ctx))
	o := maintain.TopicOptions{Options: options(dir), Topic: base}
	to := name(t, "parted-2")
	res, err := maintain.RenameTopic(ctx, o, to)
	must(t, err)
	if len(res.Actions) != 2 {
		t.Errorf("%+v", res.Actions)
	}
	if _, err := maintain.RenameTopic(ctx, maintain.TopicOptions{Options: options(dir), Topic: to}, name(t, orders)); !errors.Is(err, storage.ErrTopicExists) {
		t.Errorf("onto another: %v", err)
	}
	if _, err := maintain.RenameTopic(ctx, maintain.TopicOptions{Options: options(dir), Topic: to}, name(t, "no/such/topic")); !errors.Is(err, storage.ErrBadName) {
		t.Errorf("into no namespace: %v", err)
	}
	sound(t, dir)
	s = open(t, storage.Options{Dir: dir})
	var p storage.Partitioned
	if found, err := s.Resource(storage.KindPartitioned, to.String(), &p); !found || err != nil || p.Partitions != 2 {
		t.Errorf("%v %v %+v", found, err, p)
	}
	if found, _ := s.Resource(storage.KindTopicPolicies, base.String(), new(any)); found {
		t.Error("the old policies are there")
	}
	more(t, s, to.WithPartition(1).String(), 3, 2)
	must(t, s.Close(ctx))
	res, err = maintain.DeleteTopic(ctx, maintain.TopicOptions{Options: options(dir), Topic: to})
	must(t, err)
	if len(res.Actions) != 2 || !strings.Contains(res.Actions[1].Detail, "5 entries") {
		t.Errorf("%+v", res.Actions)
	}
	if _, err := maintain.DeleteTopic(ctx, maintain.TopicOptions{Options: options(dir), Topic: to}); !errors.Is(err, storage.ErrTopicNotFound) {
		t.Errorf("deleted again: %v", err)
	}
	sound(t, dir)
}

// TestTrim: retention and time to live decide, the topic's own policies before the namespace's, and the plan says what
// goes.
func TestTrim(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		what          string
		ns, own       map[string]json.RawMessage
		ledgers, subs int // actions about
		left          int64
	}{
		{"nothing kept longer than needed", nil, nil, 1, 0, 6},
		{"retention", map[string]json.RawMessage{"retention_policies": json.RawMessage(`{"retentionTimeInMinutes":100000,"retentionSizeInMB":0}`)}, nil, 0, 0, 12},
		{"the topic's own", map[string]json.RawMessage{"retention_policies": json.RawMessage(`{"retentionTimeInMinutes":100000,"retentionSizeInMB":0}`)},
			map[string]json.RawMessage{"retention_policies": json.RawMessage(`{"retentionTimeInMinutes":0,"retentionSizeInMB":0}`)}, 1, 0, 6},
		{"time to live", map[string]json.RawMessage{"message_ttl_in_seconds": json.RawMessage(`3600`)}, nil, 1, 1, 6},
	} {
		dir := makeSpool(t)
		s := open(t, storage.Options{Dir: dir, Now: base})
		must(t, s.PutResource(ctx, storage.KindNamespace, "public/default", storage.Namespace{Policies: c.ns}))
		if c.own != nil {
			must(t, s.PutResource(ctx, storage.KindTopicPolicies, events, c.own))
		}
		if c.subs > 0 {
			e, err := s.OpenTopic(ctx, name(t, events), storagetest.NewSink())
			must(t, err)
			e.SetTrimPolicy(storage.TrimPolicy{RetentionTime: -1})
			_, err = e.CreateCursor(ctx, storage.CursorOptions{Name: "late", MarkDelete: wire.Earliest(), Durable: true})
			must(t, err)
		}
		must(t, s.Close(ctx))
		res, err := maintain.Trim(ctx, maintain.TrimOptions{Options: options(dir), Topics: []string{"eve*"}})
		must(t, err)
		n := map[string]int{}
		for _, a := range res.Actions {
			n[a.Kind]++
		}
		if n["ledger"] != c.ledgers || n["cursor"] != c.subs {
			t.Errorf("%s: %+v", c.what, res.Actions)
		}
		r, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
		must(t, err)
		v, err := r.TopicByName(name(t, events))
		must(t, err)
		if got := v.Stats().Entries; got != c.left {
			t.Errorf("%s: %d entries are left, want %d", c.what, got, c.left)
		}
		must(t, r.Close())
		sound(t, dir)
	}
	if _, err := maintain.Trim(ctx, maintain.TrimOptions{Options: options(makeSpool(t)), Topics: []string{"none"}}); !errors.Is(err, storage.ErrTopicNotFound) {
		t.Error(err)
	}
}

// TestConvert: from one kind to the other and back nothing changes.
func TestConvert(t *testing.T) {
	dir := makeSpool(t)
	want := contents(t, dir)
	files, back := filepath.Join(t.TempDir(), "files"), filepath.Join(t.TempDir(), "back")
	convert := func(from, to, kind string, dry bool) (*maintain.ConvertResult, error) {
		o := options(from)
		o.DryRun = dry
		return maintain.Convert(context.Background(), maintain.ConvertOptions{Options: o, To: to, Kind: kind})
	}
	dry, err := convert(dir, files, maintain.KindFiles, true)
	must(t, err)
	if _, err := os.Stat(files); err == nil {
		t.Error("a dry run made the spool")
	}
	res, err := convert(dir, files, maintain.KindFiles, false)
	must(t, err)
	if res.Entries != 52 || res.Records != dry.Records || !res.Done || dry.Done {
		t.Errorf("%+v, dry %+v", res, dry)
	}
	again, err := convert(files, back, maintain.KindPebble, false)
	must(t, err)
	if again.Records != res.Records || again.Bytes != res.Bytes {
		t.Errorf("%+v, %+v", res, again)
	}
	sound(t, back)
	if diff := cmp.Diff(want, contents(t, back)); diff != "" {
		t.Error(diff)
	}
	if _, err := convert(dir, back, maintain.KindFiles, false); err == nil {
		t.Error("it was written over a spool")
	}
	// A file that has no place, a line that is none, a missing file.
	for _, damage := range []func(){
		func() { must(t, os.WriteFile(filepath.Join(files, "entries", "1-2-3"), nil, 0o600)) },
		func() { must(t, os.WriteFile(filepath.Join(files, "records.ndjson"), []byte("{}\n"), 0o600)) },
		func() { must(t, os.Remove(filepath.Join(files, "records.ndjson"))) },
	} {
		damage()
		to := filepath.Join(t.TempDir(), "x")
		if _, err := convert(files, to, maintain.KindPebble, false); err == nil {
			t.Error("damage passes")
		}
		if left, _ := filepath.Glob(filepath.Dir(to) + "/*"); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}

// TestMigrate: nothing to do on a spool of today; with --compression the tables change and the records do not.
func TestMigrate(t *testing.T) {
	dir := makeSpool(t)
	want := contents(t, dir)
	res, err := maintain.Migrate(context.Background(), maintain.MigrateOptions{Options: options(dir)})
	if err != nil || res.Done || len(res.Actions) != 0 || res.Checkpoint != "" {
		t.Errorf("%+v, %v", res, err)
	}
	sizes := map[string]int64{}
	for _, c := range []string{"none", "snappy", "zstd"} {
		res, err := maintain.Migrate(context.Background(), maintain.MigrateOptions{Options: options(dir), Compression: c})
		must(t, err)
		sizes[c] = res.After
		sound(t, dir)
		if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
	}
	if sizes["none"] <= sizes["snappy"] || sizes["none"] <= sizes["zstd"] {
		t.Errorf("sizes %v", sizes)
	}
	if _, err := maintain.Migrate(context.Background(), maintain.MigrateOptions{Options: options(dir), Compression: "lzw"}); !errors.Is(err, storage.ErrBadName) {
		t.Error(err)
	}
}

// TestCompact: deleted entries take no space afterwards, and nothing else changes.
func TestCompact(t *testing.T) {
	dir := makeSpool(t)
	_, err := maintain.TruncateTopic(context.Background(), maintain.TopicOptions{Options: options(dir), Topic: name(t, orders)})
	must(t, err)
	dir = killed(t, dir)
	o := options(dir)
	want := contents(t, dir)
	topic := name(t, events)
	if n, live := versions(t, dir); n <= live {
		t.Fatalf("%d versions of %d records: there is nothing to compact", n, live)
	}
	for i, c := range []maintain.CompactOptions{{}, {Family: "entry"}, {Topic: &topic}} {
		c.Options = o
		_, err := maintain.Compact(context.Background(), c)
		must(t, err)
		sound(t, dir)
		if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
			t.Error(diff)
		}
		if n, live := versions(t, dir); i == 0 && n != live {
			t.Errorf("%d versions of %d records", n, live)
		}
	}
	if _, err := maintain.Compact(context.Background(), maintain.CompactOptions{Options: o, Family: "none"}); !errors.Is(err, storage.ErrBadName) {
		t.Error(err)
	}
}

// versions counts what tables and logs hold, deletions included, and the records that there are.
func versions(t *testing.T, dir string) (all, live int) {
	t.Helper()
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	must(t, err)
	defer s.Close()
	it, err := s.Reader().NewIter(nil)
	must(t, err)
	for ok := it.First(); ok; ok = it.Next() {
		live++
	}
	must(t, it.Close())
	store := filepath.Join(dir, storage.StoreDir)
	o := damage.Options{FS: vfs.Default, Dir: store, Show: "store"}
	m := damage.ReadManifest(vfs.Default, store, "store")
	for _, table := range m.Live() {
		_, err := damage.ReadVersions(o, table, nil, nil, func(damage.Version) error { all++; return nil })
		must(t, err)
	}
	files, err := damage.ListFiles(vfs.Default, store)
	must(t, err)
	_, err = damage.ReadLogVersions(o, m, files, func(damage.LogVersion) error { all++; return nil })
	must(t, err)
	return all, live
}

// TestResources: a dump loaded into an empty spool makes the same dump, loading it again changes nothing, and a changed
// document is planned as one change.
func TestResources(t *testing.T) {
	dir := makeSpool(t)
	dump, err := maintain.DumpResources(options(dir))
	must(t, err)
	empty := filepath.Join(t.TempDir(), "empty")
	must(t, open(t, storage.Options{Dir: empty}).Close(context.Background()))
	r, err := maintain.ParseResources(dump)
	must(t, err)
	res, err := maintain.LoadResources(context.Background(), options(empty), r)
	must(t, err)
	if len(res.Actions) != 3 {
		t.Errorf("%+v", res.Actions)
	}
	again, err := maintain.DumpResources(options(empty))
	must(t, err)
	if diff := cmp.Diff(string(dump), string(again)); diff != "" {
		t.Error(diff)
	}
	if res, err = maintain.LoadResources(context.Background(), options(empty), r); err != nil || res.Done || len(res.Actions) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	changed := *r
	changed.Tenants = maps.Clone(r.Tenants)
	changed.Tenants["public"] = json.RawMessage(`{"adminRoles":["other"]}`)
	if res, err = maintain.LoadResources(context.Background(), options(empty), &changed); err != nil || len(res.Actions) != 1 || res.Actions[0].Action != "change" {
		t.Errorf("%+v, %v", res, err)
	}
	other := *r
	other.Schemas = map[string][]maintain.SchemaDoc{"public/default/orders": {{Type: 7}}}
	if _, err := maintain.LoadResources(context.Background(), options(empty), &other); !errors.Is(err, maintain.ErrBadResources) {
		t.Error(err)
	}
	for _, bad := range []string{"- 1", "tenants: 3", "tenantz: {}", ""} {
		if _, err := maintain.ParseResources([]byte(bad)); !errors.Is(err, maintain.ErrBadResources) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	sound(t, empty)
}

// TestDoctor: each state of a spool gets its word and its next command.
func TestDoctor(t *testing.T) {
	doctor := func(dir string) *maintain.Diagnosis {
		t.Helper()
		d, err := maintain.Doctor(context.Background(), maintain.DoctorOptions{Options: options(dir), Full: true})
		must(t, err)
		return d
	}
	dir := makeSpool(t)
	if d := doctor(dir); d.State != "healthy" || len(d.Complaints) != 0 || d.Next != nil {
		t.Errorf("%+v", d)
	}
	o := options(dir)
	o.Step = func(s string) error {
		if s == "switch" {
			return errKilled
		}
		return nil
	}
	if _, err := maintain.ClearCursor(context.Background(), cursorOf(t, o, orders, "billing")); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if d := doctor(dir); d.State != maintain.SeverityWarning || d.Next == nil || !strings.Contains(*d.Next, "storage recover") {
		t.Errorf("%+v", d)
	}
	must(t, maintain.Recover(options(dir)))
	must(t, os.RemoveAll(filepath.Join(dir, "store")))
	if d := doctor(dir); d.Healthy() || !strings.Contains(*d.Next, "restore") {
		t.Errorf("%+v", d)
	}
	if _, err := maintain.Doctor(context.Background(), maintain.DoctorOptions{Options: options(t.TempDir())}); !errors.Is(err, storage.ErrNoSpool) {
		t.Error(err)
	}
}
