package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewriteGuide = flag.Bool("guide.rewrite", false, "put what the commands print now into docs/my-broker-stopped.md")

// TestGuide runs the commands of docs/my-broker-stopped.md, in order, on a spool with a damaged log. What they print, and
// their exit codes, must be what the page says.
func TestGuide(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "my-broker-stopped.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	spoold := program(t, "spoold")
	work := t.TempDir()
	if err := os.Rename(killedSpoolOf(t), filepath.Join(work, "spool")); err != nil {
		t.Fatal(err)
	}
	damageLog(t, filepath.Join(work, "spool"))
	abs, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	var got strings.Builder
	inBlock := false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = !inBlock && strings.HasPrefix(line, "```console")
			got.WriteString(line)
		case !inBlock:
			got.WriteString(line)
		case strings.HasPrefix(line, "$ spoolctl "):
			got.WriteString(line)
			got.WriteString(guideRun(t, spoold, strings.Fields(line)[2:]))
		case strings.HasPrefix(line, "$ "):
			t.Fatalf("the test cannot run %q", line)
		}
	}
	if *rewriteGuide {
		if err := os.WriteFile(abs, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got.String()); diff != "" {
		t.Errorf("run the test with -guide.rewrite, and read what changed:\n%s", diff)
	}
}

// damageLog flips a bit in the middle of the spool's log.
func damageLog(t *testing.T, spool string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(spool, "store", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x20
	if err := os.WriteFile(logs[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// guideRun returns what a command prints on both outputs, and its exit code when that is not 0.
func guideRun(t *testing.T, spoold string, args []string) string {
	t.Helper()
	if len(args) > 1 && args[0] == "broker" && args[1] == "start" {
		args = append(args, "--spoold", spoold, "--port", "-1", "--web-port", "-1")
	}
	var out bytes.Buffer
	f := newFactory(&ioStreams{in: strings.NewReader(""), out: &out, err: &out, width: func() int { return 100 }}, nil)
	f.now = func() time.Time { return time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC) }
	code := execute(t.Context(), f, args)
	text := out.String()
	for _, m := range []struct{ what, with string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`, "6f1c2d3e-0000-4000-8000-000000000000"},
		{`pid \d+`, "pid 4711"},
		{`clients on port \d+`, "clients on port 6650"},
		{`metrics on port \d+`, "metrics on port 8080"},
		{`after [0-9.]+m?s`, "after 40ms"},
		{`\S*/TestGuide\d+/\d+/`, "./"},
	} {
		text = regexp.MustCompile(m.what).ReplaceAllString(text, m.with)
	}
	if code != exitOK {
		text += fmt.Sprintf("(exit code %d)\n", code)
	}
	return text
}
