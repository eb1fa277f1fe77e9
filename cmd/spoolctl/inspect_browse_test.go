package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBrowseUsage: without a terminal it says what to use instead, before it looks at the spool.
func TestBrowseUsage(t *testing.T) {
	for _, args := range [][]string{{"inspect", "browse", "nowhere"}, {"inspect", "browse"}, {"inspect", "browse", "nowhere", "more"}} {
		code, out, errs := runArgs(t, nil, args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, "hint: ") {
			t.Errorf("%v: %d %s %s", args, code, out, errs)
		}
	}
	if _, _, errs := runArgs(t, nil, "inspect", "browse", "nowhere"); !strings.Contains(errs, "inspect topics --spool nowhere") {
		t.Error(errs)
	}
}

// terminal is the program in tmux.
type terminal struct {
	t      *testing.T
	socket string
}

// inTerminal runs a shell command in a terminal of its own, 80 by 24.
func inTerminal(t *testing.T, command string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	tm := &terminal{t, filepath.Join(t.TempDir(), "s")}
	tm.tmux("new-session", "-d", "-x", "80", "-y", "24", command+`; echo "exit code $?"; exec cat`)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", tm.socket, "kill-server").Run() })
	return tm
}

func (tm *terminal) tmux(args ...string) string {
	tm.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", tm.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		tm.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// press types keys, then waits for texts to be on the screen.
func (tm *terminal) press(keys []string, texts ...string) {
	tm.t.Helper()
	if len(keys) > 0 {
		tm.tmux(append([]string{"send-keys"}, keys...)...)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		screen, missing := tm.tmux("capture-pane", "-p"), ""
		for _, want := range texts {
			if !strings.Contains(screen, want) {
				missing = want
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			tm.t.Fatalf("%v: %q is not on the screen:\n%s", keys, missing, screen)
		}
	}
}

// restored fails unless the terminal is as it was before.
func (tm *terminal) restored() {
	tm.t.Helper()
	if state := strings.TrimSpace(tm.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}")); state != "0 1" {
		tm.t.Errorf("the terminal is not restored: alternate screen and cursor %s", state)
	}
}

// TestBrowse walks through a spool with the real program on a real terminal; the spool stays as it is.
func TestBrowse(t *testing.T) {
	dir := spoolOf(t)
	before := snapshot(t, dir)
	tm := inTerminal(t, program(t, "spoolctl")+" inspect browse "+dir)
	tm.press(nil, "● stopped", "orders", "1 topic, 12 entries")
	tm.press([]string{"G", "Enter"}, "billing", "needed by billing", "▒")
	tm.press([]string{"Enter"}, "mark-delete 1:0", "partial", "█ acked")
	tm.press([]string{"p"}, "pending for billing", "second")
	tm.press([]string{"f", "order", "Enter"}, "find in pending: order", "found in all")
	tm.press([]string{"Enter"}, "PAYLOAD", "as json", "ENTRY AS STORED")
	tm.tmux("resize-window", "-x", "100", "-y", "30")
	tm.press([]string{"?"}, "Keys", "write the page as JSON")
	tm.press([]string{"x", "q"}, "exit code 0")
	tm.restored()
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("the spool has changed:\n%s", diff)
	}
}

// TestBrowseWithoutColour: NO_COLOR takes the colours and leaves what shows the selected row.
func TestBrowseWithoutColour(t *testing.T) {
	tm := inTerminal(t, "NO_COLOR=1 "+program(t, "spoolctl")+" inspect browse "+spoolOf(t))
	tm.press(nil, "● stopped", "orders")
	screen := tm.tmux("capture-pane", "-p", "-e")
	if !regexp.MustCompile(`\x1b\[[0-9;]*\b7m`).MatchString(screen) || regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|38;[0-9;]+)m`).MatchString(screen) {
		t.Errorf("%q", screen)
	}
}

// TestBrowseEnds: signals end it with the terminal restored; what could not be read makes the exit code 3 and is listed.
func TestBrowseEnds(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		file := filepath.Join(t.TempDir(), "pid")
		tm := inTerminal(t, "sh -c 'echo $$ >"+file+"; exec "+program(t, "spoolctl")+" inspect browse "+spoolOf(t)+"'")
		tm.press(nil, "● stopped")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		tm.press(nil, "exit code 130")
		tm.restored()
	}
	dir := killedSpoolOf(t)
	damageLog(t, dir)
	tm := inTerminal(t, program(t, "spoolctl")+" inspect browse "+dir)
	tm.press(nil, "could not be read", "●")
	tm.press([]string{"q"}, "the answer is not complete", "exit code 3")
}
