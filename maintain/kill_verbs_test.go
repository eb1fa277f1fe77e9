package maintain_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"spoolctl/maintain"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2"
)

const withoutExchange = "cursor-clear without exchange"

// deadlyVerbs are all verbs that write something.
func deadlyVerbs(t testing.TB) (all []*deadly) {
	ctx := context.Background()
	frame := func(name string, setup func(t testing.TB, dir string), run func(o maintain.Options) (*maintain.Result, error)) {
		all = append(all, &deadly{name: name, setup: setup, after: afterFrame,
			run: func(_ testing.TB, _ string, o maintain.Options) error { return second(run(o)) }})
	}
	inPlace := verbs(t)
	for _, name := range slices.Sorted(maps.Keys(inPlace)) {
		frame(name, nil, inPlace[name])
	}
	frame(withoutExchange, nil, func(o maintain.Options) (*maintain.Result, error) {
		return inPlace["cursor-clear"](maintain.WithoutExchange(o))
	})
	frame("migrate-format", olderFormat, func(o maintain.Options) (*maintain.Result, error) {
		return maintain.Migrate(ctx, maintain.MigrateOptions{Options: o})
	})
	frame("undo", cleared, func(o maintain.Options) (*maintain.Result, error) { return maintain.Undo(ctx, o, "") })
	for _, step := range []string{"mark", "keep"} { // the old state is in place, and the new one
		all = append(all, &deadly{name: "recover-" + step, setup: stopped(step), after: afterRecover,
			run: func(_ testing.TB, _ string, o maintain.Options) error { return maintain.Recover(o) }})
	}
	for _, target := range []string{"folder", "one.tar", "one.tar.gz"} {
		all = append(all, &deadly{name: "backup-" + target, setup: backedUp, after: afterBackup(target),
			run: func(_ testing.TB, dir string, o maintain.Options) error {
				return second(maintain.Backup(ctx, maintain.BackupOptions{Options: o, Target: filepath.Join(dir, target)}))
			}})
	}
	copied := func(name, to string, setup func(t testing.TB, dir string), after func(t testing.TB, what, dir string, v *deadly) (bool, bool), run func(o maintain.Options, to string) error) {
		all = append(all, &deadly{name: name, setup: setup, after: after,
			run: func(_ testing.TB, dir string, o maintain.Options) error { return run(o, filepath.Join(dir, to)) }})
	}
	copied("restore", "made", backedUp, afterCopy("made"), func(o maintain.Options, to string) error {
		from := filepath.Join(filepath.Dir(to), "folder")
		o.Dir = to
		return second(maintain.Restore(ctx, maintain.RestoreOptions{Options: o, Source: from}))
	})
	copied("restore-replace", "spool", backedUp, afterReplace, func(o maintain.Options, to string) error {
		return second(maintain.Restore(ctx, maintain.RestoreOptions{Options: o, Source: filepath.Join(filepath.Dir(to), "folder"), Replace: true}))
	})
	copied("salvage", "made", nil, afterCopy("made"), func(o maintain.Options, to string) error {
		return second(maintain.Salvage(ctx, maintain.SalvageOptions{Options: o, To: to}))
	})
	copied("migrate-to-pebble", "made", nil, afterCopy("made"), func(o maintain.Options, to string) error {
		return second(maintain.Convert(ctx, maintain.ConvertOptions{Options: o, To: to, Kind: maintain.KindPebble}))
	})
	copied("migrate-to-files", "files", nil, afterCopy("files"), func(o maintain.Options, to string) error {
		return second(maintain.Convert(ctx, maintain.ConvertOptions{Options: o, To: to, Kind: maintain.KindFiles}))
	})
	return all
}

// olderFormat rewrites the spool's database in the oldest format that Pebble reads.
func olderFormat(t testing.TB, dir string) {
	t.Helper()
	store, old := filepath.Join(dir, "spool", "store"), filepath.Join(dir, "old")
	s, err := storage.OpenRead(storage.ReadOptions{Dir: filepath.Join(dir, "spool")})
	must(t, err)
	po := storage.EngineOptions()
	po.FormatMajorVersion = pebble.FormatMinSupported
	to, err := pebble.Open(old, po)
	must(t, err)
	it, err := s.Reader().NewIter(nil)
	must(t, err)
	for ok := it.First(); ok; ok = it.Next() {
		must(t, to.Set(it.Key(), it.Value(), pebble.NoSync))
	}
	must(t, errors.Join(it.Close(), s.Close(), to.Flush(), to.Close(), os.RemoveAll(store), os.Rename(old, store)))
}

