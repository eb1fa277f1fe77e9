package storage_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spoolctl/storage"
	"spoolctl/storage/storagetest"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var (
	crashSeeds = flag.Int("crash.seeds", 1000, "power losses to try")
	crashFirst = flag.Uint64("crash.first", 1, "first seed")
)

// TestCrash cuts the power before a random write, sync or other change of a file in a random workload, on a file system that
// then forgets a random part of what was not synced, and opens what is left. Every acknowledged publish must be there once and in order, every
// acknowledgement that was answered must hold, and the counters must equal what the entries say.
func TestCrash(t *testing.T) {
	seeds := *crashSeeds
	if testing.Short() {
		seeds = min(seeds, 100)
	}
	var stored, extra, acks atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		for part := range 4 {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for i := part; i < seeds; i += 4 {
					c := &crash{T: t, seed: *crashFirst + uint64(i)}
					c.run()
					stored.Add(c.stored)
					extra.Add(c.extra)
					acks.Add(c.acks)
					if t.Failed() {
						return
					}
				}
			})
		}
	})
	t.Logf("%d power losses: %d acknowledged entries kept, %d unanswered entries kept as well, %d answered acknowledgements kept",
		seeds, stored.Load(), extra.Load(), acks.Load())
}

// crash is one power loss.
type crash struct {
	*testing.T
	seed                uint64
	rng                 *rand.Rand
	topics              []*crashTopic
	stored, extra, acks int64

	bucket  *storagetest.Bucket
	objects map[string][]byte // that the power loss left

	mem      *vfs.MemFS
	at       int64        // the change of a file before which the power is cut
	changes  atomic.Int64 // changes so far
	once     sync.Once    // the power is cut once
	left     *vfs.MemFS   // what the power loss left
	mu       sync.Mutex   // guards the oracle's maps and what follows
	promises []promise    // of each topic, at that moment
}

// promise is what must survive: everything that was answered.
type promise struct {
	entries []storage.Appended
	acks    []wire.Position
	mark    wire.Position
}

// cut takes what is promised, then what is left on disk: in this order, so that what is answered in between is no promise.
func (c *crash) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ct := range c.topics {
		c.promises = append(c.promises, promise{ct.sk.Wait(0), slices.Collect(maps.Keys(ct.answered)), ct.mark})
	}
	// Objects are as they were at that moment; what came or went while the files were copied is there.
	c.objects = c.bucket.All()
	defer func() { maps.Copy(c.objects, c.bucket.All()) }()
	c.left = c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(c.seed*37) % 101, RNG: rand.New(rand.NewPCG(c.seed, 3))})
}

// MaybeError implements errorfs.Injector: it injects nothing but the power loss.
func (c *crash) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && c.changes.Add(1) == c.at {
		c.once.Do(c.cut)
	}
	return nil
}

// String implements errorfs.Injector.
func (*crash) String() string { return "power loss" }

// crashTopic is the oracle for one topic.
type crashTopic struct {
	name     string
	tp       *storage.Topic
	sk       *storagetest.Sink
	sent     int
	answered map[wire.Position]bool // acknowledgements with an answer
	sentAcks map[wire.Position]bool // all acknowledgements
	mark     wire.Position          // highest cumulative one with an answer
}

func (c *crash) options(fs vfs.FS) storage.Options {
	o := storage.Options{
		Dir: "spool", FS: fs, CursorFlushInterval: time.Millisecond,
		MemTableBytes: 64 << 10, Ledger: storage.LedgerLimits{MaxEntries: 5 + c.rng.Int64N(60)},
	}
	if c.offloads() {
		o.Bucket, o.OffloadInterval = c.bucket, time.Millisecond
	}
	return o
}

