package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spoolctl/storage"
)

// TestInspectDiff compares a spool with a copy of itself, with another one, and with nothing.
func TestInspectDiff(t *testing.T) {
	a, b := spoolOf(t), filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(b, os.DirFS(a)); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runArgs(t, nil, "inspect", "diff", a, b); code != exitOK || !strings.Contains(out, "DIFFERENCES    0") || errs != "" {
		t.Errorf("a copy: %d\n%s\n%s", code, out, errs)
	}
	code, out, errs := runArgs(t, nil, "inspect", "diff", a, spoolOther(t), "-o", "json")
	var list struct {
		Items []struct{ What, Name, Field, A, B string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitProblems || !strings.Contains(errs, "differences") {
		t.Fatalf("%d %v\n%s\n%s", code, err, out, errs)
	}
	said := map[string]bool{}
	for _, d := range list.Items {
		said[d.What+" "+d.Name+" "+d.Field] = true
	}
	for _, want := range []string{"topic  existence"} {
		if !said[want] {
			t.Errorf("%s is not among %v", want, said)
		}
	}
	if code, _, _ := runArgs(t, nil, "inspect", "diff", a); code != exitUsage {
		t.Errorf("one spool: %d", code)
	}
	if code, _, _ := runArgs(t, nil, "inspect", "diff", a, b+"none"); code != exitUnavailable {
		t.Errorf("no second spool: %d", code)
	}
	if code, _, _ := runArgs(t, nil, "inspect", "diff", a, "--broker", "-s", "http://127.0.0.1:1"); code != exitUnavailable {
		t.Errorf("no broker: %d", code)
	}
}

// TestInspectDiffBroker: a running broker and its own spool do not differ.
func TestInspectDiffBroker(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	b := startBroker(t, spool)
	makeTraffic(t, b)
	out := ctl(t, exitOK, "inspect", "diff", spool, "--broker", "--admin-url", b.web())
	if !strings.Contains(out, "DIFFERENCES    0") || !strings.Contains(out, "SUBSCRIPTIONS  6") {
		t.Errorf("%s", out)
	}
}

// spoolOther is a spool without topics.
func spoolOther(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "other")
	s, err := storage.Open(t.Context(), storage.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}
