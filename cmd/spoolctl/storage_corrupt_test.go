package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// corruptStride is the distance of the places that TestCorruptAnswers damages; see the Makefile's corrupt.
var corruptStride = flag.Int64("corrupt.stride", 0, "distance of the bytes that are flipped and the lengths that are cut at; 1 tries all, 0 a few")

// corruptAnswers counts exit codes.
type corruptAnswers struct {
	mu      sync.Mutex
	codes   map[string]map[int]int // by verb and exit code
	cases   map[string]int         // by what was done
	missing int                    // cases in which messages are missing or changed
	cut     int                    // of them, those of which only the unclean stop is told
}

// TestCorruptAnswers flips bytes of every file of a small spool in turn and cuts files short, one spool that was stopped
// and one whose broker was killed, and runs the program on it: no verb answers 0 when messages are missing, except after
// an unclean stop with a log that ends early, which every verb mentions.
func TestCorruptAnswers(t *testing.T) {
	n := &corruptAnswers{codes: map[string]map[int]int{}, cases: map[string]int{}}
	stopped, killed := spools(t)
	for kind, dir := range map[string]string{"stopped": stopped, "killed": killed} {
		t.Run(kind, func(t *testing.T) {
			w := &wholeSpool{dir: dir, killed: kind == "killed", files: map[string][]byte{}, n: n}
			w.read(t)
			for file := range w.files {
				t.Run(file, func(t *testing.T) {
					t.Parallel()
					w.damage(t, file)
				})
			}
		})
	}
	t.Log(n)
}

// wholeSpool is a spool before the damage.
type wholeSpool struct {
	dir      string
	killed   bool
	files    map[string][]byte // by path, those that are not empty
	empty    []string
	messages string
	summary  string
	n        *corruptAnswers
}

func (w *wholeSpool) read(t *testing.T) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(w.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(w.dir, path))
		if len(b) > 0 {
			w.files[path] = b
		} else {
			w.empty = append(w.empty, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, w.messages, _ = messagesOf(t, w.dir); strings.Count(w.messages, "\n") != 13 {
		t.Fatalf("the whole spool has %q", w.messages)
	}
	if _, w.summary, _ = summaryOf(t, w.dir); !strings.Contains(w.summary, "460") {
		t.Fatalf("the whole spool's summary is %q", w.summary)
	}
}

// summaryOf is what a summary counts; it reads no message.
func summaryOf(t *testing.T, dir string) (code int, out, errs string) {
	t.Helper()
	return runArgs(t, nil, "inspect", "summary", dir, "--jq", "[.topics,.ledgers,.entries,.messages,.bytes,.subscriptions,.backlog,.backlogBytes,.newestPublish]")
}

func messagesOf(t *testing.T, dir string) (code int, out, errs string) {
	t.Helper()
	return runArgs(t, nil, "inspect", "messages", "orders", "--spool", dir, "--payload", "base64", "-o", "ndjson")
}

// damage tries the places of one file.
func (w *wholeSpool) damage(t *testing.T, file string) {
	whole := w.files[file]
	stride := *corruptStride
	if stride <= 0 {
		stride = max(1, int64(len(whole))/3)
	}
	for at := int64(0); at < int64(len(whole)); at += stride {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 0x55
		w.try(t, file, flipped, fmt.Sprintf("flipped at %d", at))
		w.try(t, file, whole[:at], fmt.Sprintf("cut at %d", at))
	}
}

// try asks every verb about a copy with one damaged file.
func (w *wholeSpool) try(t *testing.T, file string, data []byte, how string) {
	t.Helper()
	at := t.TempDir()
	defer os.RemoveAll(at)
	dir, to := filepath.Join(at, "spool"), filepath.Join(at, "saved")
	w.copyWith(t, dir, file, data)
	cut := strings.HasPrefix(how, "cut")
	answers, codes := map[string]string{}, map[string]int{}
	answer := func(verb string, code int, out, errs string) { codes[verb], answers[verb] = code, out+errs }
	ask := func(verb string, args ...string) {
		code, out, errs := runArgs(t, nil, args...)
		answer(verb, code, out, errs)
	}
	code, got, said := messagesOf(t, dir)
	answer("messages", code, got, said)
	code, counts, said := summaryOf(t, dir)
	answer("summary", code, counts, said)
	ask("verify", "inspect", "verify", dir)
	ask("doctor", "storage", "doctor", dir, "--full")
	ask("salvage", "storage", "salvage", dir, to)
	_, saved, _ := messagesOf(t, to)
	lost := got != w.messages || saved != w.messages
	endsEarly := cut && w.killed && strings.HasSuffix(file, ".log")
	told := 0
	for verb, code := range codes {
		missing := lost
		if verb == "summary" { // it reads no message, and so cannot miss one that its ledger counts
			missing = counts != w.summary
		}
		w.n.add(verb, code)
		switch {
		case code != exitOK && code != exitProblems && code != exitFailed && code != exitUnavailable:
			t.Errorf("%s %s: %s answers %d: %s", file, how, verb, code, answers[verb])
		case code == exitOK && missing && !(endsEarly && mentions(answers[verb])):
			t.Errorf("%s %s: messages are missing, and %s answers 0: %s", file, how, verb, answers[verb])
		case code == exitOK && missing:
			told++
		}
	}
	if strings.Count(saved, "\n") < strings.Count(got, "\n") {
		t.Errorf("%s %s: %d lines can be read, and %d were salvaged", file, how, strings.Count(got, "\n"), strings.Count(saved, "\n"))
	}
	w.n.note(cut, lost, told > 0)
}

// mentions reports whether an answer says that the stop was not clean.
func mentions(answer string) bool {
	return strings.Contains(answer, "was not stopped cleanly") || strings.Contains(answer, "UNCLEAN_STOP          true")
}

// copyWith makes dir a copy of the spool with other content of one file.
func (w *wholeSpool) copyWith(t *testing.T, dir, file string, data []byte) {
	t.Helper()
	for _, sub := range []string{"store", "checkpoints", "logs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, path), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, b := range w.files {
		if path == file {
			b = data
		}
		put(path, b)
	}
	for _, path := range w.empty {
		put(path, nil)
	}
}

func (n *corruptAnswers) add(verb string, code int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.codes[verb] == nil {
		n.codes[verb] = map[int]int{}
	}
	n.codes[verb][code]++
}

func (n *corruptAnswers) note(cut, missing, early bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if cut {
		n.cases["files cut"]++
	} else {
		n.cases["bytes flipped"]++
	}
	if missing {
		n.missing++
	}
	if early {
		n.cut++
	}
}

// String is what the test prints.
func (n *corruptAnswers) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes flipped and %d files cut; messages are missing or changed in %d cases, silently in 0 (in %d of them, a log that ends early after a kill, some verb answers 0 and says that the stop was not clean)",
		n.cases["bytes flipped"], n.cases["files cut"], n.missing, n.cut)
	for _, verb := range slices.Sorted(maps.Keys(n.codes)) {
		fmt.Fprintf(&b, "\n  %-9s", verb)
		for _, code := range slices.Sorted(maps.Keys(n.codes[verb])) {
			fmt.Fprintf(&b, " exit %d: %-6d", code, n.codes[verb][code])
		}
	}
	return b.String()
}
