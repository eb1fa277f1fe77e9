package broker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"spoolctl/broker"
)

// TestStopIsLogged: every stage is in the log with its time, and the last line is the last thing that happens. The
// database's log is a file of the day.
func TestStopIsLogged(t *testing.T) {
	var log bytes.Buffer
	cfg := config(t, t.TempDir())
	cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	cfg.Now = func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local) }
	b, err := broker.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(cfg.Spool, "logs", "pebble-2026-05-04.log")); err != nil || st.Size() == 0 || st.Mode().Perm() != 0o600 {
		t.Errorf("the database's log: %v, %v", st, err)
	}
	var stages []string
	var last string
	for lines := bufio.NewScanner(&log); lines.Scan(); {
		var line struct {
			Msg, Stage string
			Took       *int64
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if last = line.Msg; line.Stage != "" {
			if stages = append(stages, line.Stage); line.Took == nil {
				t.Errorf("%s has no time", line.Stage)
			}
		}
	}
	if want := []string{
		"stop accepting", "stop the web server", "end compactions and upkeep", "finish publishes and close topics", "close connections",
		"end the listeners", "remove broker.json", "close the spool", "close the object store and the database's log",
	}; !slices.Equal(stages, want) || last != "stopped" {
		t.Errorf("%q, and at last %q", stages, last)
	}
}
