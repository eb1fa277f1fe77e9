package storage_test

import (
	"context"
	"fmt"
	"testing"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// modelEntry is an entry as a plain list of messages.
type modelEntry struct {
	pos   wire.Position
	bytes int64
	left  []bool // by message: not acknowledged
}

func (e *modelEntry) pending() (n int64) {
	for _, l := range e.left {
		if l {
			n++
		}
	}
	return n
}

// TestModel runs random operations on a topic with one cursor and on a plain list, and compares after each.
func TestModel(t *testing.T) { rapid.Check(t, model) }

func model(rt *rapid.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	limit := rapid.Int64Range(1, 12).Draw(rt, "entries a ledger")
	openStore := func() *storage.Store {
		s, err := storage.Open(ctx, storage.Options{Dir: "spool", FS: fs, MemTableBytes: 64 << 10,
			Ledger: storage.LedgerLimits{MaxEntries: limit}, TailCacheBytes: rapid.SampledFrom([]int64{1, 500, 1 << 20}).Draw(rt, "tail cache")})
		if err != nil {
			rt.Fatal(err)
		}
		return s
	}
	n, err := wire.ParseTopic("t")
	if err != nil {
		rt.Fatal(err)
	}
	s, sk := openStore(), storagetest.NewSink()
	defer func() { // also when rapid gives this run up
		if err := s.Close(ctx); err != nil {
			rt.Error(err)
		}
	}()
	tp, err := s.CreateTopic(ctx, n, storage.TopicOptions{Sink: sk})
	if err != nil {
		rt.Fatal(err)
	}
	// The anchor keeps every ledger, so that the model need not know about trimming.
	for _, name := range []string{"anchor", "sub"} {
		if _, err := tp.CreateCursor(ctx, storage.CursorOptions{Name: name, MarkDelete: wire.Earliest(), Durable: true}); err != nil {
			rt.Fatal(err)
		}
	}
	var entries []*modelEntry
	sent := 0
	pick := func(rt *rapid.T) *modelEntry {
		if len(entries) == 0 {
			rt.Skip("no entries")
		}
		return entries[rapid.IntRange(0, len(entries)-1).Draw(rt, "entry")]
	}
	clear := func(e *modelEntry, upTo int) {
		for i := range e.left[:upTo] {
			e.left[i] = false
		}
	}
	check := func() {
		var want storage.Backlog
		var first wire.Position
		for i := len(entries) - 1; i >= 0; i-- {
			e := entries[i]
			if p := e.pending(); p > 0 {
				want.Entries++
				want.Messages += p
				want.Bytes += e.bytes
				first = e.pos
			}
		}
		cur := tp.Cursor("sub")
		if got := cur.Backlog(); got != want {
			rt.Fatalf("backlog %+v, want %+v (mark-delete %v, ranges %v)", got, want, cur.MarkDelete(), cur.Ranges(0))
		}
		got, _, err := cur.Pending(ctx, wire.Earliest(), 1000, 1<<20, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if int64(len(got)) != want.Entries || (len(got) > 0 && got[0].Position != first) {
			rt.Fatalf("%d pending entries, want %d from %v", len(got), want.Entries, first)
		}
		i := 0
		for _, e := range entries {
			if cur.Acked(e.pos) != (e.pending() == 0) {
				rt.Fatalf("%v acked: %v, want %v", e.pos, cur.Acked(e.pos), e.pending() == 0)
			}
			if e.pending() == 0 {
				continue
			}
			left := e.pending()
			if words := got[i].Remaining; words != nil {
				for j, l := range e.left {
					if words[j/64]>>(j%64)&1 == 1 != l {
						rt.Fatalf("%v: message %d left: %v, model says %v", e.pos, j, !l, l)
					}
				}
			} else if left != int64(len(e.left)) {
				rt.Fatalf("%v: nothing acknowledged, model says %d of %d left", e.pos, left, len(e.left))
			}
			i++
		}
	}
	words := func(e *modelEntry, keep func(i int) bool) []uint64 {
		w := make([]uint64, (len(e.left)+63)/64)
		for i := range e.left {
			if keep(i) {
				w[i/64] |= 1 << (i % 64)
			}
		}
		return w
	}
	must := func(rt *rapid.T, err error) {
		if err != nil {
			rt.Fatal(err)
		}
	}
	rt.Repeat(map[string]func(*rapid.T){
		"": func(*rapid.T) { check() },
		"publish": func(rt *rapid.T) {
			for range rapid.IntRange(1, 6).Draw(rt, "entries") {
				messages := rapid.IntRange(1, 70).Draw(rt, "messages")
				data := fmt.Appendf(nil, "%d", sent)
				must(rt, tp.Append(storage.Append{Data: data, Messages: int32(messages), PublishTime: int64(sent)}))
				e := &modelEntry{bytes: int64(len(data)), left: make([]bool, messages)}
				for i := range e.left {
					e.left[i] = true
				}
				entries = append(entries, e)
				sent++
			}
			for i, a := range sk.Wait(sent) {
				entries[i].pos = a.Position
			}
		},
		"ack": func(rt *rapid.T) {
			e := pick(rt)
			must(rt, tp.Cursor("sub").Ack([]storage.Ack{{Position: e.pos}}, nil))
			clear(e, len(e.left))
		},
		"ack part": func(rt *rapid.T) {
			e := pick(rt)
			mask := rapid.Uint64().Draw(rt, "mask")
			must(rt, tp.Cursor("sub").Ack([]storage.Ack{{Position: e.pos, Remaining: words(e, func(i int) bool { return mask>>(i%64)&1 == 1 })}}, nil))
			for i := range e.left {
				e.left[i] = e.left[i] && mask>>(i%64)&1 == 1
			}
		},
		"ack cumulative": func(rt *rapid.T) {
			e := pick(rt)
			a := storage.Ack{Position: e.pos}
			upTo := len(e.left)
			if rapid.Bool().Draw(rt, "in part") {
				upTo = rapid.IntRange(0, len(e.left)-1).Draw(rt, "messages")
				a.Remaining = words(e, func(i int) bool { return i >= upTo })
			}
			must(rt, tp.Cursor("sub").AckCumulative(a, nil, nil))
			for _, o := range entries {
				if o == e {
					clear(o, upTo)
					break
				}
				clear(o, len(o.left))
			}
		},
		"seek": func(rt *rapid.T) {
			e := pick(rt)
			must(rt, tp.Cursor("sub").Seek(ctx, e.pos))
			for _, o := range entries {
				for i := range o.left {
					o.left[i] = !o.pos.Less(e.pos)
				}
			}
		},
		"skip": func(rt *rapid.T) {
			n := rapid.Int64Range(1, 100).Draw(rt, "messages")
			skipped, err := tp.Cursor("sub").Skip(ctx, n)
			must(rt, err)
			var done int64
			for _, e := range entries {
				for i := range e.left {
					if e.left[i] && done < n {
						e.left[i] = false
						done++
					}
				}
			}
			if skipped != done {
				rt.Fatalf("skipped %d, want %d", skipped, done)
			}
		},
		"unload": func(rt *rapid.T) {
			must(rt, tp.Close(ctx))
			tp, err = s.OpenTopic(ctx, n, sk)
			must(rt, err)
		},
		"restart": func(rt *rapid.T) {
			must(rt, s.Close(ctx))
			s = openStore()
			tp, err = s.OpenTopic(ctx, n, sk)
			must(rt, err)
		},
	})
}
