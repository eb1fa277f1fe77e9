package broker

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// The files of the database's log.
const (
	engineLogName  = "pebble-2006-01-02.log" // one a day; so that their names have the order of their days
	engineLogsKept = 10
	engineLogBytes = 64 << 20 // of one day; what comes on top is lost
)

// engineLog is what Pebble says of its work, in a file for each day; errors are in the daemon's log too. It never fails: what
// cannot be written is lost, and the daemon's log says so once a day.
type engineLog struct {
	dir string
	now func() time.Time
	log *slog.Logger // the daemon's

	mu     sync.Mutex
	name   string   // of the day's file; empty = nothing was written yet
	file   *os.File // nil = it cannot be written
	room   int64    // bytes that it may still take
	closed bool
}

// newEngineLog makes a log whose files lie in dir; it is touched when there is something to write.
func newEngineLog(dir string, now func() time.Time, log *slog.Logger) *engineLog {
	return &engineLog{dir: dir, now: now, log: log}
}

// logger is for storage.Options.EngineLogger.
func (l *engineLog) logger() *slog.Logger {
	file := slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})
	return slog.New(slog.NewMultiHandler(file, onlyErrors{l.log.Handler()}))
}

// onlyErrors passes on nothing below errors.
type onlyErrors struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h onlyErrors) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h onlyErrors) WithAttrs(attrs []slog.Attr) slog.Handler {
	return onlyErrors{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h onlyErrors) WithGroup(name string) slog.Handler { return onlyErrors{h.Handler.WithGroup(name)} }

// Write implements io.Writer; p is one line.
func (l *engineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(p), nil
	}
	if name := l.now().Format(engineLogName); name != l.name {
		l.name = name
		l.turn()
	}
	if l.file == nil {
		return len(p), nil
	}
	if l.room -= int64(len(p)); l.room < 0 {
		l.giveUp("it has reached its size for a day", nil)
	} else if _, err := l.file.Write(p); err != nil {
		l.giveUp("it cannot be written", err)
	}
	return len(p), nil
}

// turn opens the day's file and removes those that are too old.
func (l *engineLog) turn() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	f, err := os.OpenFile(filepath.Join(l.dir, l.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		l.giveUp("it cannot be opened", err)
		return
	}
	l.file, l.room = f, engineLogBytes
	if st, err := f.Stat(); err == nil {
		l.room -= st.Size()
	}
	if err := l.removeOld(); err != nil {
		l.log.Warn("old logs of the database cannot be removed", "error", err)
	}
}

func (l *engineLog) removeOld() error {
	all, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	var logs []string // by rising day, as the directory is sorted
	for _, e := range all {
		if _, err := time.Parse(engineLogName, e.Name()); err == nil {
			logs = append(logs, e.Name())
		}
	}
	for _, name := range logs[:max(0, len(logs)-engineLogsKept)] {
		if err := os.Remove(filepath.Join(l.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// giveUp leaves the log alone until tomorrow.
func (l *engineLog) giveUp(why string, err error) {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	l.log.Warn("the database's log goes on tomorrow: "+why, "file", filepath.Join(l.dir, l.name), "error", err)
}

// close ends the log; what comes later is lost.
func (l *engineLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}
