package compaction_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"spoolctl/storage/compaction"
	"spoolctl/storage/record"
	"spoolctl/wire"
	"spoolctl/wire/pb"

	"pgregory.net/rapid"
)

// TestOracle compares compactions of random topics, in any memory, with the rules applied to the messages as such.
func TestOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := drawTopic(t)
		retain := rapid.Bool().Draw(t, "retain keyless")
		want := oracle(items, retain)
		var tp topic
		for _, it := range items {
			tp = append(tp, it.encode(t))
		}
		out, stats, err := compact(tp, compaction.Options{
			MemoryBytes:   rapid.SampledFrom([]int64{1, 90, 200, 400, 1000, 1 << 20}).Draw(t, "memory"),
			RetainNullKey: retain,
		})
		if err != nil {
			t.Fatal(err)
		}
		messages := int64(0)
		for i, w := range want {
			if w == nil {
				continue
			}
			if len(out) == 0 || out[0].Position != position(i) {
				t.Fatalf("entry %d is not kept", i)
			}
			if err := check(items[i], tp[i], out[0], w); err != nil {
				t.Fatalf("entry %d: %v", i, err)
			}
			messages += int64(count(w))
			out = out[1:]
		}
		if len(out) > 0 {
			t.Fatalf("entry %s is kept", out[0].Position)
		}
		if stats.Entries != int64(len(items)) || stats.KeptMessages != messages {
			t.Fatalf("%+v: %d messages were kept of %d entries", stats, messages, len(items))
		}
	})
}

func drawTopic(t *rapid.T) (items []item) {
	draw := func() msg {
		return msg{key: rapid.SampledFrom([]string{"", "a", "bb", "c", "dd", "e", "ff", "g", "hh"}).Draw(t, "key"),
			value: rapid.SampledFrom([]string{"", "1", "22", "a longer value, a longer value"}).Draw(t, "value")}
	}
	type sending struct {
		item
		key string
	}
	var open []sending // chunked messages of which more may come
	for n := range rapid.IntRange(0, 40).Draw(t, "entries") {
		it := item{form: form(rapid.IntRange(0, int(chunkOf)).Draw(t, "form")), broker: rapid.Bool().Draw(t, "broker"),
			compress: pb.CompressionType(rapid.IntRange(0, 4).Draw(t, "compression")), msgs: []msg{draw()}}
		switch it.form {
		case batch, encryptedBatch:
			for range rapid.IntRange(0, 5).Draw(t, "more") {
				m := draw()
				m.gone = it.form == batch && rapid.IntRange(0, 4).Draw(t, "gone") == 0
				it.msgs = append(it.msgs, m)
			}
		case chunkOf:
			at := rapid.IntRange(0, len(open)).Draw(t, "which")
			if at == len(open) {
				open = append(open, sending{item{uuid: fmt.Sprint("u", n), total: int32(rapid.IntRange(2, 4).Draw(t, "chunks"))}, it.msgs[0].key})
			}
			s := &open[at]
			it.uuid, it.chunk, it.total, it.msgs[0].key, it.compress = s.uuid, s.chunk, s.total, s.key, 0
			if s.chunk++; s.chunk == s.total {
				open = append(open[:at:at], open[at+1:]...)
			}
		}
		items = append(items, it)
	}
	return items
}

