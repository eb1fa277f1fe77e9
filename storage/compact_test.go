package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
)

// keyed is a topic whose entries have keys.
type keyed struct {
	*testing.T
	s    *storage.Store
	tp   *storage.Topic
	sk   *storagetest.Sink
	sent int
}

// put publishes "KEY=VALUE" texts; an empty value deletes the key.
func (k *keyed) put(texts ...string) {
	k.Helper()
	stored, refused := k.sk.Results()
	for i, text := range texts {
		key, value, _ := strings.Cut(text, "=")
		data := wire.BuildEntry(&pb.MessageMetadata{
			ProducerName: proto.String("p"), SequenceId: proto.Uint64(uint64(k.sent)), PublishTime: proto.Uint64(uint64(1000 + k.sent)), PartitionKey: &key,
		}, []byte(value))
		if err := k.tp.Append(storage.Append{Data: data, PublishTime: int64(1000 + k.sent)}); err != nil {
			k.Fatal(err)
		}
		k.sent++
		k.sk.Wait(stored + refused + i + 1)
	}
}

// read returns what a new reader of the compacted topic gets.
func (k *keyed) read(most int) (out []string) {
	k.Helper()
	c, err := k.tp.CreateCursor(context.Background(), storage.CursorOptions{Name: "reader", MarkDelete: wire.Earliest()})
	if err != nil {
		k.Fatal(err)
	}
	defer func() {
		if err := k.tp.DeleteCursor(context.Background(), "reader"); err != nil {
			k.Fatal(err)
		}
	}()
	from := c.MarkDelete()
	from.Entry++
	for {
		got, next, err := c.PendingCompacted(context.Background(), from, most, 1<<20, nil)
		if err != nil {
			k.Fatal(err)
		}
		if len(got) == 0 {
			return out
		}
		for _, e := range got {
			parts, err := wire.SplitEntry(e.Data)
			if err != nil {
				k.Fatal(err)
			}
			m, err := wire.ParseMetadata(parts.Metadata)
			if err != nil {
				k.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s=%s", m.PartitionKey, parts.Payload))
		}
		from = next
	}
}

func (k *keyed) expect(want ...string) {
	k.Helper()
	for _, most := range []int{1, 2, 100} {
		if diff := cmp.Diff(want, k.read(most)); diff != "" {
			k.Fatalf("%d at a time:\n%s", most, diff)
		}
	}
}

func (k *keyed) compact() {
	k.Helper()
	if err := k.tp.Compact(context.Background()); err != nil {
		k.Fatal(err)
	}
}

func TestCompact(t *testing.T) {
	ctx, fs := context.Background(), vfs.NewMem()
	small := func(o *storage.Options) {
		o.Ledger.MaxEntries, o.MemTableBytes, o.TailCacheBytes = 3, 64<<10, 1
	}
	k := &keyed{T: t, s: open(t, fs, small)}
	k.tp, k.sk = create(t, k.s, "a")
	again := func() {
		t.Helper()
		closeStore(t, k.s)
		k.s = open(t, fs, small)
		k.tp, k.sk = reopen(t, k.s, "a")
	}
	cursor(t, k.tp, "all")
	k.compact() // an empty topic
	k.put("a=1", "b=1", "a=2", "c=1", "b=")
	k.expect("a=1", "b=1", "a=2", "c=1", "b=")
	k.compact()
	k.expect("a=2", "c=1")
	k.put("d=1", "a=3")
	k.expect("a=2", "c=1", "d=1", "a=3")
	again()
	k.expect("a=2", "c=1", "d=1", "a=3")
	k.compact()
	k.expect("c=1", "d=1", "a=3")
	if info := k.tp.Compaction(); info.Entries != 3 || info.Removed != 1 || info.Horizon != k.tp.LastConfirmed() {
		t.Errorf("%+v", info)
	}
	k.compact() // nothing came since
	k.expect("c=1", "d=1", "a=3")
	if got := k.tp.Cursor("all").Backlog().Entries; got != 7 || len(readAll(t, k.tp)) != 7 {
		t.Errorf("an ordinary subscription has a backlog of %d entries", got)
	}

	// When the ledgers go, what was kept stays.
	if err := k.tp.Cursor("all").Clear(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		k.put("e=1", "e=2", "e=3") // a new ledger, so that the old ones are closed
	}
	if _, err := k.tp.Trim(ctx); err != nil {
		t.Fatal(err)
	}
	if first := k.tp.Ledgers()[0].StartEntries; first == 0 {
		t.Error("nothing was trimmed")
	}
	k.expect("c=1", "d=1", "a=3", "e=1", "e=2", "e=3", "e=1", "e=2", "e=3")
	k.compact()
	again()
	k.expect("c=1", "d=1", "a=3", "e=3")

	// A compaction that breaks off changes nothing, and leaves nothing behind the next one.
	k.put("c=2")
	broken, cancel := context.WithCancel(ctx)
	cancel()
	if err := k.tp.Compact(broken); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled compaction: %v", err)
	}
	if info := k.tp.Compaction(); info.Err == nil || info.Failed.IsZero() {
		t.Errorf("%+v", info)
	}
	k.expect("c=1", "d=1", "a=3", "e=3", "c=2")
	again()
	k.expect("c=1", "d=1", "a=3", "e=3", "c=2")
	k.compact()
	k.expect("d=1", "a=3", "e=3", "c=2")
	if n := compactedLedgers(t, k.s, fs, small); n != 1 {
		t.Errorf("%d compacted ledgers are there", n)
	}
	k.s = open(t, fs, small)
	k.tp, k.sk = reopen(t, k.s, "a")

	if _, err := k.tp.Truncate(ctx); err != nil {
		t.Fatal(err)
	}
	k.put("z=1")
	k.expect("z=1")
	again()
	k.expect("z=1")
	if n := compactedLedgers(t, k.s, fs, small); n != 0 {
		t.Errorf("%d compacted ledgers are there after a truncation", n)
	}
}

// compactedLedgers closes the store and counts the compacted ledgers of its topic.
func compactedLedgers(t *testing.T, s *storage.Store, fs vfs.FS, _ func(*storage.Options)) int {
	t.Helper()
	closeStore(t, s)
	r, err := storage.OpenRead(storage.ReadOptions{Dir: "spool", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tp, err := r.TopicByName(name(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	return len(tp.Compacted)
}
