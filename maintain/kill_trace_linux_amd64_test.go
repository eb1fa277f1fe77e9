package maintain_test

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// canTrace says that killedAtCall works here.
const canTrace = true

// signpost is a system call without effect. A child's first one says that its verb begins, the second that it is over.
func signpost() { _ = unix.Flock(-1, unix.LOCK_UN) }

// changing are the system calls that change what is on disk, or make it durable.
func changing(r *syscall.PtraceRegs) string {
	switch r.Orig_rax {
	case unix.SYS_OPENAT:
		if r.Rdx&unix.O_CREAT != 0 {
			return "create"
		}
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return "rename"
	case unix.SYS_UNLINKAT:
		return "remove"
	case unix.SYS_LINKAT:
		return "link"
	case unix.SYS_MKDIRAT:
		return "mkdir"
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_SPLICE:
		return "write"
	case unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE:
		return "resize"
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE:
		return "sync"
	}
	return ""
}

// killedAtCall runs cmd and kills it as its n-th system call that changes files begins, between two signposts. It returns
// how many there were and what the last was; killed is false when there were fewer. n below 0 kills nothing.
func killedAtCall(cmd *exec.Cmd, n int) (calls int, last string, killed bool, err error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, "", false, err
	}
	defer func() { err = errors.Join(err, cmd.Process.Release()) }()
	pid, signposts, code := cmd.Process.Pid, 0, 0
	for first := true; ; {
		var ws syscall.WaitStatus
		// Its process group: this thread may have started other children, which are not to be waited for.
		tid, err := syscall.Wait4(-pid, &ws, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ECHILD):
			if code != 0 {
				err = fmt.Errorf("the child ended with %d", code)
				return calls, last, killed, err
			}
			return calls, last, killed, nil
		case err != nil:
			return calls, last, killed, err
		}
		deliver := 0
		switch {
		case ws.Exited() && tid == pid:
			code = ws.ExitStatus()
			continue
		case !ws.Stopped():
			continue
		case first:
			first = false
			if err := syscall.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
				return 0, "", false, err
			}
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			var r syscall.PtraceRegs
			if syscall.PtraceGetRegs(tid, &r) != nil || int64(r.Rax) != -int64(syscall.ENOSYS) {
				break // it is gone, or this is the call's end
			}
			if r.Orig_rax == unix.SYS_FLOCK && int32(r.Rdi) == -1 {
				signposts++
			}
			if what := changing(&r); what != "" && signposts == 1 && !killed {
				if calls == n {
					killed, last = true, what
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						return calls, last, killed, err
					}
					continue
				}
				calls++
			}
		case ws.StopSignal() != syscall.SIGTRAP && ws.StopSignal() != syscall.SIGSTOP:
			deliver = int(ws.StopSignal())
		}
		if err := syscall.PtraceSyscall(tid, deliver); err != nil && !errors.Is(err, syscall.ESRCH) {
			return calls, last, killed, err
		}
	}
}
