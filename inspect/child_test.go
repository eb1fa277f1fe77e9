package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"spoolctl/inspect"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The test binary runs itself to be another process: the variables say what it
// is to do instead of testing.
const (
	childTask = "INSPECT_TEST_TASK"
	childDir  = "INSPECT_TEST_DIR"
)

// runChild does the task of a child; false when this is the test itself.
func runChild() bool {
	dir := os.Getenv(childDir)
	var err error
	switch os.Getenv(childTask) {
	case "":
		return false
	case "hold": // keep the spool open until standard input ends
		err = hold(dir)
	case "answer": // run every verb
		err = childAnswer(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func hold(dir string) error {
	s, err := storage.Open(context.Background(), storage.Options{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println("holding")
	var end [1]byte
	_, _ = os.Stdin.Read(end[:]) // ends with the parent
	return s.Close(context.Background())
}

func childAnswer(dir string) error {
	s, err := inspect.Open(context.Background(), inspect.Options{Dir: dir, Now: now})
	if err != nil {
		return err
	}
	text, err := answers(context.Background(), s)
	if err != nil {
		return err
	}
	if n := len(s.Problems()); n > 0 {
		return fmt.Errorf("%d problems: %v", n, s.Problems())
	}
	fmt.Print(text)
	return s.Close()
}

func child(t *testing.T, task, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childTask+"="+task, childDir+"="+dir)
	return cmd
}

func TestHeldByAnotherProcess(t *testing.T) {
	dir := t.TempDir() + "/spool"
	m := makeSpool(t, vfs.Default, dir)
	sample(m)
	m.stop()

	cmd := child(t, "hold", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := out.Read(make([]byte, 7)); err != nil {
		t.Fatal(err)
	}

	ctx := context.Background()
	_, err = inspect.Open(ctx, inspect.Options{Dir: dir})
	owned, ok := err.(*inspect.OwnedError)
	if !ok || owned.PID != cmd.Process.Pid {
		t.Fatalf("got %v, want the owner %d", err, cmd.Process.Pid)
	}
	s := open(t, inspect.Options{Dir: dir, Live: true})
	if src := s.Source(); src.Mode != inspect.ModeLive || *src.Owner != cmd.Process.Pid {
		t.Errorf("source %+v", src)
	}
	if n := s.Notes(); len(n) != 1 || !strings.Contains(n[0], "not a consistent snapshot") {
		t.Errorf("notes %q", n)
	}
	if list, err := s.Topics(ctx, inspect.TopicsOptions{}); err != nil || list.Totals.Entries != 29 {
		t.Errorf("live: %+v, %v", list.Totals, err)
	}

	copied := t.TempDir() + "/copy"
	released := false
	s = open(t, inspect.Options{Dir: dir, Checkpoint: func(_ context.Context, d string, pid int) (inspect.Checkpoint, error) {
		if d != dir || pid != cmd.Process.Pid {
			t.Errorf("asked for a checkpoint of %s by %d", d, pid)
		}
		return inspect.Checkpoint{Path: copied, Release: func() error { released = true; return nil }}, copyHeld(copied, dir)
	}})
	if src := s.Source(); src.Mode != inspect.ModeCheckpoint || *src.Checkpoint != copied {
		t.Errorf("source %+v", src)
	}
	if list, err := s.Topics(ctx, inspect.TopicsOptions{}); err != nil || list.Totals.Entries != 29 {
		t.Errorf("checkpoint: %+v, %v", list.Totals, err)
	}
	if err := s.Close(); err != nil || !released {
		t.Errorf("released %v, %v", released, err)
	}
}

// copyHeld copies a spool that a process holds and does not write to. The process may still be removing files that it has
// no use for any more: one that is gone when it is to be copied is not needed.
func copyHeld(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
}

// TestUnprivileged reads a spool without write permission as a user that is
// not its owner.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	dir := t.TempDir() + "/spool"
	m := makeSpool(t, vfs.Default, dir)
	sample(m)
	m.stop()
	want, err := answers(context.Background(), open(t, inspect.Options{Dir: dir}))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-R", "a+rX,a-w", dir}, {"a+rx", t.TempDir() + "/..", t.TempDir() + "/../.."}} {
		if out, err := exec.Command("chmod", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	before := treeHash(t, dir)
	bin := t.TempDir() + "/inspect.test"
	if out, err := exec.Command("cp", os.Args[0], bin).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := child(t, "answer", dir)
	cmd.Path, cmd.Args[0] = bin, bin
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	got, err := cmd.Output()
	if err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			t.Fatalf("%v: %s", err, e.Stderr)
		}
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("the unprivileged answer differs")
	}
	if after := treeHash(t, dir); after != before {
		t.Errorf("the spool changed:\n%s\n%s", before, after)
	}
}
