package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"spoolctl/format"
)

// envPrefix begins the variables that stand for global flags:
// SPOOLCTL_ADMIN_URL for --admin-url.
const envPrefix = "SPOOLCTL_"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// applyEnvironment sets global flags that the command line left alone, and
// warns of variables that mean nothing.
func (f *factory) applyEnvironment(root *cobra.Command) error {
	given := map[string]string{}
	for _, pair := range f.environ {
		if name, val, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, envPrefix) {
			given[name] = val
		}
	}
	if len(given) == 0 {
		return nil
	}
	flags := root.PersistentFlags()
	// One way to give the token on the command line hides both variables.
	tokenSet := flags.Changed("token") || flags.Changed("token-file")
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := envName(flag.Name)
		val, ok := given[name]
		delete(given, name)
		if !ok || flag.Changed || failed != nil || tokenSet && strings.HasPrefix(flag.Name, "token") {
			return
		}
		if err := flag.Value.Set(val); err != nil {
			failed = &format.Error{Kind: format.ErrUsage, Msg: fmt.Sprintf("environment variable %s", name), Err: err}
		}
	})
	for name := range given {
		fmt.Fprintf(f.io.err, "warning: environment variable %s is not known; `spoolctl --help` lists the global flags\n", format.Clean(name))
	}
	return failed
}
