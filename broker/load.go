package broker

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// envPrefix leads the environment variables that set a key: SPOOLD_WEB_PORT sets web-port.
const envPrefix = "SPOOLD_"

// Sources are where a configuration comes from, the later ones winning: the defaults,
// PulsarConf, File, Environ, Flags.
type Sources struct {
	PulsarConf string            // a standalone.conf or broker.conf of Pulsar's; "" = none
	File       string            // a YAML file of this daemon's keys; "" = none
	Environ    []string          // like os.Environ()
	Flags      map[string]string // keys given on the command line
	Logger     *slog.Logger      // told which keys of PulsarConf are not known; nil = nobody
}

// ConfigError says which source holds what cannot be used.
type ConfigError struct {
	Source string // a file, a variable or a flag
	Key    string
	Text   string // what is wrong and what to do
}

// Error gives all three.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Source, e.Key, e.Text)
}

// Origin is a key with its value in effect and where that came from.
type Origin struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"` // "default" when nothing set it
}

// Load makes the configuration from its sources, with the origin of every key. Unknown
// keys of our own sources are errors; those of a Pulsar file are passed over.
func Load(s Sources) (Config, []Origin, error) {
	l := loader{cfg: DefaultConfig(), all: settings(), origin: make(map[string]string)}
	steps := []func() error{
		func() error { return l.pulsarFile(s.PulsarConf, s.Logger) },
		func() error { return l.yamlFile(s.File) },
		func() error { return l.environ(s.Environ) },
		func() error { return l.flags(s.Flags) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return l.cfg, nil, err
		}
	}
	origins := make([]Origin, 0, len(l.all))
	for _, k := range l.all {
		src := l.origin[k.name]
		if src == "" {
			src = "default"
		}
		origins = append(origins, Origin{Key: k.name, Value: k.get(&l.cfg), Source: src})
	}
	return l.cfg, origins, nil
}

type loader struct {
	cfg    Config
	all    []setting
	origin map[string]string
}

// find looks a key up by our name or Pulsar's.
func (l *loader) find(name string) *setting {
	for i := range l.all {
		k := &l.all[i]
		if k.name == name {
			return k
		}
		for _, p := range k.pulsar {
			if p == name {
				return k
			}
		}
	}
	return nil
}

func (l *loader) set(source, name, value string) error {
	k := l.find(name)
	if k == nil {
		return &ConfigError{Source: source, Key: name, Text: "unknown key" + l.suggest(name)}
	}
	if err := k.set(&l.cfg, value, k.name != name); err != nil {
		return &ConfigError{Source: source, Key: name, Text: fmt.Sprintf("cannot be %q: %v", value, err)}
	}
	l.origin[k.name] = source
	return nil
}

// suggest names the key that was probably meant.
func (l *loader) suggest(name string) string {
	best, least := "", 4
	for i := range l.all {
		if d := distance(name, l.all[i].name); d < least {
			best, least = l.all[i].name, d
		}
	}
	if best == "" {
		return "; `spoold config` lists the keys"
	}
	return "; did you mean " + best + "?"
}

// distance is the edit distance of two short texts.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

func (l *loader) yamlFile(path string) error {
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	var keys map[string]any
	if err := yaml.Unmarshal(raw, &keys); err != nil {
		return fmt.Errorf("%s is not valid YAML: %w", path, err)
	}
	for _, name := range sortedKeys(keys) {
		switch v := keys[name].(type) {
		case map[string]any, []any:
			return &ConfigError{Source: path, Key: name, Text: "want a single value"}
		case nil:
		default:
			if err := l.set(path, name, fmt.Sprint(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) environ(env []string) error {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		rest, ok := strings.CutPrefix(name, envPrefix)
		if !ok {
			continue
		}
		if err := l.set("environment", strings.ToLower(strings.ReplaceAll(rest, "_", "-")), value); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) flags(flags map[string]string) error {
	for _, name := range sortedKeys(flags) {
		if err := l.set("flag", name, flags[name]); err != nil {
			return err
		}
	}
	return nil
}

// pulsarFile reads "key=value" lines. Keys that mean nothing here are passed over, with
// one line in the debug log; an empty value leaves the default.
func (l *loader) pulsarFile(path string, log *slog.Logger) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the Pulsar configuration: %w", err)
	}
	defer f.Close()
	var unknown []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if line == "" || line[0] == '#' || !ok || value == "" {
			continue
		}
		if k := l.find(name); k == nil || k.name == name && len(k.pulsar) > 0 {
			unknown = append(unknown, name)
			continue
		}
		if err := l.set(path, name, value); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the Pulsar configuration: %w", err)
	}
	if log != nil && len(unknown) > 0 {
		log.Debug("keys of the Pulsar configuration that are not used", "file", path, "keys", strings.Join(unknown, " "))
	}
	return nil
}