func (c *crash) run() {
	ctx := context.Background()
	c.rng = rand.New(rand.NewPCG(c.seed, 17))
	c.mem, c.bucket = vfs.NewCrashableMem(), storagetest.NewBucket(nil)
	c.at = 1 + c.rng.Int64N(600)
	s, err := storage.Open(ctx, c.options(errorfs.Wrap(c.mem, c)))
	if err != nil {
		c.Fatalf("seed %d: %v", c.seed, err)
	}
	for i := range 1 + c.rng.IntN(3) {
		ct := &crashTopic{name: fmt.Sprint("t", i), answered: map[wire.Position]bool{}, sentAcks: map[wire.Position]bool{}}
		ct.tp, ct.sk = create(c.T, s, ct.name)
		cursor(c.T, ct.tp, "sub")
		c.mu.Lock()
		c.topics = append(c.topics, ct)
		c.mu.Unlock()
	}
	for range 5 + c.rng.IntN(40) {
		c.step(s)
	}
	c.once.Do(c.cut) // at the end, when there were fewer changes
	if err := s.Close(ctx); err != nil {
		c.Fatalf("seed %d: close: %v", c.seed, err)
	}

	c.bucket = storagetest.NewBucket(c.objects)
	s, err = storage.Open(ctx, c.options(c.left))
	if err != nil {
		c.Fatalf("seed %d: open after the crash: %v", c.seed, err)
	}
	for i, p := range c.promises {
		c.check(s, c.topics[i], p)
	}
	if err := s.Close(ctx); err != nil {
		c.Fatalf("seed %d: %v", c.seed, err)
	}
	c.checkOffline(c.left)
}

// numbered reports whether the seed's publishes take part in deduplication.
func (c *crash) numbered() bool { return c.seed%2 == 0 }

// offloads and compacts report whether ledgers go to an object store, and whether topics are compacted.
func (c *crash) offloads() bool { return c.seed%3 == 0 }
func (c *crash) compacts() bool { return c.seed%5 == 0 }

func (c *crash) step(s *storage.Store) {
	ctx := context.Background()
	ct := c.topics[c.rng.IntN(len(c.topics))]
	switch n := c.rng.IntN(12); {
	case n == 0 && c.compacts():
		if err := ct.tp.Compact(ctx); err != nil {
			c.Fatalf("seed %d: %v", c.seed, err)
		}
	case n == 1 && c.offloads():
		lag := time.Duration(c.rng.IntN(2)) * time.Hour
		ct.tp.SetOffloadPolicy(storage.OffloadPolicy{Threshold: c.rng.Int64N(4000), DeletionLag: lag})
	case n == 2: // unload
		if err := ct.tp.Close(ctx); err != nil {
			c.Fatalf("seed %d: %v", c.seed, err)
		}
		var err error
		if ct.tp, err = s.OpenTopic(ctx, name(c.T, ct.name), ct.sk); err != nil {
			c.Fatalf("seed %d: %v", c.seed, err)
		}
	case n < 6: // acknowledge some of what is stored
		done := ct.sk.Wait(0)
		if len(done) == 0 {
			return
		}
		cur := ct.tp.Cursor("sub")
		wait := c.rng.IntN(2) == 0
		result := make(chan error, 1)
		answer := func(err error) { result <- err }
		if !wait {
			answer = nil
		}
		p := done[c.rng.IntN(len(done))].Position
		if c.rng.IntN(4) == 0 {
			if err := cur.AckCumulative(storage.Ack{Position: p}, nil, answer); err != nil {
				c.Fatalf("seed %d: cumulative ack of %v: %v", c.seed, p, err)
			}
			if wait {
				<-result
				c.mu.Lock()
				if ct.mark.Less(p) {
					ct.mark = p
				}
				c.mu.Unlock()
			}
			for _, a := range done {
				if !p.Less(a.Position) {
					ct.sentAcks[a.Position] = true
				}
			}
			return
		}
		ct.sentAcks[p] = true
		if err := cur.Ack([]storage.Ack{{Position: p}}, answer); err != nil {
			c.Fatalf("seed %d: ack of %v: %v", c.seed, p, err)
		}
		if wait {
			if err := <-result; err != nil {
				c.Fatalf("seed %d: %v", c.seed, err)
			}
			c.mu.Lock()
			ct.answered[p] = true
			c.mu.Unlock()
		}
	default: // publish
		for range 1 + c.rng.IntN(30) {
			data := make([]byte, 8+c.rng.IntN(600))
			copy(data, fmt.Sprintf("%08d", ct.sent))
			a := storage.Append{Data: data, PublishTime: int64(ct.sent), Messages: 1 + int32(ct.sent%3), Sequence: uint64(ct.sent)}
			if c.numbered() {
				a.Producer = ct.tp.ProducerState("producer")
			}
			if err := ct.tp.Append(a); err != nil {
				c.Fatalf("seed %d: %v", c.seed, err)
			}
			ct.sent++
		}
		if c.rng.IntN(2) == 0 {
			ct.sk.Wait(ct.sent)
		}
	}
}

