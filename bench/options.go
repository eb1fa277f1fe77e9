package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"spoolctl/bench/peer"
	"spoolctl/bench/scenario"
)

// options are the flags.
type options struct {
	rounds            int
	scale             float64
	dir, memory, cpus string
	external, write   string
	spoold, spoolctl  string
}

func (o *options) register(fs *flag.FlagSet) {
	fs.IntVar(&o.rounds, "rounds", 3, "rounds; in each, every side runs once. A scenario may set a least or a most")
	fs.Float64Var(&o.scale, "scale", 1, "of the number of messages")
	fs.StringVar(&o.dir, "dir", "", "folder for spools and logs (default: a new one for temporary files; its logs stay)")
	fs.StringVar(&o.memory, "memory", "", "most memory of a broker process, such as 512MiB: Go's soft limit, and a hard one where a cgroup can be made")
	fs.StringVar(&o.cpus, "cpus", "", "processors of a broker process, such as 0-1, set with taskset")
	fs.StringVar(&o.external, "external", "", "a running broker to measure in place of spoold, such as pulsar://HOST:6650")
	fs.StringVar(&o.write, "write", "", "file to write the results to as a page of Markdown")
	fs.StringVar(&o.spoold, "spoold", "", "the spoold program (default: built from this checkout)")
	fs.StringVar(&o.spoolctl, "spoolctl", "", "the spoolctl program (default: built from this checkout)")
}

// env checks the options, makes the folder and builds the programs.
func (o *options) env(ctx context.Context) (*scenario.Env, error) {
	e := &scenario.Env{Spoold: o.spoold, Spoolctl: o.spoolctl, Dir: o.dir, Scale: o.scale}
	var err error
	if e.Limits, err = o.limits(); err != nil {
		return nil, err
	}
	if o.external != "" {
		u, err := url.Parse(o.external)
		if err != nil || u.Scheme != "pulsar" || u.Port() == "" {
			return nil, fmt.Errorf("--external cannot be %q: want pulsar://HOST:PORT", o.external)
		}
		e.External = u.Host
	}
	if e.Dir == "" {
		e.Dir, err = os.MkdirTemp("", "spoolctl-bench-")
	} else if err = os.MkdirAll(e.Dir, 0o755); err == nil {
		e.Dir, err = filepath.Abs(e.Dir)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		program     *string
		folder, pkg string
	}{{&e.Spoold, "..", "./cmd/spoold"}, {&e.Spoolctl, "..", "./cmd/spoolctl"}, {&e.Bare, ".", "./bare"}} {
		if *p.program == "" {
			*p.program = filepath.Join(programs(e), filepath.Base(p.pkg))
			if err := build(ctx, *p.program, p.folder, p.pkg); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// programs is the folder of what was built for the run.
func programs(e *scenario.Env) string { return filepath.Join(e.Dir, "bin") }

// build makes a program of this checkout; bench runs in its own folder.
func build(ctx context.Context, program, folder, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w; run bench in its own folder", pkg, err)
	}
	return nil
}

// limitsText says what the brokers are held to.
func (o *options) limitsText() string {
	var parts []string
	if o.memory != "" {
		parts = append(parts, o.memory+" of memory")
	}
	if o.cpus != "" {
		parts = append(parts, "processors "+o.cpus)
	}
	return strings.Join(parts, " and ")
}

func (o *options) limits() (peer.Limits, error) {
	l := peer.Limits{CPUs: o.cpus}
	if o.cpus != "" {
		if _, err := exec.LookPath("taskset"); err != nil {
			return l, fmt.Errorf("--cpus needs taskset: %w", err)
		}
	}
	if o.memory == "" {
		return l, nil
	}
	number, unit := strings.TrimRight(o.memory, "KMGiB"), int64(1)
	switch strings.TrimSuffix(o.memory[len(number):], "iB") {
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 {
		return l, fmt.Errorf("--memory cannot be %q: want bytes, or a number with KiB, MiB or GiB", o.memory)
	}
	l.Memory = n * unit
	return l, nil
}
