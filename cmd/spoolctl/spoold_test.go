package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spoolctl/live/daemon"

	"github.com/apache/pulsar-client-go/pulsar"
	pulsarlog "github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
)

// programs builds both programs once for all tests, into a folder that TestMain's process leaves to the system's cleaning
// when it is killed and removes otherwise.
var programs = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "spoolctl-test-bin-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "spoolctl/cmd/spoold", "spoolctl/cmd/spoolctl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return dir, nil
})

func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// broker is a running spoold.
type broker struct {
	t      *testing.T
	spool  string
	cmd    *exec.Cmd
	log    *bytes.Buffer
	Record daemon.Record
}

// startBroker runs spoold on the spool, on free ports, and stops it at the test's end if it still runs.
func startBroker(t *testing.T, spool string) *broker {
	t.Helper()
	b := &broker{t: t, spool: spool, log: &bytes.Buffer{}}
	b.cmd = exec.Command(program(t, "spoold"), "--spool", spool, "--port", "0", "--web-port", "0")
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = b.cmd.Wait(); close(exited) }()
	t.Cleanup(func() {
		_ = b.cmd.Process.Kill()
		<-exited
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		r, err := daemon.ReadRecord(spool)
		if err == nil && r.PID == b.cmd.Process.Pid {
			b.Record = r
			return b
		}
		select {
		case <-exited:
			t.Fatalf("spoold ended: %s", b.log)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("spoold is not ready: %s", b.log)
		}
	}
}

// end sends a signal and waits for the process to be gone.
func (b *broker) end(sig syscall.Signal) {
	b.t.Helper()
	if err := b.cmd.Process.Signal(sig); err != nil {
		b.t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); syscall.Kill(b.cmd.Process.Pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("spoold does not end: %s", b.log)
		}
	}
}

func (b *broker) web() string { return fmt.Sprintf("http://127.0.0.1:%d", b.Record.WebPort) }

// client connects the official Go client.
func (b *broker) client() pulsar.Client {
	b.t.Helper()
	return b.clientWithin(10 * time.Second)
}

// clientWithin is client with a longest wait for one operation.
func (b *broker) clientWithin(timeout time.Duration) pulsar.Client {
	b.t.Helper()
	quiet := logrus.New()
	quiet.SetLevel(logrus.PanicLevel)
	c, err := pulsar.NewClient(pulsar.ClientOptions{
		URL: fmt.Sprintf("pulsar://127.0.0.1:%d", b.Record.Port), OperationTimeout: timeout,
		Logger: pulsarlog.NewLoggerWithLogrus(quiet), MetricsRegisterer: prometheus.NewRegistry(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// ctl runs spoolctl in this process and returns what it printed.
func ctl(t *testing.T, want int, args ...string) (stdout string) {
	t.Helper()
	var out, errOut bytes.Buffer
	io := &ioStreams{in: strings.NewReader(""), out: &out, err: &errOut, width: func() int { return 0 }}
	if code := execute(context.Background(), newFactory(io, nil), args); code != want {
		t.Fatalf("spoolctl %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out.String(), errOut.String())
	}
	return out.String()
}
