package storage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// variants are options that must not change what a caller sees.
func variants() map[string]func(*storage.Options) {
	return map[string]func(*storage.Options){
		"defaults":      func(*storage.Options) {},
		"small ledgers": func(o *storage.Options) { o.Ledger.MaxEntries = 3 },
		"many epochs":   func(o *storage.Options) { o.MemTableBytes = 64 << 10 },
		"no tail":       func(o *storage.Options) { o.TailCacheBytes = 1 },
		"narrow queue":  func(o *storage.Options) { o.QueueOps, o.QueueBytes = 2, 100 },
		"no fsync":      func(o *storage.Options) { o.Sync = storage.SyncNone },
		"old ledgers":   func(o *storage.Options) { o.Ledger.MaxAge = time.Nanosecond },
		"all at once": func(o *storage.Options) {
			o.Ledger.MaxBytes, o.MemTableBytes, o.TailCacheBytes, o.QueueOps, o.BlockCacheBytes = 200, 64<<10, 300, 3, 1
		},
	}
}

// TestMetamorphic runs one random program under each variant: what it sees must be the same.
func TestMetamorphic(t *testing.T) {
	programs := uint64(12)
	if testing.Short() {
		programs = 2
	}
	for seed := range programs {
		want := (&program{T: t, rng: rand.New(rand.NewPCG(seed, 5))}).run(func(*storage.Options) {})
		for name, change := range variants() {
			got := (&program{T: t, rng: rand.New(rand.NewPCG(seed, 5))}).run(change)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("program %d with %s:\n%s", seed, name, diff)
			}
		}
	}
}

// program is one run of random operations. It knows entries by their number, as positions depend on the options.
type program struct {
	*testing.T
	rng   *rand.Rand
	tp    *storage.Topic
	sk    *storagetest.Sink
	sent  int
	at    []wire.Position // of each entry
	trace []string
}

func (p *program) run(change func(*storage.Options)) []string {
	fs := vfs.NewMem()
	s := open(p.T, fs, change)
	p.tp, p.sk = create(p.T, s, "a")
	for _, c := range []string{"anchor", "s"} { // the anchor keeps every ledger
		cursor(p.T, p.tp, c)
	}
	for range 60 {
		switch n := p.rng.IntN(20); {
		case n == 0:
			closeStore(p.T, s)
			s = open(p.T, fs, change)
			p.reopen(s)
		case n == 1:
			p.must(p.tp.Close(context.Background()))
			p.reopen(s)
		case n < 9:
			p.publish(p.rng.IntN(12))
		default:
			p.change()
		}
		p.look()
	}
	closeStore(p.T, s)
	return p.trace
}

func (p *program) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *program) reopen(s *storage.Store) { p.tp, p.sk = reopen(p.T, s, "a") }

func (p *program) publish(n int) {
	before, _ := p.sk.Results()
	for range n {
		p.must(p.tp.Append(storage.Append{Data: fmt.Appendf(nil, "entry-%d", p.sent), PublishTime: int64(1000 + p.sent), Messages: p.rng.Int32N(4) + 1}))
		p.sent++
	}
	for _, a := range p.sk.Wait(before + n)[before:] {
		p.at = append(p.at, a.Position)
	}
}

// change does something to the cursor.
func (p *program) change() {
	if len(p.at) == 0 {
		return
	}
	ctx, c := context.Background(), p.tp.Cursor("s")
	pos := p.at[p.rng.IntN(len(p.at))]
	switch p.rng.IntN(8) {
	case 0, 1, 2:
		p.must(c.Ack([]storage.Ack{{Position: pos}}, nil))
	case 3:
		e, err := p.tp.ReadAt(ctx, pos)
		p.must(err)
		p.must(c.Ack([]storage.Ack{{Position: pos, Remaining: []uint64{p.rng.Uint64N(16)}, Messages: e.Header.Messages, Bytes: int64(len(e.Data))}}, nil))
	case 4:
		p.must(c.AckCumulative(storage.Ack{Position: pos}, nil, nil))
	case 5:
		p.must(c.Seek(ctx, pos))
	case 6:
		n, err := c.Skip(ctx, p.rng.Int64N(6)+1)
		p.must(err)
		p.trace = append(p.trace, fmt.Sprint("skipped ", n))
	case 7:
		found, err := p.tp.SeekTime(ctx, int64(1000+p.rng.IntN(p.sent+1)))
		p.must(err)
		for i, q := range p.at {
			if q == found {
				p.trace = append(p.trace, fmt.Sprint("by time: ", i))
			}
		}
	}
}

// look notes everything that can be seen of the cursor.
func (p *program) look() {
	c := p.tp.Cursor("s")
	p.trace = append(p.trace, fmt.Sprintf("backlog %+v", c.Backlog()))
	from, most := wire.Earliest(), 1+p.rng.IntN(9)
	for {
		got, next, err := c.Pending(context.Background(), from, most, 1<<20, nil)
		p.must(err)
		if len(got) == 0 {
			break
		}
		for _, e := range got {
			p.trace = append(p.trace, fmt.Sprintf("%s %d %x %d", e.Data, e.Header.Messages, e.Remaining, e.Header.TotalMessages))
		}
		from = next
	}
	st := p.tp.Stats()
	p.trace = append(p.trace, fmt.Sprint(st.Entries, st.Messages, st.Bytes, st.AddedEntries))
}
