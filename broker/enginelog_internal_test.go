package broker

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEngineLog: a file a day, ten of them, private; and whatever goes wrong with them is only told.
func TestEngineLog(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 2, 27, 23, 59, 0, 0, time.Local)
	var told bytes.Buffer
	l := newEngineLog(dir, func() time.Time { return now }, slog.New(slog.NewTextHandler(&told, nil)))
	defer l.close()
	log := l.logger()
	if err := os.WriteFile(filepath.Join(dir, "notes.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		log.Debug("flushed")
		log.With("job", 7).WithGroup("g").Debug("again")
		now = now.AddDate(0, 0, 1)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if len(names) != 11 || names[0] != "notes.log" || names[1] != "pebble-2026-03-01.log" || names[10] != "pebble-2026-03-10.log" {
		t.Errorf("%q", names)
	}
	if b, err := os.ReadFile(filepath.Join(dir, names[10])); err != nil || strings.Count(string(b), "\n") != 2 || !strings.Contains(string(b), "job=7") {
		t.Errorf("%q, %v", b, err)
	}
	if told.Len() > 0 {
		t.Errorf("told without need: %s", &told)
	}

	log.With("job", 8).WithGroup("g").Error("cannot flush", "file", 3)
	if !strings.Contains(told.String(), "cannot flush") || !strings.Contains(told.String(), "job=8 g.file=3") {
		t.Errorf("an error is not in the daemon's log: %q", told.String())
	}

	now = now.AddDate(0, 0, 1) // a day's file that cannot be opened
	today := filepath.Join(dir, now.Format(engineLogName))
	if err := os.Mkdir(today, 0o700); err != nil {
		t.Fatal(err)
	}
	told.Reset()
	log.Debug("lost")
	log.Debug("lost")
	if strings.Count(told.String(), "it cannot be opened") != 1 {
		t.Errorf("told %q, want it once", told.String())
	}

	now = now.AddDate(0, 0, 1) // one that is too large
	today = filepath.Join(dir, now.Format(engineLogName))
	if err := os.WriteFile(today, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(today, engineLogBytes-200); err != nil {
		t.Fatal(err)
	}
	told.Reset()
	for range 10 {
		log.Debug("more")
	}
	if st, err := os.Stat(today); err != nil || st.Size() > engineLogBytes || st.Size() <= engineLogBytes-200 || strings.Count(told.String(), "its size for a day") != 1 {
		t.Errorf("%v, %v; told %q", st, err, told.String())
	}
}