// cleared leaves a checkpoint.
func cleared(t testing.TB, dir string) {
	t.Helper()
	must(t, second(maintain.ClearCursor(context.Background(), cursorOf(t, options(filepath.Join(dir, "spool")), orders, "audit"))))
}

// backedUp leaves a folder with a backup, and a spool that has changed since.
func backedUp(t testing.TB, dir string) {
	t.Helper()
	backup(t, filepath.Join(dir, "spool"), filepath.Join(dir, "folder"))
	cleared(t, dir)
}

// stopped leaves a run that came to a step only.
func stopped(at string) func(t testing.TB, dir string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		o := options(filepath.Join(dir, "spool"))
		o.Step = func(step string) error {
			if step == at {
				return errKilled
			}
			return nil
		}
		if _, err := maintain.ClearCursor(context.Background(), cursorOf(t, o, orders, "billing")); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
}

// afterFrame is deadly.after of the verbs that change a spool in place.
func afterFrame(t testing.TB, what, dir string, v *deadly) (changed, recovered bool) {
	t.Helper()
	o := options(filepath.Join(dir, "spool"))
	if _, err := os.Stat(filepath.Join(o.Dir, "store")); err == nil || v.name != withoutExchange {
		if now := state(t, dir); !maps.Equal(now, v.old) && !maps.Equal(now, v.new) {
			t.Errorf("%s: it has neither the old state nor the new one", what)
		}
		opens(t, o.Dir)
	}
	told, err := maintain.Interrupted(o.Dir)
	must(t, err)
	var said *maintain.Recovery
	o.Recovered = func(r maintain.Recovery) { said = &r }
	must(t, maintain.Recover(o))
	if (told == nil) != (said == nil) || told != nil && told.Changed != said.Changed {
		t.Errorf("%s: told %+v, said %+v", what, told, said)
	}
	changed = len(checkpoints(t, o.Dir)) > v.kept
	if said != nil && said.Changed != changed {
		t.Errorf("%s: changed is %v, said %+v", what, changed, said)
	}
	want := v.old
	if changed {
		want = v.new
	}
	is(t, what+" and recovered", want, state(t, dir))
	opens(t, o.Dir)
	nothingLeft(t, what, o.Dir)
	o.Recovered = func(r maintain.Recovery) { t.Errorf("%s: recovered again: %+v", what, r) }
	if changed {
		_, err := maintain.Undo(context.Background(), o, "")
		must(t, err)
		is(t, what+" and undone", v.old, state(t, dir))
	} else {
		must(t, v.run(t, dir, o))
		is(t, what+" and run again", v.new, state(t, dir))
	}
	opens(t, o.Dir)
	return changed, said != nil
}

// opens is sound for all but a spool of an older format, which is to be migrated first.
func opens(t testing.TB, spool string) {
	t.Helper()
	if spoolState(t, spool)["format"] == "" {
		sound(t, spool)
	}
}

func nothingLeft(t testing.TB, what, spool string) {
	t.Helper()
	list, err := os.ReadDir(spool)
	must(t, err)
	for _, e := range list {
		if !slices.Contains([]string{"SPOOL", "store", "checkpoints", "logs"}, e.Name()) {
			t.Errorf("%s: %s is left", what, e.Name())
		}
	}
	if _, err := os.Stat(filepath.Join(spool, "store", "maintained")); err == nil {
		t.Errorf("%s: the mark is left", what)
	}
}

// afterRecover: recovery that is killed is recovered from; before and after it the spool is the same.
func afterRecover(t testing.TB, what, dir string, v *deadly) (changed, recovered bool) {
	t.Helper()
	spool := filepath.Join(dir, "spool")
	is(t, what, v.new, state(t, dir))
	sound(t, spool)
	told, err := maintain.Interrupted(spool)
	must(t, err)
	must(t, maintain.Recover(options(spool)))
	is(t, what+" and run again", v.new, state(t, dir))
	sound(t, spool)
	nothingLeft(t, what, spool)
	return told == nil, told != nil
}

