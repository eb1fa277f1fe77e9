package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Spoold is a running daemon on a spool of its own.
type Spoold struct {
	Addr string // host:port of the binary protocol
	Web  string // http://host:port
	Dir  string // the spool
	cmd  *exec.Cmd
	log  *os.File
}

// StartSpoold runs the program on a new spool below dir and waits until it serves. Its log stays beside the spool.
func StartSpoold(ctx context.Context, program, dir string, args ...string) (*Spoold, error) {
	s := &Spoold{Dir: filepath.Join(dir, "spool")}
	if err := os.RemoveAll(s.Dir); err != nil {
		return nil, err
	}
	var err error
	if s.log, err = os.Create(filepath.Join(dir, "spoold.log")); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, program, append([]string{"--spool", s.Dir, "--port", "0", "--web-port", "0"}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		var e struct{ PID, Port, WebPort int }
		b, err := os.ReadFile(filepath.Join(s.Dir, "broker.json"))
		if err == nil && json.Unmarshal(b, &e) == nil && e.PID == s.cmd.Process.Pid {
			s.Addr, s.Web = fmt.Sprintf("127.0.0.1:%d", e.Port), fmt.Sprintf("http://127.0.0.1:%d", e.WebPort)
			return s, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("spoold is not ready after 10 s; see %s", s.log.Name()), s.Stop())
		}
	}
}

// Stop ends the daemon and removes its spool; the log stays. A bad exit is an error that names the code.
func (s *Spoold) Stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	err := s.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("spoold ended with %w; its log is %s", err, s.log.Name())
	}
	return errors.Join(err, s.log.Close(), os.RemoveAll(s.Dir))
}

// PeakRSS returns the most memory the daemon had resident so far, in bytes.
func (s *Spoold) PeakRSS() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var kib int64
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10, nil
		}
	}
	return 0, errors.New("no VmHWM in the process status")
}
