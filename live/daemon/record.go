package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RecordName is the file in a spool that names its running broker.
const RecordName = "broker.json"

// maxRecord bounds the file, in bytes.
const maxRecord = 64 << 10

// Record is what spoold writes into RecordName.
type Record struct {
	PID     int `json:"pid"`
	Port    int `json:"port"`
	WebPort int `json:"webPort"`
}

var (
	// ErrNotRunning: no broker runs on the spool.
	ErrNotRunning = errors.New("no broker is running")
	// ErrNoBinary: the spoold program was not found.
	ErrNoBinary = errors.New("spoold is not installed")
	// ErrRecord: broker.json is there and is not what spoold writes.
	ErrRecord = errors.New("broker.json is damaged")
)

// RunningError says that a broker already serves the spool.
type RunningError struct {
	Spool  string
	Record Record
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("a broker already runs on %s: pid %d", e.Spool, e.Record.PID)
}

// ReadRecord reads SPOOL/broker.json. A missing file or spool is ErrNotRunning.
func ReadRecord(spool string) (Record, error) {
	var r Record
	path := filepath.Join(spool, RecordName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("%w on %s", ErrNotRunning, spool)
	}
	if err != nil {
		return r, err
	}
	if info.Size() > maxRecord {
		return r, fmt.Errorf("%w: %s has %d bytes", ErrRecord, path, info.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%w: %s: %w", ErrRecord, path, err)
	}
	if r.PID <= 1 || r.Port < 0 || r.Port > 65535 || r.WebPort < 0 || r.WebPort > 65535 {
		return Record{}, fmt.Errorf("%w: %s: pid %d, ports %d and %d", ErrRecord, path, r.PID, r.Port, r.WebPort)
	}
	return r, nil
}

// alive reports whether the process exists and has not ended as a zombie.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	state, _, ok := procStat(pid)
	return !ok || state != "Z"
}

// procStat reads a process's state and its start in ticks since boot. Not ok
// on systems without /proc.
func procStat(pid int) (state string, start int64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, false
	}
	// pid (name) state …; the name may hold anything and ends at the last ')'.
	text := string(b)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	const startField = 19 // field 22 of the line
	if len(fields) <= startField {
		return "", 0, false
	}
	start, err = strconv.ParseInt(fields[startField], 10, 64)
	return fields[0], start, err == nil
}

const (
	// ticksPerSecond of /proc is 100 on every Linux port that Go has.
	ticksPerSecond = 100
	// reuseSlack covers the coarse clocks of files and processes.
	reuseSlack = 2 * time.Second
)

// startedAfter reports a process that began after the record was written: its
// pid was given to another program. False when it cannot be known.
func startedAfter(pid int, recorded time.Time) bool {
	_, start, ok := procStat(pid)
	if !ok {
		return false
	}
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return false
	}
	up, _, _ := strings.Cut(string(b), " ")
	uptime, err := strconv.ParseFloat(up, 64)
	if err != nil {
		return false
	}
	age := time.Duration((uptime - float64(start)/ticksPerSecond) * float64(time.Second))
	return time.Now().Add(-age).After(recorded.Add(reuseSlack))
}
