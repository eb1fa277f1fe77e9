// Command vulndb turns the Go vulnerability database's module (golang.org/x/vulndb, which the module proxy serves) into the
// files that govulncheck reads with -db, for machines that reach the proxy and not the database's own site. Its arguments
// are the module's folder and the folder to write.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// report is the part of an OSV report that the index needs.
type report struct {
	ID       string `json:"id"`
	Modified string `json:"modified"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

type moduleVuln struct {
	ID       string `json:"id"`
	Modified string `json:"modified"`
	Fixed    string `json:"fixed,omitempty"`
}

type module struct {
	Path  string       `json:"path"`
	Vulns []moduleVuln `json:"vulns"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: vulndb MODULE-FOLDER OUT-FOLDER")
		os.Exit(2)
	}
	n, err := write(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
	fmt.Printf("%d vulnerability reports\n", n)
}

func write(from, to string) (n int, err error) {
	newest := ""
	files, err := filepath.Glob(filepath.Join(from, "data", "osv", "*.json"))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, errors.New("the module holds no reports")
	}
	for _, d := range []string{"ID", "index"} {
		if err := os.MkdirAll(filepath.Join(to, d), 0o755); err != nil {
			return 0, err
		}
	}
	modules := map[string]*module{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		var r report
		if err := json.Unmarshal(b, &r); err != nil {
			return 0, fmt.Errorf("%s: %w", f, err)
		}
		newest = max(newest, r.Modified)
		if err := os.WriteFile(filepath.Join(to, "ID", r.ID+".json"), b, 0o644); err != nil {
			return 0, err
		}
		r.index(modules)
	}
	list := make([]*module, 0, len(modules))
	for _, m := range modules {
		list = append(list, m)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	if err := writeJSON(filepath.Join(to, "index", "modules.json"), list); err != nil {
		return 0, err
	}
	return len(files), writeJSON(filepath.Join(to, "index", "db.json"), map[string]string{"modified": newest})
}

func (r *report) index(modules map[string]*module) {
	for _, a := range r.Affected {
		m := modules[a.Package.Name]
		if m == nil {
			m = &module{Path: a.Package.Name}
			modules[a.Package.Name] = m
		}
		v := moduleVuln{ID: r.ID, Modified: r.Modified}
		for _, rg := range a.Ranges {
			for _, e := range rg.Events {
				if e.Fixed != "" {
					v.Fixed = e.Fixed
				}
			}
		}
		m.Vulns = append(m.Vulns, v)
	}
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
