package maintain_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"spoolctl/inspect/damage"
	"spoolctl/maintain"
	"spoolctl/storage"
	"spoolctl/storage/key"
	"spoolctl/wire"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

func salvage(t testing.TB, dir string) (*maintain.SalvageResult, string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "saved")
	res, err := maintain.Salvage(context.Background(), maintain.SalvageOptions{Options: options(dir), To: to})
	if err != nil {
		t.Fatalf("salvage of %s: %v", dir, err)
	}
	return res, to
}

// TestSalvageSound: of a sound spool everything is saved, unclean stop or not.
func TestSalvageSound(t *testing.T) {
	dir := makeSpool(t)
	was := tree(t, dir)
	res, to := salvage(t, dir)
	if !res.Whole() || !res.Done || res.LostEntries != 0 || res.Topics != 2 || res.Entries != 52 || res.Cursors != 3 || len(res.Files) < 4 {
		t.Errorf("%+v", res)
	}
	sound(t, to)
	if diff := cmp.Diff(contents(t, dir), contents(t, to)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(was, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	a, err := storage.ReadIdentity(vfs.Default, dir)
	must(t, err)
	b, err := storage.ReadIdentity(vfs.Default, to)
	must(t, err)
	if a != b {
		t.Errorf("identity %v became %v", a, b)
	}
	dry := options(dir)
	dry.DryRun = true
	gone := filepath.Join(t.TempDir(), "dry")
	again, err := maintain.Salvage(context.Background(), maintain.SalvageOptions{Options: dry, To: gone})
	if err != nil || again.Done || again.Entries != res.Entries || again.Topics != res.Topics {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("a dry run made the spool")
	}
	s := open(t, storage.Options{Dir: to}) // it takes entries
	more(t, s, orders, 40, 3)
	must(t, s.Close(context.Background()))
	sound(t, to)
}

// TestSalvageKilled: a kill leaves nothing where the new spool shall be, and the next run goes through.
func TestSalvageKilled(t *testing.T) {
	dir := makeSpool(t)
	want := contents(t, dir)
	to := filepath.Join(t.TempDir(), "saved")
	for n := 0; ; n++ {
		o := maintain.SalvageOptions{Options: options(dir), To: to}
		if !killAt(&o.Options, n, func() error { _, err := maintain.Salvage(context.Background(), o); return err }, t) {
			break
		}
		if _, err := os.Stat(to); err == nil {
			t.Fatal("there is something after a kill")
		}
	}
	if diff := cmp.Diff(want, contents(t, to)); diff != "" {
		t.Error(diff)
	}
}

// corruptStride is the distance of the places that TestCorrupt damages; see the Makefile's corrupt.
var corruptStride = flag.Int64("corrupt.stride", 0, "distance of the bytes that are flipped and the lengths that are cut at; 1 tries all, 0 a few")

// corruptCounts is what TestCorrupt prints.
type corruptCounts struct {
	flips, cuts     atomic.Int64
	saved, lost     atomic.Int64 // entries
	whole, problems atomic.Int64 // answers of salvage
	sick, healthy   atomic.Int64 // answers of doctor
}

// TestCorrupt flips bytes of every file in turn, and cuts files short: salvage and doctor neither fail nor panic, salvage
// saves every entry whose bytes are intact, and nothing is missing without being said. It does so with a spool of which
// the newest entries are in the log only, and with one that was stopped.
func TestCorrupt(t *testing.T) {
	dir := makeSpool(t)
	left := newOracle(t, killed(t, dir))
	stopped := newOracle(t, dir)
	if len(left.inLog) == 0 || len(stopped.inLog) > 0 {
		t.Fatalf("%d entries in the log of the killed spool, %d in the other's", len(left.inLog), len(stopped.inLog))
	}
	var n corruptCounts
	t.Run("killed", func(t *testing.T) { left.corrupt(t, &n, nil) })
	t.Run("stopped", func(t *testing.T) { stopped.corrupt(t, &n, left.files) })
	t.Logf("%d bytes flipped and %d files cut: doctor found nothing to repair %d times, something %d times; salvage saved everything %d times, a part %d times; %d entries were saved, and %d lost where their bytes were damaged; no intact entry was lost, and nothing was missing in silence",
		n.flips.Load(), n.cuts.Load(), n.healthy.Load(), n.sick.Load(), n.whole.Load(), n.problems.Load(), n.saved.Load(), n.lost.Load())
}

// corrupt damages the files that are not the same in another spool of the same origin.
func (o *oracle) corrupt(t *testing.T, n *corruptCounts, same map[string]int64) {
	for file, size := range o.files {
		if same[file] == size {
			continue
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			for _, at := range places(rand.New(rand.NewPCG(1, uint64(size))), size) {
				n.flips.Add(1)
				o.try(t, file, at, false, n)
				n.cuts.Add(1)
				o.try(t, file, at, true, n)
			}
		})
	}
}

// places are the offsets to damage: those that the flag tells, or a sample that has the ends.
func places(rng *rand.Rand, size int64) (out []int64) {
	if *corruptStride > 0 {
		for at := int64(0); at < size; at += *corruptStride {
			out = append(out, at)
		}
		return out
	}
	for range min(3, 1+size/2000) {
		out = append(out, rng.Int64N(size))
	}
	return append(out, size-1)
}

// killed appends what only the log has, and returns a copy of the spool as a kill would leave it then.
func killed(t testing.TB, dir string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "spool")
	s := open(t, storage.Options{Dir: dir, Ledger: storage.LedgerLimits{MaxEntries: 8}, Now: options(dir).Now})
	more(t, s, orders, 40, 10)
	must(t, os.CopyFS(left, os.DirFS(dir)))
	must(t, s.Close(context.Background()))
	return left
}

