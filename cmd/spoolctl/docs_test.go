package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readDocs(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[e.Name()] = string(b)
	}
	return pages
}

// TestDocs: one page for each command, the same every time, without dates and without this machine.
func TestDocs(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(first, "spoolctl_gone.md"), []byte("a command of old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first, "notes.md"), []byte("somebody's"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{first, second} {
		if code, out, errs := runArgs(t, nil, "docs", "--dir", dir); code != 0 || out != "" {
			t.Fatalf("%d %s %s", code, out, errs)
		}
	}
	a, b := readDocs(t, first), readDocs(t, second)
	if a["spoolctl_gone.md"] != "" || a["notes.md"] == "" {
		t.Error("an old page stays, or somebody else's goes")
	}
	delete(a, "notes.md")
	if len(a) != len(b) || len(a) < 40 {
		t.Errorf("%d and %d pages", len(a), len(b))
	}
	home, _ := os.UserHomeDir()
	for name, text := range a {
		if b[name] != text {
			t.Errorf("%s differs from run to run", name)
		}
		for _, bad := range []string{first, "Auto generated", home + "/"} {
			if bad != "/" && strings.Contains(text, bad) {
				t.Errorf("%s names %q", name, bad)
			}
		}
	}
	if a["spoolctl_top.md"] == "" || a["spoolctl_docs.md"] != "" {
		t.Error("top has no page, or a hidden command has one")
	}
}

func TestDocsElsewhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runArgs(t, nil, "docs", "--dir", filepath.Join(file, "x")); code != exitFailed || !strings.Contains(errs, "error: ") {
		t.Errorf("%d %s", code, errs)
	}
}