// oracle returns for each entry which messages stay; nil when the entry goes.
func oracle(items []item, retain bool) [][]bool {
	type place struct{ item, index int }
	last, done := map[string]place{}, map[string]bool{}
	for i, it := range items {
		for j, m := range it.msgs {
			switch {
			case it.form == encryptedBatch || it.form == garbage || it.form == marker || m.gone || m.key == "" || it.form == chunkOf && it.chunk < it.total-1:
			case m.value == "" && it.form != chunkOf:
				delete(last, m.key)
			default:
				last[m.key] = place{i, j}
			}
		}
		done[it.uuid] = it.uuid != "" && it.chunk == it.total-1
	}
	want := make([][]bool, len(items))
	for i, it := range items {
		stays := make([]bool, len(it.msgs))
		for j, m := range it.msgs {
			at, known := last[m.key]
			switch {
			case it.form == encryptedBatch || it.form == garbage:
				stays[j] = true
			case it.form == marker || m.gone:
			case m.key == "":
				stays[j] = retain
			case it.form == chunkOf:
				stays[j] = !done[it.uuid] || known && items[at.item].uuid == it.uuid
			default:
				stays[j] = known && at == place{i, j}
			}
		}
		if it.form == encryptedBatch || it.form == garbage {
			stays = []bool{true} // one, whatever is in it
		}
		if count(stays) > 0 {
			want[i] = stays
		}
	}
	return want
}

func count(stays []bool) (n int) {
	for _, s := range stays {
		if s {
			n++
		}
	}
	return n
}

// check compares an emitted entry with what should be left of it.
func check(it item, original []byte, got compaction.Entry, stays []bool) error {
	present := 0
	for _, m := range it.msgs {
		if !m.gone {
			present++
		}
	}
	if it.form != batch || count(stays) == present {
		if !bytes.Equal(got.Data, original) {
			return errors.New("its bytes changed")
		}
		return nil
	}
	parts, err := wire.SplitEntry(got.Data)
	if err != nil {
		return err
	}
	if err := parts.Verify(); err != nil || !parts.HasChecksum || got.Header.Checksum != record.ChecksumVerified {
		return fmt.Errorf("checksum: %w", err)
	}
	if it.broker != bytes.Equal(parts.Broker, []byte{8, 1}) {
		return fmt.Errorf("broker metadata %x", parts.Broker)
	}
	meta, err := wire.ParseMetadata(parts.Metadata)
	if err != nil || int(meta.NumMessages) != len(it.msgs) {
		return fmt.Errorf("%d messages: %w", meta.NumMessages, err)
	}
	payload, err := wire.Decompress(&meta, parts.Payload, 1<<20)
	if err != nil {
		return err
	}
	for s, err := range wire.Unbatch(&meta, payload) {
		if err != nil {
			return err
		}
		m := it.msgs[s.Index]
		switch {
		case stays[s.Index] && (s.Meta.GetCompactedOut() || s.Meta.GetPartitionKey() != m.key || string(s.Payload) != m.value || s.Meta.GetSequenceId() != uint64(s.Index)):
			return fmt.Errorf("message %d became %v %q", s.Index, s.Meta, s.Payload)
		case !stays[s.Index] && (!s.Meta.GetCompactedOut() || len(s.Payload) > 0):
			return fmt.Errorf("message %d is there: %v %q", s.Index, s.Meta, s.Payload)
		}
	}
	return nil
}

// TestCompactsTwice checks that the result of a compaction is a source, and that compacting it changes nothing.
func TestCompactsTwice(t *testing.T) {
	var tp topic
	for i := range 20 {
		tp = append(tp, item{form: batch, compress: pb.CompressionType_ZSTD, msgs: []msg{{key: fmt.Sprint(i % 7), value: "v"}, {key: fmt.Sprint(i), value: "w"}}}.encode(t))
	}
	once, first, err := compact(tp, compaction.Options{})
	if err != nil || len(once) == 0 || first.KeptMessages != 20 {
		t.Fatalf("%d entries, %+v, %v", len(once), first, err)
	}
	var result topic
	for _, e := range once {
		result = append(result, e.Data)
	}
	twice, stats, err := compact(result, compaction.Options{})
	if err != nil || len(twice) != len(once) || stats.KeptMessages != 20 || stats.KeptBytes != first.KeptBytes {
		t.Errorf("%d entries, %+v, %v", len(twice), stats, err)
	}
}

