package maintain_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"spoolctl/maintain"
	"spoolctl/storage"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// killWhole makes TestKill kill at every step and at every system call; see the Makefile's kill.
var killWhole = flag.Bool("kill.whole", false, "kill at every step and at every system call that changes files")

// deadly is a verb that is killed. What it works on is in DIR/spool; DIR may hold more.
type deadly struct {
	name string
	// setup makes of a sample spool what the verb needs; may be nil.
	setup func(t testing.TB, dir string)
	run   func(t testing.TB, dir string, o maintain.Options) error
	// after looks at what a kill left and goes on from there. It says whether the new state was there, and whether there
	// was anything to clean up.
	after func(t testing.TB, what, dir string, v *deadly) (changed, recovered bool)

	old, new map[string]string // what can be seen of the spool
	made     map[string]string // the same of DIR/made after the verb, where it makes that
	kept     int               // checkpoints in old
}

// The environment of a child that is to be killed.
const (
	killVerb = "MAINTAIN_TEST_KILL"
	killDir  = "MAINTAIN_TEST_KILL_DIR"
	killStep = "MAINTAIN_TEST_KILL_STEP" // number of the step; empty: somebody else kills
)

// TestKillChild is the process that TestKill kills.
func TestKillChild(t *testing.T) {
	verb, dir := os.Getenv(killVerb), os.Getenv(killDir)
	if verb == "" {
		return
	}
	o := options(filepath.Join(dir, "spool"))
	if at, err := strconv.Atoi(os.Getenv(killStep)); err == nil {
		n := 0
		o.Step = func(string) error {
			if n++; n-1 == at {
				must(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
				select {}
			}
			return nil
		}
	}
	all := deadlyVerbs(t)
	v := all[slices.IndexFunc(all, func(v *deadly) bool { return v.name == verb })]
	signpost()
	err := v.run(t, dir, o)
	signpost()
	must(t, err)
}

// killCounts is what TestKill prints.
type killCounts struct {
	mu                                         sync.Mutex
	verbs, steps, calls                        int // that there are
	atStep, atCall, old, new, recovered, clean int // kills, and what they left; recovered: the next run had something to do
}

// TestKill kills every verb for good, in a process of its own: before each of its steps, and as each of the system calls
// begins that change files. The spool then opens, passes every check and has the old state or the new one; the next run
// says which, cleans up, and completes the change or undoes it.
func TestKill(t *testing.T) {
	var n killCounts
	sample := makeSpool(t)
	t.Run("verbs", func(t *testing.T) {
		for i, v := range deadlyVerbs(t) {
			if testing.Short() && i%4 != 0 {
				continue
			}
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				v.kill(t, sample, i, &n)
			})
		}
	})
	t.Logf("%d verbs with %d steps and %d calls that change files: %d killed at steps, %d at calls; %d left the old state, %d the new; the next run had work after %d and none after %d; nothing was lost",
		n.verbs, n.steps, n.calls, n.atStep, n.atCall, n.old, n.new, n.recovered, n.clean)
}

// kill kills v; the sampled run starts at another place for each seed.
func (v *deadly) kill(t *testing.T, sample string, seed int, n *killCounts) {
	start := t.TempDir()
	must(t, os.CopyFS(filepath.Join(start, "spool"), os.DirFS(sample)))
	if v.setup != nil {
		v.setup(t, start)
	}
	whole := copyTree(t, start)
	var steps []string
	o := options(filepath.Join(whole, "spool"))
	o.Step = func(s string) error { steps = append(steps, s); return nil }
	must(t, v.run(t, whole, o))
	v.old, v.new = state(t, start), state(t, whole)
	v.made = spoolState(t, filepath.Join(whole, "made"))
	v.kept = len(checkpoints(t, filepath.Join(start, "spool")))

	try := func(kill func(cmd *exec.Cmd) (what string, killed bool)) bool {
		dir := copyTree(t, start)
		defer os.RemoveAll(dir)
		what, killed := kill(child(t, v.name, dir))
		if !killed || t.Failed() {
			return false
		}
		changed, recovered := v.after(t, v.name+" killed at "+what, dir, v)
		n.add(changed, recovered)
		return !t.Failed()
	}
	every := func(of, some int) (first, stride int) {
		if *killWhole {
			return 0, 1
		}
		return seed % max(1, of/some), max(1, of/some)
	}
	atStep := 0
	first, stride := every(len(steps), 2)
	for at := first; at < len(steps); at += stride {
		if try(func(cmd *exec.Cmd) (string, bool) { return "step " + steps[at], killedAtStep(t, cmd, at) }) {
			atStep++
		}
	}
	calls, atCall := 0, 0
	if canTrace {
		calls, atCall = v.killCalls(t, start, every, try)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.verbs++
	n.steps, n.atStep, n.calls, n.atCall = n.steps+len(steps), n.atStep+atStep, n.calls+calls, n.atCall+atCall
}

func (v *deadly) killCalls(t *testing.T, start string, every func(of, some int) (int, int), try func(func(*exec.Cmd) (string, bool)) bool) (calls, killed int) {
	calls, _, _, err := killedAtCall(child(t, v.name, copyTree(t, start)), -1)
	must(t, err)
	if calls < 5 {
		t.Fatalf("only %d calls change files", calls)
	}
	first, stride := every(calls, 2)
	for at := first; at < calls; at += stride {
		if try(func(cmd *exec.Cmd) (string, bool) {
			_, last, hit, err := killedAtCall(cmd, at)
			must(t, err)
			return fmt.Sprintf("call %d, %s", at, last), hit
		}) {
			killed++
		}
	}
	return calls, killed
}

func (n *killCounts) add(changed, recovered bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if changed {
		n.new++
	} else {
		n.old++
	}
	if recovered {
		n.recovered++
	} else {
		n.clean++
	}
}

func child(t testing.TB, verb, dir string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), os.Args[0], "-test.run", "^TestKillChild$")
	cmd.Env = append(os.Environ(), killVerb+"="+verb, killDir+"="+dir)
	return cmd
}

// killedAtStep runs cmd until it kills itself.
func killedAtStep(t testing.TB, cmd *exec.Cmd, at int) bool {
	t.Helper()
	cmd.Env = append(cmd.Env, killStep+"="+strconv.Itoa(at))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("step %d: the child was not killed: %v\n%s", at, err, out)
		return false
	}
	return true
}

// state is everything in DIR/spool that a person can see; nil: there is none.
func state(t testing.TB, dir string) map[string]string {
	t.Helper()
	return spoolState(t, filepath.Join(dir, "spool"))
}

func spoolState(t testing.TB, spool string) map[string]string {
	t.Helper()
	if _, err := os.Stat(spool); err != nil {
		return nil
	}
	if desc, err := pebble.Peek(filepath.Join(spool, "store"), vfs.Default); err != nil || desc.FormatMajorVersion < storage.EngineOptions().FormatMajorVersion {
		return map[string]string{"format": desc.FormatMajorVersion.String()} // it cannot be opened yet
	}
	out := contents(t, spool)
	doc, err := maintain.DumpResources(options(spool))
	must(t, err)
	out["resources"] = string(doc)
	return out
}

// is compares a state with one that is wanted.
func is(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}