// oracle knows where the entries of a sound spool are.
type oracle struct {
	dir     string
	all     map[string]bool     // files
	files   map[string]int64    // those that are not empty
	entries map[string][]byte   // by key
	inTable map[string]string   // key -> table
	inLog   map[string][3]int64 // key -> number of the log, start and end of its record
	logs    map[int64]string
}

func newOracle(t testing.TB, dir string) *oracle {
	t.Helper()
	o := &oracle{dir: dir, all: map[string]bool{}, files: map[string]int64{}, entries: map[string][]byte{}, inTable: map[string]string{}, inLog: map[string][3]int64{}, logs: map[int64]string{}}
	store := filepath.Join(dir, storage.StoreDir)
	for f := range tree(t, dir) {
		info, err := os.Stat(dir + f)
		must(t, err)
		if name := strings.TrimPrefix(f, "/"); info.Mode().IsRegular() {
			o.all[name] = true
			if info.Size() > 0 {
				o.files[name] = info.Size()
			}
		}
	}
	s, err := storage.OpenRead(storage.ReadOptions{Dir: dir})
	must(t, err)
	defer s.Close()
	lower, upper := key.Entry.Bounds()
	it, err := s.Reader().NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	must(t, err)
	for ok := it.First(); ok; ok = it.Next() {
		o.entries[string(it.Key())] = bytes.Clone(it.Value())
	}
	must(t, it.Close())
	do := damage.Options{FS: vfs.Default, Dir: store, Show: "store", Memory: 1 << 20}
	m := damage.ReadManifest(vfs.Default, store, "store")
	for _, table := range m.Live() {
		_, err := damage.ReadVersions(do, table, nil, nil, func(v damage.Version) error {
			o.inTable[string(v.Key)] = "store/" + damage.TableFile(table.File)
			return nil
		})
		must(t, err)
	}
	files, err := damage.ListFiles(vfs.Default, store)
	must(t, err)
	for _, l := range files.Needed(m) {
		var starts []int64
		_, err = damage.ReadLogVersions(do, m, damage.Files{Logs: []damage.LogFile{l}}, func(v damage.LogVersion) error {
			if v.First {
				starts = append(starts, v.Offset)
			}
			o.inLog[string(v.Key)] = [3]int64{int64(l.Number), v.Offset, l.Size}
			return nil
		})
		must(t, err)
		o.logs[int64(l.Number)] = "store/" + l.Name
		for k, at := range o.inLog {
			if at[0] != int64(l.Number) {
				continue
			}
			for _, s := range starts {
				if s > at[1] && s < at[2] {
					at[2] = s
				}
			}
			o.inLog[k] = at
		}
	}
	if len(o.entries) != 62 || len(o.inTable) == 0 {
		t.Fatalf("%d entries, %d in logs, %d in tables", len(o.entries), len(o.inLog), len(o.inTable))
	}
	return o
}

