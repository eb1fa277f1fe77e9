// Command vulngate reads what `govulncheck -format json` found from standard input and decides: a vulnerability that the
// programs reach in a module of go.mod fails the check, unless the file named by the only argument accepts it; those of the
// Go standard library are told to whoever builds, because the toolchain is theirs to choose.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

type finding struct {
	OSV          string `json:"osv"`
	FixedVersion string `json:"fixed_version"`
	Trace        []struct {
		Module   string `json:"module"`
		Version  string `json:"version"`
		Function string `json:"function"`
	} `json:"trace"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: govulncheck -format json ./... | vulngate ACCEPTED-FILE")
		os.Exit(2)
	}
	problems, err := check(os.Stdin, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulngate:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func check(in io.Reader, acceptedFile string) (problems []string, err error) {
	accepted, err := readAccepted(acceptedFile)
	if err != nil {
		return nil, err
	}
	called, err := reached(in)
	if err != nil {
		return nil, err
	}
	toolchain := ""
	for _, id := range sortedIDs(called) {
		f := called[id]
		switch module := f.Trace[0].Module; {
		case module == "stdlib":
			toolchain = max(toolchain, f.FixedVersion)
		case !accepted[id]:
			problems = append(problems, fmt.Sprintf("%s in %s %s, fixed in %q: update the module, or accept it in %s with a reason", id, module, f.Trace[0].Version, f.FixedVersion, acceptedFile))
		case f.FixedVersion != "":
			problems = append(problems, fmt.Sprintf("%s is accepted, but %s %s fixes it: update the module", id, module, f.FixedVersion))
		}
		delete(accepted, id)
	}
	for id := range accepted {
		problems = append(problems, id+" is accepted but not reached any more: delete its line in "+acceptedFile)
	}
	if toolchain != "" {
		fmt.Printf("note: build releases with Go %s or newer; this machine's has known vulnerabilities in its standard library\n", strings.TrimPrefix(toolchain, "v"))
	}
	fmt.Printf("%d vulnerabilities reached\n", len(called))
	sort.Strings(problems)
	return problems, nil
}

// reached returns the findings with a call into the vulnerable code, one for each vulnerability.
func reached(in io.Reader) (map[string]finding, error) {
	out := map[string]finding{}
	scanned := false
	for dec := json.NewDecoder(in); ; {
		var m struct {
			Config  *struct{} `json:"config"`
			Finding *finding  `json:"finding"`
		}
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		scanned = scanned || m.Config != nil
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			out[f.OSV] = *f
		}
	}
	if !scanned {
		return nil, errors.New("govulncheck did not run")
	}
	return out, nil
}

func readAccepted(name string) (map[string]bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]bool{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		id, reason, _ := strings.Cut(strings.TrimSpace(sc.Text()), " ")
		switch {
		case id == "" || strings.HasPrefix(id, "#"):
		case strings.TrimSpace(reason) == "":
			return nil, fmt.Errorf("%s: %s has no reason", name, id)
		default:
			out[id] = true
		}
	}
	return out, nil
}

func sortedIDs(m map[string]finding) []string {
	ids := make([]string, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}
