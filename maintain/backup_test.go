package maintain_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/maintain"
	"spoolctl/storage"

	"github.com/google/go-cmp/cmp"
)

func backup(t testing.TB, dir, target string) *maintain.BackupResult {
	t.Helper()
	res, err := maintain.Backup(context.Background(), maintain.BackupOptions{Options: options(dir), Target: target})
	must(t, err)
	return res
}

func restore(t testing.TB, source, dir string) {
	t.Helper()
	_, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Options: options(dir), Source: source})
	must(t, err)
}

// TestBackupRestore: every kind of target gives the spool back, sound and with the same contents, also a backup of a
// checkpoint that was made while the spool was open.
func TestBackupRestore(t *testing.T) {
	dir := makeSpool(t)
	want := contents(t, dir)
	was := tree(t, dir)
	for _, kind := range []string{"folder", "one.tar", "one.tar.gz", "one.tgz"} {
		target := filepath.Join(t.TempDir(), kind)
		res := backup(t, dir, target)
		if !res.Done || res.Files < 5 || res.Bytes == 0 || res.CopiedFiles != res.Files {
			t.Errorf("%s: %+v", kind, res)
		}
		got := filepath.Join(t.TempDir(), "restored")
		restore(t, target, got)
		sound(t, got)
		if diff := cmp.Diff(want, contents(t, got)); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		ver, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Source: target, Verify: true})
		if err != nil || ver.Files != res.Files || ver.Bytes != res.Bytes || ver.Spool != nil {
			t.Errorf("%s: verify %+v, %v", kind, ver, err)
		}
	}
	now := tree(t, dir)
	delete(was, "/store/LOCK") // the lock is taken
	delete(now, "/store/LOCK")
	if diff := cmp.Diff(was, now); diff != "" {
		t.Error(diff)
	}

	s := open(t, storage.Options{Dir: dir})
	point := filepath.Join(t.TempDir(), "point")
	must(t, s.Checkpoint(context.Background(), point))
	must(t, s.Close(context.Background()))
	target := filepath.Join(t.TempDir(), "b")
	backup(t, point, target)
	got := filepath.Join(t.TempDir(), "restored")
	restore(t, target, got)
	if diff := cmp.Diff(want, contents(t, got)); diff != "" {
		t.Error(diff)
	}
	sound(t, got)
}

// TestIncremental: the second backup copies only what changed, and both can be restored.
func TestIncremental(t *testing.T) {
	dir := makeSpool(t)
	target := filepath.Join(t.TempDir(), "b")
	first := backup(t, dir, target)
	before := contents(t, dir)
	again := backup(t, dir, target)
	if again.CopiedFiles != 0 || again.SharedFiles != again.Files || again.Name == first.Name {
		t.Errorf("%+v", again)
	}
	_, err := maintain.ClearCursor(context.Background(), cursorOf(t, options(dir), orders, "billing"))
	must(t, err)
	third := backup(t, dir, target)
	if third.SharedFiles == 0 || third.CopiedFiles == 0 {
		t.Errorf("%+v", third)
	}
	for name, want := range map[string]map[string]string{first.Name: before, "": contents(t, dir)} {
		got := filepath.Join(t.TempDir(), "restored")
		_, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Options: options(got), Source: target, Name: name})
		must(t, err)
		if diff := cmp.Diff(want, contents(t, got)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

// TestBadBackup: damage anywhere in a backup is found, named, and nothing is restored.
func TestBadBackup(t *testing.T) {
	dir := makeSpool(t)
	for _, kind := range []string{"folder", "one.tar", "one.tar.gz"} {
		target := filepath.Join(t.TempDir(), kind)
		backup(t, dir, target)
		file := target
		if kind == "folder" {
			objects, err := filepath.Glob(filepath.Join(target, "objects", "*"))
			must(t, err)
			file = objects[len(objects)/2]
		}
		whole, err := os.ReadFile(file)
		must(t, err)
		for _, damaged := range [][]byte{whole[:len(whole)/2], flipped(whole, len(whole)/2), nil} {
			must(t, os.WriteFile(file, damaged, 0o600))
			if damaged == nil && kind == "folder" {
				must(t, os.Remove(file))
			}
			got := filepath.Join(t.TempDir(), "restored")
			for _, verify := range []bool{true, false} {
				_, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Options: options(got), Source: target, Verify: verify})
				if err == nil {
					t.Errorf("%s of %d bytes: no error", kind, len(damaged))
				}
			}
			if left, _ := filepath.Glob(filepath.Dir(got) + "/*"); len(left) > 0 {
				t.Errorf("%s: left %v", kind, left)
			}
		}
	}
	if _, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Source: t.TempDir(), Verify: true}); !errors.Is(err, maintain.ErrNoBackup) {
		t.Errorf("empty folder: %v", err)
	}
}

