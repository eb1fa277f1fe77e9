package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStorageObjects: backups in an object store that spoold reaches.
func TestStorageObjects(t *testing.T) {
	spoold := program(t, "spoold")
	dir, at, folder := spoolOf(t), t.TempDir(), t.TempDir()
	url := "file://" + folder
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"backup", dir, url, "--dry-run"}, exitOK, "false"},
		{[]string{"backups", url}, exitOK, ""},
		{[]string{"backup", dir, url}, exitOK, "true"},
		{[]string{"backup", dir, url}, exitOK, "true"},
		{[]string{"backups", url}, exitOK, "20260201T120000Z-2"},
		{[]string{"restore", url, "--verify"}, exitOK, "20260201T120000Z-2"},
		{[]string{"restore", url, filepath.Join(at, "r"), "--name", "20260201T120000Z"}, exitOK, "true"},
		{[]string{"restore", url, filepath.Join(at, "r2"), "--name", "nosuch"}, exitUnavailable, "no backup of name nosuch"},
		{[]string{"backup", dir, "s4://bucket"}, exitUnavailable, "s3://BUCKET"},
		{[]string{"backup", dir, "file:///does/not/exist"}, exitUnavailable, "object store file:///does/not/exist"},
	} {
		code, out, errs := storageRun(t, append(c.args, "--spoold", spoold)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%v: exit %d, want %d with %q: %s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
	if code, _, errs := runArgs(t, nil, "inspect", "verify", "--spool", filepath.Join(at, "r")); code != exitOK {
		t.Errorf("%d %s", code, errs)
	}
	tables, err := filepath.Glob(filepath.Join(folder, "objects", "*", "store", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	if err := os.Remove(tables[0]); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := storageRun(t, "restore", url, filepath.Join(at, "r3"), "--spoold", spoold); code != exitProblems || !strings.Contains(errs, "is missing") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, _, errs := storageRun(t, "backup", dir, url, "--spoold", filepath.Join(at, "nothing")); code != exitUnavailable || !strings.Contains(errs, "--spoold") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestStoragePipe: a backup goes through standard output and input, and nothing but the archive is on standard output.
func TestStoragePipe(t *testing.T) {
	pipe := func(in []byte, terminal bool, args ...string) (code int, out []byte, errs string) {
		var o, e bytes.Buffer
		f := newFactory(&ioStreams{in: bytes.NewReader(in), out: &o, err: &e, inTerminal: terminal, outTerminal: terminal, width: func() int { return 0 }}, nil)
		f.now = func() time.Time { return time.Unix(0, 0) }
		return execute(t.Context(), f, append([]string{"storage"}, args...)), o.Bytes(), e.String()
	}
	dir, to := spoolOf(t), filepath.Join(t.TempDir(), "restored")
	code, archive, errs := pipe(nil, false, "backup", dir, "-")
	if code != exitOK || !strings.Contains(errs, "backed up") {
		t.Fatal(code, errs)
	}
	if code, out, errs := pipe(archive[:len(archive)/2], false, "restore", "-", to); code == exitOK {
		t.Errorf("half an archive: %d %s%s", code, out, errs)
	}
	if code, out, errs := pipe(archive, false, "restore", "-", to); code != exitOK {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, _, errs := runArgs(t, nil, "inspect", "verify", "--spool", to); code != exitOK {
		t.Errorf("%d %s", code, errs)
	}
	for _, args := range [][]string{{"backup", dir, "-"}, {"restore", "-", to + "2"}} {
		if code, out, errs := pipe(nil, true, args...); code != exitUsage || len(out) > 0 {
			t.Errorf("%v on a terminal: %d %s%s", args, code, out, errs)
		}
	}
}
