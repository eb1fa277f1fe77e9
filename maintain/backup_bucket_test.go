package maintain_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/maintain"
	"spoolctl/storage"
	"spoolctl/storage/storagetest"

	"github.com/google/go-cmp/cmp"
)

var errStore = errors.New("the store has a bad day")

// failing has a store fail at its n-th operation from now on, and at those after it, if sticky.
func failing(s *storagetest.Bucket, n int, sticky bool) {
	ops := 0
	s.Fail(func() error {
		if ops++; ops == n || sticky && ops > n {
			return errStore
		}
		return nil
	})
}

func backupTo(t testing.TB, dir string, s *storagetest.Bucket) *maintain.BackupResult {
	t.Helper()
	res, err := maintain.Backup(context.Background(), maintain.BackupOptions{Options: options(dir), Target: "s3://x", Bucket: s})
	must(t, err)
	return res
}

func restoreFrom(s *storagetest.Bucket, name, dir string) (*maintain.RestoreResult, error) {
	return maintain.Restore(context.Background(), maintain.RestoreOptions{Options: options(dir), Source: "s3://x", Name: name, Bucket: s})
}

// TestBucketBackup: backups in an object store share tables, each restores what it was made of, and damage is found.
func TestBucketBackup(t *testing.T) {
	s := storagetest.NewBucket(nil)
	dir := makeSpool(t)
	first := contents(t, dir)
	a := backupTo(t, dir, s)
	if !a.Done || a.SharedFiles != 0 || a.CopiedFiles != a.Files {
		t.Errorf("%+v", a)
	}
	st := open(t, storage.Options{Dir: dir, Now: base})
	more(t, st, orders, 40, 5)
	must(t, st.Close(context.Background()))
	second := contents(t, dir)
	b := backupTo(t, dir, s)
	if b.SharedFiles == 0 || b.Name == a.Name {
		t.Errorf("%+v after %+v", b, a)
	}
	for name, want := range map[string]map[string]string{a.Name: first, b.Name: second, "": second} {
		to := filepath.Join(t.TempDir(), "restored")
		res, err := restoreFrom(s, name, to)
		if err != nil || !res.Done {
			t.Fatalf("%q: %+v, %v", name, res, err)
		}
		if diff := cmp.Diff(want, contents(t, to)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
	list, err := maintain.ListBucketBackups(context.Background(), s)
	if err != nil || len(list) != 2 || list[0].Name != a.Name {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := restoreFrom(s, "nosuch", filepath.Join(t.TempDir(), "x")); !errors.Is(err, maintain.ErrNoBackup) {
		t.Error(err)
	}
	for what, damage := range map[string]func(name string){
		"gone":    func(name string) { s.Set(name, nil) },
		"flipped": func(name string) { s.Set(name, flipped(s.All()[name], 7)) },
		"cut":     func(name string) { s.Set(name, s.All()[name][:5]) },
	} {
		was := s.All()
		for _, name := range s.Names() {
			if strings.HasSuffix(name, ".sst") {
				damage(name)
			}
		}
		to := filepath.Join(t.TempDir(), "restored")
		_, err := restoreFrom(s, a.Name, to)
		var bad *maintain.BadBackupError
		if !errors.As(err, &bad) || len(bad.Bad) == 0 {
			t.Errorf("%s: %v", what, err)
		}
		if spoolState(t, to) != nil {
			t.Errorf("%s: there is a spool", what)
		}
		s = storagetest.NewBucket(was)
	}
}

// TestBucketBackupFails: every operation of the store fails in turn, once or from then on: no backup is there that was not
// reported as done, and objects of a failed one go away.
func TestBucketBackupFails(t *testing.T) {
	dir := makeSpool(t)
	for _, sticky := range []bool{false, true} {
		for failAt := 1; ; failAt++ {
			s := storagetest.NewBucket(nil)
			failing(s, failAt, sticky)
			res, err := maintain.Backup(context.Background(), maintain.BackupOptions{Options: options(dir), Target: "s3://x", Bucket: s})
			if err == nil {
				if failAt < 8 || !res.Done {
					t.Fatalf("done after %d operations: %+v", failAt, res)
				}
				break
			}
			if !errors.Is(err, errStore) {
				t.Fatal(err)
			}
			left := s.Names()
			s.Fail(nil)
			if list, err := maintain.ListBucketBackups(context.Background(), s); err != nil || len(list) > 0 {
				t.Errorf("failed at %d: %+v, %v", failAt, list, err)
			}
			if !sticky && len(left) > 0 {
				t.Errorf("failed at %d: %v are left", failAt, left)
			}
		}
	}
}

// TestStreamBackup: an archive goes through a pipe; one that is cut short is none.
func TestStreamBackup(t *testing.T) {
	dir := makeSpool(t)
	want := contents(t, dir)
	var b bytes.Buffer
	_, err := maintain.Backup(context.Background(), maintain.BackupOptions{Options: options(dir), Target: "-", Stream: &b})
	must(t, err)
	restore := func(b []byte) (string, error) {
		to := filepath.Join(t.TempDir(), "restored")
		_, err := maintain.Restore(context.Background(), maintain.RestoreOptions{Options: options(to), Source: "-", Stream: bytes.NewReader(b)})
		return to, err
	}
	to, err := restore(b.Bytes())
	must(t, err)
	if diff := cmp.Diff(want, contents(t, to)); diff != "" {
		t.Error(diff)
	}
	for _, n := range []int{0, 1, 100, b.Len() / 2, b.Len() - 4096} {
		if to, err := restore(b.Bytes()[:n]); err == nil || spoolState(t, to) != nil {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}
