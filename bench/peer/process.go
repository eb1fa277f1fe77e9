package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrMissing is wrapped by the error for a peer that is not installed.
var ErrMissing = errors.New("not installed")

// sampleEvery is the time between two looks at a process.
const sampleEvery = 100 * time.Millisecond

// Limits are what a measured process may use.
type Limits struct {
	Memory int64  // bytes: Go's soft limit, and a hard one where a cgroup can be made; 0 = all
	CPUs   string // a list for taskset, such as 0-1; empty = all
}

// Usage is what a process used. Bytes are -1 when the system does not tell.
type Usage struct {
	CPU        time.Duration
	Wall       time.Duration
	PeakRSS    int64
	Written    int64 // handed to the block devices
	Anon, File int64 // the most that its cgroup held
}

// process is a running program. A goroutine waits for it, another one watches it; both end with it.
type process struct {
	cmd   *exec.Cmd
	name  string
	log   *os.File
	group *group
	begun time.Time
	done  chan struct{} // closed when it has ended
	err   error         // how; valid after done
	watch sync.WaitGroup
	mu    sync.Mutex
	usage Usage // CPU, Wall and Written are valid after done
}

// start runs a program with its output in a log.
func start(ctx context.Context, log string, l Limits, argv ...string) (*process, error) {
	name := filepath.Base(argv[0])
	if l.CPUs != "" {
		argv = append([]string{"taskset", "-c", l.CPUs}, argv...)
	}
	p := &process{name: name, done: make(chan struct{}), usage: Usage{PeakRSS: -1, Written: -1, Anon: -1, File: -1}}
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, err
	}
	var err error
	if p.log, err = os.Create(log); err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	if l.Memory > 0 {
		p.cmd.Env = append(os.Environ(), "GOMEMLIMIT="+strconv.FormatInt(l.Memory, 10))
	}
	if p.group = newGroup(l.Memory); p.group != nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: p.group.fd()}
	}
	p.begun = time.Now()
	if err := p.cmd.Start(); err != nil {
		p.group.remove()
		return nil, errors.Join(err, p.log.Close())
	}
	go p.wait()
	p.watch.Go(p.sample)
	return p, nil
}

func (p *process) wait() {
	_ = p.cmd.Wait() // the state says more
	state := p.cmd.ProcessState
	p.mu.Lock()
	p.usage.Wall, p.usage.CPU = time.Since(p.begun), state.UserTime()+state.SystemTime()
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		p.usage.Written = r.Oublock * 512 // the kernel counts in sectors
	}
	p.mu.Unlock()
	if !state.Success() {
		how := fmt.Sprintf("exit code %d", state.ExitCode())
		if !state.Exited() {
			how = state.String()
		}
		p.err = fmt.Errorf("%s (pid %d) ended with %s; its log is %s", p.name, state.Pid(), how, p.log.Name())
	}
	close(p.done)
}

// sample looks at the process until it ends.
func (p *process) sample() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		p.look()
		select {
		case <-tick.C:
		case <-p.done:
			return
		}
	}
}

// look notes the most memory that the process and its cgroup held.
func (p *process) look() {
	rss, err := p.status("VmHWM")
	anon, file := p.group.memory()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.usage.PeakRSS = max(p.usage.PeakRSS, rss)
	}
	p.usage.Anon, p.usage.File = max(p.usage.Anon, anon), max(p.usage.File, file)
}

// status reads a size from the process's status, in bytes.
func (p *process) status(field string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	kib, err := lineValue(string(b), field+":")
	return kib << 10, err
}

// lineValue finds the line that starts with a word and returns the number behind it.
func lineValue(text, word string) (int64, error) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == word {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("no %q", word)
}

// ended reports a process that is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the process to end and waits for it. A bad end, or one before it was asked for, is an error.
func (p *process) stop(signal syscall.Signal) (Usage, error) {
	early := p.ended()
	if !early {
		p.look()
		_ = p.cmd.Process.Signal(signal) // it may be gone by now
	}
	<-p.done
	p.watch.Wait()
	p.group.remove()
	err := p.err
	switch {
	case signal == syscall.SIGKILL && !early:
		err = nil
	case err == nil && early:
		err = fmt.Errorf("%s (pid %d) ended by itself with exit code 0; its log is %s", p.name, p.cmd.Process.Pid, p.log.Name())
	}
	return p.usage, errors.Join(err, p.log.Close())
}

// dial connects to host:port; the connection ends with done or with ctx.
func dial(ctx context.Context, addr string) (nc net.Conn, done func(), err error) {
	var d net.Dialer
	if nc, err = d.DialContext(ctx, "tcp", addr); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	return nc, func() { stop(); _ = nc.Close() }, nil
}

// Run runs a program to its end, with its output in a log.
func Run(ctx context.Context, log string, l Limits, argv ...string) (Usage, error) {
	p, err := start(ctx, log, l, argv...)
	if err != nil {
		return Usage{}, err
	}
	<-p.done
	p.watch.Wait()
	p.group.remove()
	return p.usage, errors.Join(p.err, p.log.Close())
}