func flipped(b []byte, at int) []byte {
	out := append([]byte(nil), b...)
	out[at] ^= 0x20
	return out
}

// TestBackupKilled: a backup that was killed is none, and the next one goes through; so does a restore, with the old
// spool or the new one in place and none lost.
func TestBackupKilled(t *testing.T) {
	dir := makeSpool(t)
	for _, kind := range []string{"folder", "one.tar"} {
		target := filepath.Join(t.TempDir(), kind)
		killed := 0
		for n := 0; ; n++ {
			o := maintain.BackupOptions{Options: options(dir), Target: target}
			if !killAt(&o.Options, n, func() error { _, err := maintain.Backup(context.Background(), o); return err }, t) {
				break
			}
			killed++
			if _, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Source: target, Verify: true}); err == nil {
				t.Fatalf("%s: a killed backup can be restored", kind)
			}
		}
		if killed < 5 {
			t.Errorf("killed %d times", killed)
		}
		restore(t, target, filepath.Join(t.TempDir(), "r"))
	}

	target := filepath.Join(t.TempDir(), "b")
	backup(t, dir, target)
	want := contents(t, dir)
	for n := 0; ; n++ {
		old := copyTree(t, dir)
		_, err := maintain.ClearCursor(context.Background(), cursorOf(t, options(old), orders, "audit"))
		must(t, err)
		before := contents(t, old)
		o := maintain.RestoreOptions{Options: options(old), Source: target, Replace: true}
		killed := killAt(&o.Options, n, func() error { _, err := maintain.Restore(context.Background(), o); return err }, t)
		now := contents(t, old)
		if !cmp.Equal(now, want) && !cmp.Equal(now, before) {
			t.Fatalf("step %d: the spool is neither the old nor the new one", n)
		}
		if !killed {
			break
		}
		o.Step = nil
		_, err = maintain.Restore(context.Background(), o)
		must(t, err)
		sound(t, old)
		if diff := cmp.Diff(want, contents(t, old)); diff != "" {
			t.Errorf("step %d: %s", n, diff)
		}
		kept, _ := filepath.Glob(old + ".before-restore-*")
		found := false
		for _, k := range kept {
			found = found || cmp.Equal(contents(t, k), before)
		}
		if !found {
			t.Errorf("step %d: the replaced spool is lost: %v", n, kept)
		}
		if left, _ := filepath.Glob(old + ".restoring"); len(left) > 0 {
			t.Errorf("step %d: left %v", n, left)
		}
	}
}

// killAt runs f with a kill before its n-th step; false when it has fewer.
func killAt(o *maintain.Options, n int, f func() error, t *testing.T) bool {
	t.Helper()
	steps, hit := 0, false
	o.Step = func(string) error {
		if steps++; steps-1 == n {
			hit = true
			return errKilled
		}
		return nil
	}
	err := f()
	if hit != errors.Is(err, errKilled) || (!hit && err != nil) {
		t.Fatal(err)
	}
	return hit
}

// TestBackupRefusals: no room, a file that is there, a spool that is there, paths that lead elsewhere.
func TestBackupRefusals(t *testing.T) {
	dir := makeSpool(t)
	tight := options(dir)
	tight.Free = func(string) (uint64, error) { return 10, nil }
	target := filepath.Join(t.TempDir(), "b")
	if _, err := maintain.Backup(context.Background(), maintain.BackupOptions{Options: tight, Target: target}); !errors.As(err, new(*maintain.SpaceError)) {
		t.Error(err)
	}
	dry := options(dir)
	dry.DryRun = true
	other := filepath.Join(t.TempDir(), "dry")
	if res, err := maintain.Backup(context.Background(), maintain.BackupOptions{Options: dry, Target: other}); err != nil || res.Done || res.CopiedBytes == 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a dry run made the target")
	}
	backup(t, dir, target)
	if _, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Options: options(dir), Source: target}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Error(err)
	}
	evil, err := filepath.Glob(filepath.Join(target, "*.json"))
	must(t, err)
	b, err := os.ReadFile(evil[0])
	must(t, err)
	for _, path := range []string{"../x", "store/../../x", "/etc/x", "store/", "store/a/b", "x", `store/..\\x`} {
		must(t, os.WriteFile(evil[0], []byte(strings.Replace(string(b), `"path": "SPOOL"`, fmt.Sprintf(`"path": %q`, path), 1)), 0o600))
		if _, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Options: options(filepath.Join(t.TempDir(), "r")), Source: target}); err == nil || !strings.Contains(err.Error(), "names a file") {
			t.Errorf("%q: %v", path, err)
		}
	}
}
