package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// run executes one command line in this process.
func runArgs(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	f := newFactory(&ioStreams{in: strings.NewReader(""), out: &o, err: &e, width: func() int { return 0 }}, environ)
	f.now = func() time.Time { return time.Unix(0, 0) }
	code = execute(t.Context(), f, args)
	return code, o.String(), e.String()
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		walk(c, visit)
	}
}

// TestEveryCommand checks what all commands promise.
func TestEveryCommand(t *testing.T) {
	f := newFactory(&ioStreams{}, nil)
	root := newRoot(f)
	seen := map[string]string{}
	walk(root, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.Short == "" {
			t.Errorf("%s has no description", path)
		}
		if strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: description ends with a full stop", path)
		}
		if cmd.RunE == nil || cmd.Args == nil && cmd.Name() != "help" {
			t.Errorf("%s lacks RunE or Args", path)
		}
		if cmd.PersistentPreRunE != nil && cmd != root || cmd.PersistentPreRun != nil {
			t.Errorf("%s hides the root's PersistentPreRunE", path)
		}
		if cmd.Flags().Lookup("dry-run") != nil && cmd.Annotations[annotationEffect] != effectChanges {
			t.Errorf("%s has --dry-run and is not marked as changing", path)
		}
		for _, name := range append([]string{cmd.Name()}, cmd.Aliases...) {
			full := strings.TrimSuffix(path, cmd.Name()) + name
			if other, ok := seen[full]; ok {
				t.Errorf("%s: name %q is taken by %s", path, full, other)
			}
			seen[full] = path
		}
	})
	for _, want := range []string{
		"topics create-partitioned-topic", "topics stats-internal", "topics peek-messages", "topics clear-backlog",
		"topics reset-cursor", "topics skip", "topics unsubscribe", "topic list", "subscription list", "tenant list", "namespace list",
	} {
		noun, verb, _ := strings.Cut(want, " ")
		cmd, _, err := root.Find([]string{noun, verb})
		if err != nil || !cmd.HasParent() || cmd.Parent() == root {
			t.Errorf("pulsar-admin's %q is not there: %v", want, err)
		}
	}
}

// TestEveryHelp runs --help of every command, and its JSON form.
func TestEveryHelp(t *testing.T) {
	root := newRoot(newFactory(&ioStreams{}, nil))
	walk(root, func(cmd *cobra.Command) {
		args := strings.Fields(cmd.CommandPath())[1:]
		if code, out, errs := runArgs(t, nil, append(args, "--help")...); code != 0 || !strings.Contains(out, "Usage:") || errs != "" {
			t.Errorf("%v --help: %d %s", args, code, errs)
		}
	})
	code, out, _ := runArgs(t, nil, "help", "--json")
	var doc helpDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.Command.Commands) < 8 || len(doc.ExitCodes) != 7 {
		t.Errorf("help --json: %d %v", code, err)
	}
}

// TestHelpTouchesNothing: a wrong environment must not disturb help.
func TestHelpTouchesNothing(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"topics", "create", "--help"}, {"completion", "bash"}, {"__complete", "topics", "get", ""}} {
		code, _, errs := runArgs(t, []string{"SPOOLCTL_TIMEOUT=never", "SPOOLCTL_ADMIN_URL=::"}, args...)
		if code != 0 || strings.Contains(errs, "SPOOLCTL") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}

func TestEnvironment(t *testing.T) {
	code, out, errs := runArgs(t, []string{"SPOOLCTL_OUTPUT=json", "SPOOLCTL_NONSENSE=1", "OTHER=1"}, "version")
	if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(errs, "SPOOLCTL_NONSENSE") || strings.Contains(errs, "OTHER") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, out, _ = runArgs(t, []string{"SPOOLCTL_OUTPUT=json"}, "version", "-o", "name"); code != 0 || strings.HasPrefix(out, "{") {
		t.Errorf("the flag must win: %d %s", code, out)
	}
	if code, _, errs = runArgs(t, []string{"SPOOLCTL_TIMEOUT=never"}, "version"); code != exitUsage || !strings.Contains(errs, "SPOOLCTL_TIMEOUT") {
		t.Errorf("%d %s", code, errs)
	}
	f := newFactory(&ioStreams{}, []string{"SPOOLCTL_TOKEN=env"})
	root := newRoot(f)
	if err := root.ParseFlags([]string{"--token-file", "x"}); err != nil {
		t.Fatal(err)
	}
	if err := f.applyEnvironment(root); err != nil || f.global.token != "" {
		t.Errorf("--token-file must hide SPOOLCTL_TOKEN: %q %v", f.global.token, err)
	}
}

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		answer string
		ok     bool
	}{{"y\n", true}, {"YES\n", true}, {"n\n", false}, {"\n", false}, {"", false}, {"y", false}, {"maybe\ny\n", false}} {
		var errs bytes.Buffer
		f := newFactory(&ioStreams{in: strings.NewReader(c.answer), err: &errs, inTerminal: true}, nil)
		if err := f.confirm(false, "do it"); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.answer, err)
		}
		if !strings.HasPrefix(errs.String(), "do it? [y/N] ") {
			t.Errorf("prompt %q", errs.String())
		}
	}
}

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"x --json": true, "x -o json": true, "x -ojson": true, "x --output=json": true, "x --output ndjson": true,
		"x": false, "x -o yaml": false, "x -- --json": false, "x -o": false,
	} {
		if got := wantsJSON(strings.Fields(args), nil); got != want {
			t.Errorf("%s: %t", args, got)
		}
	}
}
