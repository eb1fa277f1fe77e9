package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestDeduplication sends random messages of several producers, some of them again and some in chunks, with restarts in
// between: each message is stored once and in order, and every send is answered in order.
func TestDeduplication(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewMem()
		s := open(t, fs)
		tp, sk := create(t, s, "persistent://public/default/d")
		cursor(t, tp, "keeps everything")
		sent := 0
		last := map[string]int64{}
		var want []string
		restart := func() {
			sk.Wait(sent)
			closeStore(t, s)
			s = open(t, fs)
			tp, sk = reopen(t, s, "persistent://public/default/d")
			sent = 0
		}
		send := func(name string, seq int64, chunk, chunks int32) {
			p := tp.ProducerState(name)
			err := tp.Append(storage.Append{Data: fmt.Appendf(nil, "%s-%d-%d", name, seq, chunk), Producer: p,
				Sequence: uint64(seq), Chunk: chunk, Chunks: chunks, Tag: sent})
			if err != nil {
				rt.Fatal(err)
			}
			sent++
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "producer")
			if _, known := last[name]; !known {
				last[name] = -1
			}
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				restart()
			case 1: // again
				if last[name] >= 0 {
					send(name, rapid.Int64Range(0, last[name]).Draw(rt, "old"), 0, 0)
				}
			case 2: // in chunks, broken off after some and then sent again from the start
				last[name] += rapid.Int64Range(1, 3).Draw(rt, "gap")
				n := rapid.Int32Range(2, 4).Draw(rt, "chunks")
				for c := range rapid.Int32Range(0, n).Draw(rt, "before the break") {
					send(name, last[name], c, n)
				}
				if rapid.Bool().Draw(rt, "restart") {
					restart()
				}
				for c := range n {
					send(name, last[name], c, n)
					want = append(want, fmt.Sprintf("%s-%d-%d", name, last[name], c))
				}
			default:
				last[name] += rapid.Int64Range(1, 3).Draw(rt, "gap")
				send(name, last[name], 0, 0)
				want = append(want, fmt.Sprintf("%s-%d-0", name, last[name]))
			}
		}
		results := sk.Wait(sent)
		for i, r := range results {
			if r.Tag != i {
				rt.Fatalf("answer %d is that of send %d", i, r.Tag)
			}
		}
		for name, seq := range last {
			if got := tp.ProducerState(name).LastSequence(); got != seq {
				rt.Errorf("last sequence of %s is %d, want %d", name, got, seq)
			}
		}
		if got := readAll(t, tp); fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Errorf("stored %v\n  want %v", got, want)
		}
		closeStore(t, s)
	})
}

// TestBatchNewInPart checks that a batch of which only the first messages are known is stored: nothing may be lost.
func TestBatchNewInPart(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer closeStore(t, s)
	tp, sk := create(t, s, "persistent://public/default/d")
	p := tp.ProducerState("p")
	for i, a := range []storage.Append{
		{Sequence: 0, Highest: 4}, {Sequence: 0, Highest: 4}, {Sequence: 3, Highest: 6}, {Sequence: 1 << 63},
	} {
		a.Producer, a.Data = p, []byte{byte(i)}
		if err := tp.Append(a); err != nil {
			t.Fatal(err)
		}
	}
	var duplicates []bool
	for _, r := range sk.Wait(4) {
		duplicates = append(duplicates, r.Duplicate)
	}
	if want := []bool{false, true, false, false}; fmt.Sprint(duplicates) != fmt.Sprint(want) {
		t.Errorf("duplicates %v, want %v", duplicates, want)
	}
	if got := p.LastSequence(); got != 6 {
		t.Errorf("last sequence %d", got)
	}
}