// try damages one place of a copy and salvages it.
func (o *oracle) try(t *testing.T, file string, at int64, cut bool, n *corruptCounts) {
	t.Helper()
	at0 := t.TempDir()
	defer os.RemoveAll(at0)
	dir, to := filepath.Join(at0, "spool"), filepath.Join(at0, "saved")
	path := filepath.Join(dir, file)
	o.copyBut(t, dir, file)
	b, err := os.ReadFile(filepath.Join(o.dir, file))
	must(t, err)
	if cut {
		b = b[:at]
	} else {
		b[at] ^= 0x55
	}
	must(t, os.WriteFile(path, b, 0o600))
	what := fmt.Sprintf("%s flipped at %d", file, at)
	if cut {
		what = fmt.Sprintf("%s cut at %d", file, at)
	}
	rep, err := maintain.Doctor(context.Background(), maintain.DoctorOptions{Options: options(dir), Full: true})
	if err != nil {
		t.Fatalf("%s: doctor: %v", what, err)
	}
	res, err := maintain.Salvage(context.Background(), maintain.SalvageOptions{Options: options(dir), To: to})
	if err != nil {
		t.Fatalf("%s: salvage: %v", what, err)
	}
	got := map[string][]byte{}
	s, err := storage.OpenRead(storage.ReadOptions{Dir: to})
	must(t, err)
	defer s.Close()
	lower, upper := key.Entry.Bounds()
	it, err := s.Reader().NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	must(t, err)
	for ok := it.First(); ok; ok = it.Next() {
		got[string(it.Key())] = bytes.Clone(it.Value())
	}
	must(t, it.Close())
	may := o.damaged(t, path, file, at, cut)
	lost := 0
	for k, v := range o.entries {
		if bytes.Equal(got[k], v) {
			continue
		}
		lost++
		if !may(k) {
			t.Errorf("%s: the entry %s is intact and was not saved", what, key.Format([]byte(k)))
		}
	}
	// A log that is cut looks like one that a kill cut, so it can only be said that the stop was not clean.
	silent := res.Whole() || rep.Healthy()
	if silent && strings.HasSuffix(file, ".log") && cut {
		silent = !res.Unclean || rep.Warnings == 0
	}
	if lost > 0 && silent {
		t.Errorf("%s: %d entries are missing and nobody says so: %+v", what, lost, res)
	}
	o.usable(t, what, s)
	n.lost.Add(int64(lost))
	n.saved.Add(int64(len(o.entries) - lost))
	for of, yes := range map[*atomic.Int64]bool{&n.whole: res.Whole(), &n.problems: !res.Whole(), &n.healthy: rep.Healthy(), &n.sick: !rep.Healthy()} {
		if yes {
			of.Add(1)
		}
	}
}

// copyBut makes dir a copy of the spool by links, as nothing of it is changed, but for one file.
func (o *oracle) copyBut(t *testing.T, dir, file string) {
	t.Helper()
	for _, sub := range []string{storage.StoreDir, storage.CheckpointsDir, storage.LogsDir} {
		must(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	for f := range o.all {
		if f != file {
			must(t, os.Link(filepath.Join(o.dir, f), filepath.Join(dir, f)))
		}
	}
}

// damaged tells which entries have lost bytes.
func (o *oracle) damaged(t *testing.T, path, file string, at int64, cut bool) func(k string) bool {
	t.Helper()
	if strings.HasSuffix(file, ".sst") {
		bad, err := damage.FindBadKeys(vfs.Default, path)
		return func(k string) bool {
			if o.inTable[k] != file {
				return false
			}
			if err != nil { // where its blocks are is lost, but not the blocks, unless they were cut off
				return cut
			}
			for _, b := range bad {
				if (b.After == nil || k > string(b.After)) && k <= string(b.Last) {
					return true
				}
			}
			return false
		}
	}
	return func(k string) bool {
		in, ok := o.inLog[k]
		return ok && o.logs[in[0]] == file && (at >= in[1] && at < in[2] || cut && at < in[2])
	}
}

// usable: whatever was saved can be read, and every cursor's backlog is what can be delivered.
func (o *oracle) usable(t *testing.T, what string, s *storage.Spool) {
	t.Helper()
	must(t, s.EachTopic(func(h storage.TopicHead) error {
		v, err := s.Topic(h.ID)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return nil
		}
		for _, c := range v.Cursors {
			pending := int64(0)
			for from := wire.Earliest(); ; {
				got, next, err := v.Pending(context.Background(), c, from, 1000, 1<<30, nil)
				if err != nil {
					t.Errorf("%s: %s of %s: %v", what, c.Name, h.Name, err)
					return nil
				}
				if len(got) == 0 {
					break
				}
				for _, e := range got {
					pending += int64(e.Header.Messages)
				}
				from = next
			}
			if b := v.Backlog(c); b.Messages != pending || b.Entries != pending {
				t.Errorf("%s: backlog %+v of %s of %s, %d pending", what, b, c.Name, h.Name, pending)
			}
		}
		return nil
	}))
}
