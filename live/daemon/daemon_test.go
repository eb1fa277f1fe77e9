package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spoolctl/live/daemon"
)

// fakeMode makes this test binary play spoold.
const fakeMode = "FAKE_SPOOLD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(fakeSpoold(mode))
	}
	goleak.VerifyTestMain(m)
}

func fakeSpoold(mode string) int {
	fmt.Println("fake spoold", mode, strings.Join(os.Args[1:], " "))
	if mode == "fails" {
		fmt.Println("boom")
		return 3
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	if mode == "silent" {
		<-stop
		return 0
	}
	spool := os.Args[slices.Index(os.Args, "--spool")+1]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	go func() { _ = http.Serve(l, http.NotFoundHandler()) }()
	record := filepath.Join(spool, daemon.RecordName)
	b, _ := json.Marshal(daemon.Record{PID: os.Getpid(), Port: 1, WebPort: l.Addr().(*net.TCPAddr).Port})
	if os.MkdirAll(spool, 0o755) != nil || os.WriteFile(record+".tmp", b, 0o644) != nil || os.Rename(record+".tmp", record) != nil {
		return 1
	}
	<-stop
	if mode == "stubborn" {
		<-make(chan int)
	}
	if os.Remove(record) != nil {
		return 1
	}
	return 0
}

func options(t *testing.T, mode string) daemon.Options {
	t.Helper()
	t.Setenv(fakeMode, mode)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return daemon.Options{Binary: self, Spool: filepath.Join(t.TempDir(), "spool"), Ready: 20 * time.Second, WebPort: -1, LogLevel: "debug"}
}

// kill ends a fake that a failing test left behind.
func kill(t *testing.T, pid int) {
	t.Cleanup(func() {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			var w syscall.WaitStatus
			_, _ = syscall.Wait4(pid, &w, 0, nil)
		}
	})
}

func TestStartAndStop(t *testing.T) {
	o := options(t, "ready")
	r, err := daemon.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, r.PID)
	s, err := daemon.Check(t.Context(), o.Spool, time.Second)
	if err != nil || !s.Running || !s.Serving || s.Unclean || s.Record != r || s.Since.IsZero() {
		t.Fatalf("%+v %v", s, err)
	}
	var running *daemon.RunningError
	if _, err := daemon.Start(t.Context(), o); !errors.As(err, &running) || running.Record.PID != r.PID {
		t.Errorf("second start: %v", err)
	}
	if sid, err := getsid(r.PID); err == nil && sid != r.PID {
		t.Errorf("the broker is in session %d", sid)
	}
	if log := daemon.Tail(daemon.LogPath(o.Spool), 1); len(log) != 1 || !strings.Contains(log[0], "--web-port 0 --log-level debug") {
		t.Errorf("log is %q", log)
	}
	res, err := daemon.Stop(t.Context(), o.Spool, 10*time.Second, false)
	if err != nil || res.Killed || res.Record != r {
		t.Fatalf("%+v %v", res, err)
	}
	if s, err := daemon.Check(t.Context(), o.Spool, time.Second); err != nil || s.Running || s.Unclean {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := daemon.Stop(t.Context(), o.Spool, time.Second, false); !errors.Is(err, daemon.ErrNotRunning) {
		t.Errorf("second stop: %v", err)
	}
}

func TestStopOfStubbornBroker(t *testing.T) {
	o := options(t, "stubborn")
	r, err := daemon.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, r.PID)
	if _, err := daemon.Stop(t.Context(), o.Spool, 50*time.Millisecond, false); !errors.Is(err, daemon.ErrStillRunning) {
		t.Errorf("without kill: %v", err)
	}
	res, err := daemon.Stop(t.Context(), o.Spool, 50*time.Millisecond, true)
	if err != nil || !res.Killed {
		t.Errorf("%+v %v", res, err)
	}
	if s, err := daemon.Check(t.Context(), o.Spool, time.Second); err != nil || s.Running || !s.Unclean {
		t.Errorf("%+v %v", s, err)
	}
}

func TestStartFailures(t *testing.T) {
	var start *daemon.StartError
	o := options(t, "fails")
	if _, err := daemon.Start(t.Context(), o); !errors.As(err, &start) || !strings.Contains(err.Error(), "exit code 3") || !slices.Contains(start.LogTail, "boom") {
		t.Errorf("ends at once: %v %+v", err, start)
	}
	o = options(t, "silent")
	o.Ready = 200 * time.Millisecond
	if _, err := daemon.Start(t.Context(), o); !errors.As(err, &start) || !strings.Contains(err.Error(), "not ready after 200ms") {
		t.Errorf("never ready: %v", err)
	}
	o = options(t, "silent")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := daemon.Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	o.Binary = filepath.Join(t.TempDir(), "absent")
	if _, err := daemon.Start(t.Context(), o); !errors.Is(err, daemon.ErrNoBinary) {
		t.Errorf("no binary: %v", err)
	}
}

func TestReadRecord(t *testing.T) {
	if _, err := daemon.ReadRecord(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, daemon.ErrNotRunning) {
		t.Errorf("no spool: %v", err)
	}
	for _, text := range []string{"", "{", `{"pid":0}`, `{"pid":1}`, `{"pid":-5}`, `{"pid":99,"webPort":70000}`, `[]`, strings.Repeat(" ", 1<<17)} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, daemon.RecordName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.ReadRecord(dir); !errors.Is(err, daemon.ErrRecord) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestReusedPid: a record older than the process is about another one.
func TestReusedPid(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, daemon.RecordName)
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d}`, os.Getpid()), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := daemon.Check(t.Context(), dir, time.Second); err != nil || !s.Running || s.Serving || s.Problem == "" {
		t.Errorf("fresh record: %+v %v", s, err)
	}
	old := time.Now().Add(-24 * 365 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if s, err := daemon.Check(t.Context(), dir, time.Second); err != nil || s.Running || !s.Unclean {
		t.Errorf("old record: %+v %v", s, err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := daemon.Find(""); !errors.Is(err, daemon.ErrNoBinary) {
		t.Errorf("nothing there: %v", err)
	}
	path := filepath.Join(dir, daemon.Program)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := daemon.Find(""); err != nil || got != path {
		t.Errorf("in PATH: %q %v", got, err)
	}
	if got, err := daemon.Find(path); err != nil || got != path {
		t.Errorf("named: %q %v", got, err)
	}
	if _, err := daemon.Find(path + "x"); !errors.Is(err, daemon.ErrNoBinary) {
		t.Errorf("named and absent: %v", err)
	}
}

// signalled is a writer that reports each write, so that the test waits for
// output and not for time.
type signalled struct{ wrote chan string }

func (s *signalled) Write(b []byte) (int, error) {
	s.wrote <- string(b)
	return len(b), nil
}

func TestLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := daemon.Logs(t.Context(), path, 2, false, &b); err != nil || b.String() != "two\nthree\n" {
		t.Errorf("%q %v", b.String(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &signalled{wrote: make(chan string, 10)}
	done := make(chan error, 1)
	go func() { done <- daemon.Logs(ctx, path, 1, true, out) }()
	if got := <-out.wrote; got != "three\n" {
		t.Errorf("got %q", got)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("four\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := <-out.wrote; got != "four\n" {
		t.Errorf("got %q", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := daemon.Logs(t.Context(), path+"x", 1, false, &b); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent log: %v", err)
	}
}

func getsid(pid int) (int, error) {
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sid), nil
}