// TestDamagedBatch checks that a batch with a wrong checksum is not given a right one.
func TestDamagedBatch(t *testing.T) {
	entry := item{form: batch, msgs: []msg{{key: "a", value: "1"}, {key: "b", value: "2"}}}.encode(t)
	entry[len(entry)-1] ^= 1
	tp := topic{entry, item{form: single, msgs: []msg{{key: "a", value: "3"}}}.encode(t)}
	out, stats, err := compact(tp, compaction.Options{})
	if err != nil || len(out) != 2 || !bytes.Equal(out[0].Data, entry) || stats.Whole != 1 {
		t.Errorf("%d entries, %+v, %v", len(out), stats, err)
	}
}

// TestErrors checks that errors of the source, of Emit and of the context come back.
func TestErrors(t *testing.T) {
	tp := topic{item{msgs: []msg{{key: "a", value: "1"}}}.encode(t)}
	boom := errors.New("boom")
	if _, err := compaction.Run(context.Background(), tp.read, compaction.Options{Emit: func(compaction.Entry) error { return boom }}); !errors.Is(err, boom) {
		t.Error("emit:", err)
	}
	if _, err := compaction.Run(context.Background(), func(context.Context, wire.Position, func(compaction.Entry) error) error { return boom }, compaction.Options{}); !errors.Is(err, boom) {
		t.Error("source:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := compaction.Run(ctx, tp.read, compaction.Options{}); !errors.Is(err, context.Canceled) {
		t.Error("context:", err)
	}
	shrinking := func(ctx context.Context, from wire.Position, each func(compaction.Entry) error) error {
		err := tp.read(ctx, from, each)
		tp = tp[:0]
		return err
	}
	if _, err := compaction.Run(ctx, shrinking, compaction.Options{}); !errors.Is(err, context.Canceled) {
		t.Error("context:", err)
	}
	tp = topic{item{msgs: []msg{{key: "a", value: "1"}}}.encode(t)}
	if _, err := compaction.Run(context.Background(), shrinking, compaction.Options{}); !errors.Is(err, compaction.ErrSourceChanged) {
		t.Error("a topic that is trimmed:", err)
	}
}

// TestPasses checks that the source is read about as often as the keys need.
func TestPasses(t *testing.T) {
	const keys, room = 20_000, 1000
	var tp topic
	for i := range keys {
		tp = append(tp, item{msgs: []msg{{key: fmt.Sprint(i), value: "v"}}}.encode(t))
	}
	out, stats, err := compact(tp, compaction.Options{MemoryBytes: room * 64 * 4 / 3})
	if err != nil || len(out) != keys {
		t.Fatalf("%d entries, %v", len(out), err)
	}
	if least := keys/room + 1; stats.Passes < least || stats.Passes > least+least/3 {
		t.Errorf("%d passes for %d times the room", stats.Passes, keys/room)
	}
}

// FuzzEntries compacts a topic of any bytes: nothing may panic, and what is emitted must be a source with no more in it.
func FuzzEntries(f *testing.F) {
	f.Add(item{form: batch, compress: pb.CompressionType_LZ4, msgs: []msg{{key: "a", value: "11111111"}, {key: "b", value: "1"}}}.encode(f),
		item{form: single, broker: true, msgs: []msg{{key: "a", value: "2"}}}.encode(f), int64(1))
	f.Add(item{form: chunkOf, uuid: "u", total: 2, msgs: []msg{{key: "a", value: "1"}}}.encode(f),
		item{form: chunkOf, uuid: "u", chunk: 1, total: 2, msgs: []msg{{key: "a", value: "1"}}}.encode(f), int64(300))
	f.Fuzz(func(t *testing.T, a, b []byte, memory int64) {
		out, stats, err := compact(topic{a, b, a}, compaction.Options{MemoryBytes: memory & 0xffff, MaxEntryBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var result topic
		for _, e := range out {
			result = append(result, e.Data)
		}
		again, second, err := compact(result, compaction.Options{MaxEntryBytes: 1 << 20})
		if err != nil || len(again) != len(out) || second.KeptMessages != stats.KeptMessages {
			t.Fatalf("%+v, again %+v, %v", stats, second, err)
		}
	})
}
