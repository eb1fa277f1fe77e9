// Command rules checks who imports whom: a package of the module may import only packages from floors below its own, as
// CONTRIBUTING.md lists them. Its only argument is the module's folder.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
)

// rooms lists, for each top-level folder, the other top-level folders it may import.
func rooms() map[string][]string {
	return map[string][]string{
		"wire":         {},
		"format":       {},
		"storage":      {"wire"},
		"inspect":      {"storage", "wire"},
		"maintain":     {"inspect", "storage", "wire"},
		"broker":       {"storage", "wire"},
		"live":         {"wire"},
		"tui":          {"live", "inspect", "format", "wire"},
		"cmd/spoolctl": {"tui", "live", "maintain", "inspect", "storage", "format", "wire"},
		"cmd/spoold":   {"broker", "storage"},
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rules MODULE-FOLDER")
		os.Exit(2)
	}
	broken, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
	for _, b := range broken {
		fmt.Println(b)
	}
	if len(broken) > 0 {
		os.Exit(1)
	}
}

func check(dir string) (broken []string, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	allowed := rooms()
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		from, ok := room(p.ImportPath)
		if !ok {
			broken = append(broken, p.ImportPath+" is in no known room")
			continue
		}
		may := map[string]bool{from: true}
		for _, r := range allowed[from] {
			may[r] = true
		}
		for _, i := range p.Imports {
			if to, ok := room(i); ok && !may[to] {
				broken = append(broken, fmt.Sprintf("%s imports %s", p.ImportPath, i))
			}
		}
	}
	sort.Strings(broken)
	return broken, nil
}

// room returns the room of a package of this module.
func room(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "spoolctl/")
	if !ok {
		return "", false
	}
	for r := range rooms() {
		if rest == r || strings.HasPrefix(rest, r+"/") {
			return r, true
		}
	}
	return "", false
}
