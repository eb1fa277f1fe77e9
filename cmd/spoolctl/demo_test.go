package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said is what a program wrote, readable while it still writes.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// demo is a run of the real program, with a temporary folder of its own.
type demo struct {
	cmd       *exec.Cmd
	temp      string
	out, errs said
}

func startDemo(t *testing.T) *demo {
	t.Helper()
	d := &demo{temp: t.TempDir()}
	d.cmd = exec.Command(program(t, "spoolctl"), "demo")
	d.cmd.Env = append(os.Environ(), "TMPDIR="+d.temp)
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.errs
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	return d
}

// end waits for the program and checks that it left nothing: no file, and no daemon, whose command line would name the
// folder.
func (d *demo) end(t *testing.T) (code int) {
	t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { _ = d.cmd.Process.Kill() })
	defer watchdog.Stop()
	_ = d.cmd.Wait() // the exit code is what counts
	left, err := os.ReadDir(d.temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(d.temp)) {
			t.Errorf("still running: %q", bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
		}
	}
	return d.cmd.ProcessState.ExitCode()
}

func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real programs")
	}
	t.Parallel()
	d := startDemo(t)
	if code := d.end(t); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, d.errs.String())
	}
	for _, part := range []string{"$ spoolctl top", "$ spoolctl inspect summary", "$ spoolctl inspect backlog", "$ spoolctl inspect ranges", "$ spoolctl inspect messages", "the temporary spool is removed"} {
		if !strings.Contains(d.errs.String(), part) {
			t.Errorf("%q is not announced:\n%s", part, d.errs.String())
		}
	}
	for _, part := range []string{
		"persistent://public/default/orders", // top
		"MESSAGES", "BACKLOGS",               // summary
		"orders stuck:", // backlog --explain
		"UNACKED",       // ranges
		`{"order":0}`,   // the first message that the stuck subscription did not acknowledge
		"shown 5 of",    // and how many there are
	} {
		if !strings.Contains(d.out.String(), part) {
			t.Errorf("%q is not shown:\n%s", part, d.out.String())
		}
	}
}

// TestDemoInterrupted stops the demo where it is most awkward.
func TestDemoInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real programs")
	}
	for name, at := range map[string]string{"starting": "a broker on a temporary spool", "traffic": "through the official Go client"} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				d := startDemo(t)
				for deadline := time.Now().Add(30 * time.Second); !strings.Contains(d.errs.String(), at); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("never got there:\n%s", d.errs.String())
					}
				}
				if err := d.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if code := d.end(t); code != exitInterrupted {
					t.Errorf("exit code %d\n%s", code, d.errs.String())
				}
				if strings.Contains(d.errs.String(), "error:") {
					t.Errorf("%s", d.errs.String())
				}
			})
		}
	}
}

// TestDemoWithoutDaemon: the one thing that it needs is named.
func TestDemoWithoutDaemon(t *testing.T) {
	code, _, errs := runArgs(t, nil, "demo", "--spoold", filepath.Join(t.TempDir(), "nothing"))
	if code != exitUnavailable || !strings.Contains(errs, "hint: ") {
		t.Errorf("%d %s", code, errs)
	}
}
