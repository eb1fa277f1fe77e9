package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Program is the file name of the daemon.
const Program = "spoold"

// Find gives the path of spoold: the named file, or one beside the running
// program, or one in PATH.
func Find(named string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoBinary, err)
		}
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Program)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := exec.LookPath(Program)
	if err != nil {
		return "", ErrNoBinary
	}
	return path, nil
}

// Options are what spoold is started with. Zero values leave a flag out.
type Options struct {
	// Binary is the path of spoold.
	Binary string
	// Spool is the directory; made by spoold when it is missing.
	Spool string
	Bind  string
	// Port and WebPort; 0 leaves the default, -1 lets the system choose.
	Port, WebPort int
	Config        string
	LogLevel      string
	PulsarConf    string
	// LogFile takes what the daemon prints; empty is LogPath(Spool).
	LogFile string
	// Ready bounds the wait until the broker serves.
	Ready time.Duration
}

// LogPath is where the log of a detached broker goes by default: beside the
// spool, because a spool holds nothing that spoold does not know.
func LogPath(spool string) string { return filepath.Clean(spool) + ".log" }

// Args is the command line of spoold without its name.
func (o Options) Args() []string {
	args := []string{"--spool", o.Spool}
	for _, f := range []struct{ name, val string }{
		{"--bind", o.Bind}, {"--port", portText(o.Port)}, {"--web-port", portText(o.WebPort)},
		{"--config", o.Config}, {"--log-level", o.LogLevel}, {"--pulsar-conf", o.PulsarConf},
	} {
		if f.val != "" {
			args = append(args, f.name, f.val)
		}
	}
	return args
}

func portText(p int) string {
	switch {
	case p == 0:
		return ""
	case p < 0:
		return "0"
	}
	return strconv.Itoa(p)
}

// Exec replaces this process by spoold; it returns only when that fails.
func Exec(o Options, environ []string) error {
	return syscall.Exec(o.Binary, append([]string{Program}, o.Args()...), environ)
}

// StartError says why a broker did not become ready.
type StartError struct {
	Reason  string
	LogFile string
	LogTail []string // the last lines of the log
}

func (e *StartError) Error() string { return "the broker did not start: " + e.Reason }

const (
	pollInterval = 50 * time.Millisecond
	probeTimeout = 2 * time.Second
	tailLines    = 15
	// giveUpGrace is how long a broker that did not become ready gets to stop.
	giveUpGrace = 5 * time.Second
)

// Start runs spoold detached from this process and its terminal, and waits
// until the record names the new process and its web port answers. A broker
// that is not ready in time is stopped again. *RunningError when the spool has
// a broker, *StartError with the end of the log when the new one fails.
func Start(ctx context.Context, o Options) (Record, error) {
	if s, err := Check(ctx, o.Spool, probeTimeout); err == nil && s.Running {
		return s.Record, &RunningError{Spool: o.Spool, Record: s.Record}
	}
	if o.LogFile == "" {
		o.LogFile = LogPath(o.Spool)
	}
	log, err := os.OpenFile(o.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return Record{}, fmt.Errorf("log file: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(o.Binary, o.Args()...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrNoBinary, err)
	}
	pid := cmd.Process.Pid
	r, err := awaitReady(ctx, o, pid)
	if err == nil {
		// The process outlives this one, which no longer waits for it.
		return r, cmd.Process.Release()
	}
	if !errors.Is(err, errExited) {
		// Whether it ends in time changes nothing about the error.
		_, _ = stopProcess(context.WithoutCancel(ctx), pid, giveUpGrace, true, func() bool { return reaped(pid) })
	}
	if ctx.Err() != nil {
		return Record{}, ctx.Err()
	}
	return Record{}, &StartError{Reason: err.Error(), LogFile: o.LogFile, LogTail: Tail(o.LogFile, tailLines)}
}

var errExited = errors.New("it ended at once")

func awaitReady(ctx context.Context, o Options, pid int) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Ready)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	waiting := "it wrote no " + RecordName
	for {
		if exited, how := exitStatus(pid); exited {
			return Record{}, fmt.Errorf("%w: %s", errExited, how)
		}
		if r, err := ReadRecord(o.Spool); err == nil && r.PID == pid {
			err := probe(ctx, r.WebPort, probeTimeout)
			if err == nil {
				return r, nil
			}
			waiting = err.Error()
		}
		select {
		case <-ctx.Done():
			return Record{}, fmt.Errorf("not ready after %s: %s", o.Ready, waiting)
		case <-tick.C:
		}
	}
}

// exitStatus asks without waiting whether our child has ended.
func exitStatus(pid int) (bool, string) {
	var w syscall.WaitStatus
	got, err := syscall.Wait4(pid, &w, syscall.WNOHANG, nil)
	switch {
	case err != nil || got != pid:
		return false, ""
	case w.Signaled():
		return true, "killed by " + strings.ToLower(w.Signal().String())
	}
	return true, fmt.Sprintf("exit code %d", w.ExitStatus())
}

func reaped(pid int) bool {
	exited, _ := exitStatus(pid)
	return exited || !alive(pid)
}