// TestDropProducers checks that a producer that was forgotten begins anew, also after a restart.
func TestDropProducers(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	tp, sk := create(t, s, "persistent://public/default/d")
	for _, n := range []string{"stays", "goes"} {
		if err := tp.Append(storage.Append{Data: []byte(n), Producer: tp.ProducerState(n), Sequence: 7}); err != nil {
			t.Fatal(err)
		}
	}
	sk.Wait(2)
	if tp.ProducerState("goes").LastUse().IsZero() {
		t.Error("the time of the last use is not known")
	}
	if err := tp.DropProducers(context.Background(), []string{"goes", "unknown"}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s = open(t, fs)
	defer closeStore(t, s)
	tp, _ = reopen(t, s, "persistent://public/default/d")
	states := tp.ProducerStates()
	if len(states) != 1 || states[0].Name() != "stays" || states[0].LastSequence() != 7 {
		t.Errorf("%d producers are known", len(states))
	}
}

// TestLateEntries blocks completions until entries have waited too long: they are refused with what is behind them, and
// the topic goes on in a new ledger, in which what was refused may be sent again.
func TestLateEntries(t *testing.T) {
	clock := newClock()
	s := open(t, vfs.NewMem(), func(o *storage.Options) {
		o.Now = clock.now
		o.QueueBytes = 64 << 20
		o.Ledger.MaxEntries = 15 // the new ledger begins while the old one is refused
	})
	defer closeStore(t, s)
	sk := &blockingSink{Sink: storagetest.NewSink(), release: make(chan struct{})}
	tp, err := s.CreateTopic(context.Background(), name(t, "persistent://public/default/late"), storage.TopicOptions{Sink: sk})
	if err != nil {
		t.Fatal(err)
	}
	cursor(t, tp, "keeps everything")
	const n = 24 // one batch each: more than may be in flight
	p := tp.ProducerState("p")
	send := func(from, to int) {
		for i := from; i < to; i++ {
			data := make([]byte, 1<<20)
			data[0] = byte(i)
			if err := tp.Append(storage.Append{Data: data, Producer: p, Sequence: uint64(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(0, n)
	clock.advance()
	close(sk.release)
	stored := len(sk.Wait(n))
	if stored == 0 || stored >= 12 {
		t.Fatalf("%d of %d are stored", stored, n)
	}
	if got := sk.cause(); got != storage.ErrStoreDeadline.Error() {
		t.Errorf("the first refusal says %q", got)
	}
	send(0, n)
	var order []byte
	for _, r := range sk.Wait(2 * n) {
		if !r.Duplicate {
			order = append(order, r.Data[0])
		}
	}
	for i, b := range order {
		if int(b) != i {
			t.Fatalf("entry %d is message %d", i, b)
		}
	}
	if len(order) != n || int(tp.Stats().Entries) != n {
		t.Errorf("%d messages are stored, %d counted; want %d", len(order), tp.Stats().Entries, n)
	}
}

// TestCloseBehindLateEntries closes a topic behind entries that are then refused: the ledger's record must not count them.
func TestCloseBehindLateEntries(t *testing.T) {
	clock := newClock()
	s := open(t, vfs.NewMem(), func(o *storage.Options) {
		o.Now = clock.now
		o.QueueBytes = 64 << 20
	})
	defer closeStore(t, s)
	const topic, n = "persistent://public/default/late", 24
	sk := &blockingSink{Sink: storagetest.NewSink(), release: make(chan struct{})}
	tp, err := s.CreateTopic(context.Background(), name(t, topic), storage.TopicOptions{Sink: sk})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := tp.Append(storage.Append{Data: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance()
	given, cancel := context.WithCancel(context.Background())
	cancel() // the closing is queued and not waited for
	if err := tp.Close(given); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(sk.release)
	stored := len(sk.Wait(n))
	if err := s.PutResource(context.Background(), storage.KindTenant, "behind-it", nil); err != nil {
		t.Fatal(err)
	}
	tp, _ = reopen(t, s, topic)
	if got := tp.Stats().Entries; stored == n || got != int64(stored) {
		t.Errorf("%d of %d were stored, %d are there", stored, n, got)
	}
}

// TestSyncModes checks what a power loss takes: entries of a topic without sync unless they ask for it.
func TestSyncModes(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	tp, sk := create(t, s, "persistent://public/default/s")
	fill(t, tp, sk, "synced", 1, 1)
	tp.SetSync(storage.SyncNone)
	fill(t, tp, sk, "loose", 1, 1)
	before := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := tp.Append(storage.Append{Data: []byte("forced"), ForceSync: true}); err != nil {
		t.Fatal(err)
	}
	sk.Wait(3)
	after := fs.CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)
	for _, c := range []struct {
		fs   vfs.FS
		want string
	}{{before, "[synced-0]"}, {after, "[synced-0 loose-0 forced]"}} {
		s := open(t, c.fs)
		tp, _ := reopen(t, s, "persistent://public/default/s")
		if got := fmt.Sprint(readAll(t, tp)); got != c.want {
			t.Errorf("after the power loss: %s, want %s", got, c.want)
		}
		closeStore(t, s)
	}
}