// afterBackup: a backup is there or not, the earlier one stays, and the spool is as it was.
func afterBackup(target string) func(t testing.TB, what, dir string, v *deadly) (changed, recovered bool) {
	return func(t testing.TB, what, dir string, v *deadly) (changed, recovered bool) {
		t.Helper()
		ctx, path := context.Background(), filepath.Join(dir, target)
		is(t, what, v.old, state(t, dir))
		verify := maintain.RestoreOptions{Source: path, Verify: true}
		if target == "folder" {
			list, err := maintain.ListBackups(path)
			must(t, err)
			changed = len(list) == 2
			for _, b := range list {
				verify.Name = b.Name
				must(t, second(maintain.Restore(ctx, verify)))
			}
			verify.Name = ""
		} else if _, err := os.Stat(path); err == nil {
			changed = true
		}
		if target == "folder" || !changed {
			must(t, v.run(t, dir, options(filepath.Join(dir, "spool"))))
		}
		must(t, second(maintain.Restore(ctx, verify)))
		made := filepath.Join(dir, "again", "spool")
		must(t, os.Mkdir(filepath.Dir(made), 0o700))
		restore(t, path, made)
		is(t, what+" and restored", v.new, state(t, filepath.Dir(made)))
		sound(t, made)
		return changed, !changed
	}
}

// afterCopy: the copy is there, whole, or not at all, and the next run makes it.
func afterCopy(to string) func(t testing.TB, what, dir string, v *deadly) (changed, recovered bool) {
	return func(t testing.TB, what, dir string, v *deadly) (changed, recovered bool) {
		t.Helper()
		is(t, what, v.old, state(t, dir))
		made := filepath.Join(dir, to)
		_, err := os.Stat(made)
		changed = err == nil
		o := options(filepath.Join(dir, "spool"))
		if err := v.run(t, dir, o); changed && !errors.Is(err, maintain.ErrOccupied) || !changed && err != nil {
			t.Errorf("%s and run again: %v", what, err)
		}
		want := v.old
		if v.name == "restore" { // what was backed up is older
			want = v.made
		}
		if to == "files" {
			back := filepath.Join(dir, "back", "spool")
			must(t, os.Mkdir(filepath.Dir(back), 0o700))
			must(t, second(maintain.Convert(context.Background(), maintain.ConvertOptions{Options: options(made), To: back, Kind: maintain.KindPebble})))
			made = back
		}
		sound(t, made)
		is(t, what+" and run again", want, spoolState(t, made))
		left, err := filepath.Glob(filepath.Join(dir, to+".*"))
		must(t, err)
		if len(left) > 0 {
			t.Errorf("%s: left %v", what, left)
		}
		return changed, !changed
	}
}

// afterReplace: the spool is the old one or the backed up one, and the old one is kept.
func afterReplace(t testing.TB, what, dir string, v *deadly) (changed, recovered bool) {
	t.Helper()
	spool := filepath.Join(dir, "spool")
	now := state(t, dir)
	if changed = maps.Equal(now, v.new); !changed {
		is(t, what, v.old, now)
	}
	sound(t, spool)
	o := options(spool)
	o.Now = func() time.Time { return later().Add(time.Hour) }
	must(t, v.run(t, dir, o))
	is(t, what+" and run again", v.new, state(t, dir))
	sound(t, spool)
	kept, err := filepath.Glob(spool + ".before-restore-*")
	must(t, err)
	if !slices.ContainsFunc(kept, func(k string) bool { return maps.Equal(spoolState(t, k), v.old) }) {
		t.Errorf("%s: the replaced spool is lost: %v", what, kept)
	}
	if _, err := os.Stat(spool + ".restoring"); err == nil {
		t.Errorf("%s: the staged spool is left", what)
	}
	return changed, !changed
}

func checkpoints(t testing.TB, spool string) []maintain.Checkpoint {
	t.Helper()
	list, err := maintain.Checkpoints(spool)
	must(t, err)
	return list
}