// readAll reads a topic, in which no publish may be missing between the first and the last, and returns the last.
func (c *crash) readAll(ct *crashTopic, read func(ctx context.Context, from wire.Position, maxEntries, maxBytes int, dst []storage.Entry) ([]storage.Entry, error)) (have map[wire.Position]string, last int) {
	have, last = map[wire.Position]string{}, -1
	for next := wire.Earliest(); ; {
		got, err := read(context.Background(), next, 64, 1<<20, nil)
		if err != nil {
			c.Fatalf("seed %d: %s: read: %v", c.seed, ct.name, err)
		}
		if len(got) == 0 {
			return have, last
		}
		for _, e := range got {
			seq := -1
			if _, err := fmt.Sscanf(string(e.Data[:8]), "%d", &seq); err != nil || (last >= 0 && seq != last+1) {
				c.Errorf("seed %d: %s: entry %v holds publish %d after %d", c.seed, ct.name, e.Position, seq, last)
			}
			last = seq
			have[e.Position] = string(e.Data)
			next = wire.Position{Ledger: e.Position.Ledger, Entry: e.Position.Entry + 1}
		}
	}
}

// check compares a recovered topic with what was promised.
func (c *crash) check(s *storage.Store, ct *crashTopic, pr promise) {
	tp, err := s.OpenTopic(context.Background(), name(c.T, ct.name), storagetest.NewSink())
	if err != nil {
		c.Fatalf("seed %d: %s: %v", c.seed, ct.name, err)
	}
	first := tp.First()
	have, lastSeq := c.readAll(ct, tp.Read)
	if _, last := c.readAll(ct, tp.ReadCompacted); last != lastSeq { // nothing has a key, so everything is kept
		c.Errorf("seed %d: %s: the compacted topic ends with publish %d, the topic with %d", c.seed, ct.name, last, lastSeq)
	}
	if known := tp.ProducerState("producer").LastSequence(); c.numbered() && lastSeq >= 0 && known != int64(lastSeq) {
		c.Errorf("seed %d: %s: the last entry is publish %d, deduplication knows %d", c.seed, ct.name, lastSeq, known)
	}
	kept := int64(0)
	for _, p := range pr.entries {
		if p.Position.Less(first) {
			continue // trimmed: the cursor had passed it
		}
		if have[p.Position] != string(p.Data) {
			c.Errorf("seed %d: %s: acknowledged entry %v is lost", c.seed, ct.name, p.Position)
			return
		}
		kept++
	}
	c.stored += kept
	c.extra += int64(len(have)) - kept
	cur := tp.Cursor("sub")
	for _, p := range pr.acks {
		if !cur.Acked(p) {
			c.Errorf("seed %d: %s: answered acknowledgement of %v is lost", c.seed, ct.name, p)
		}
		c.acks++
	}
	if md := cur.MarkDelete(); md.Less(pr.mark) {
		c.Errorf("seed %d: %s: answered cumulative acknowledgement of %v is lost, mark-delete is %v", c.seed, ct.name, pr.mark, md)
	}
	for p := range have {
		if cur.Acked(p) && !ct.sentAcks[p] {
			c.Errorf("seed %d: %s: %v is acknowledged though nobody did", c.seed, ct.name, p)
		}
	}
}

// checkOffline reads the spool as the inspector does and recounts every cursor.
func (c *crash) checkOffline(fs vfs.FS) {
	s, err := storage.OpenRead(storage.ReadOptions{Dir: "spool", FS: fs, Bucket: c.bucket})
	if err != nil {
		c.Fatalf("seed %d: %v", c.seed, err)
	}
	defer s.Close()
	err = s.EachTopic(func(h storage.TopicHead) error {
		t, err := s.Topic(h.ID)
		if err != nil {
			return err
		}
		for _, cur := range t.Cursors {
			want, err := cur.Recount(t.Cumulative)
			if err != nil {
				return err
			}
			if want != cur.Consumed {
				c.Errorf("seed %d: %s: cursor counts %+v, entries say %+v", c.seed, h.Name, cur.Consumed, want)
			}
			n := int64(0)
			for from := wire.Earliest(); ; {
				var got []storage.PendingEntry
				got, from, err = t.Pending(context.Background(), cur, from, 50, 1<<20, nil)
				if err != nil {
					return err
				}
				if len(got) == 0 {
					break
				}
				n += int64(len(got))
			}
			if b := t.Backlog(cur); b.Entries != n {
				c.Errorf("seed %d: %s: backlog %d entries, %d are pending", c.seed, h.Name, b.Entries, n)
			}
		}
		return nil
	})
	if err != nil {
		c.Errorf("seed %d: offline: %v", c.seed, err)
	}
}
