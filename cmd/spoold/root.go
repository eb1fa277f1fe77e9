package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"text/tabwriter"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"spoolctl/broker"
	"spoolctl/storage/offload/bucket"
)

// options are the collaborators and the flags of the command.
type options struct {
	env            []string
	stdout, stderr io.Writer

	file       string
	pulsarConf string
	logFormat  string
}

func newRoot(o *options) *cobra.Command {
	root := &cobra.Command{
		Use:   "spoold",
		Short: "The broker daemon that spoolctl manages",
		Long: `spoold is a light, single-node broker that Apache Pulsar clients and admin tools can
use. Everything it stores is in one directory, the spool.

It prints one line of JSON when it is ready: its process id and its ports. SIGTERM
stops it gracefully.`,
		Example: `  spoold --spool ./spool
  spoold --spool /var/lib/spool --bind 0.0.0.0 --config /etc/spoold.yaml
  SPOOLD_PORT=0 spoold                 # a free port; see SPOOL/broker.json`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return o.serve(cmd) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see spoold --help", err)}
	})
	f := root.PersistentFlags()
	f.String("spool", "./spool", "directory of the spool")
	f.String("bind", "127.0.0.1", "address to listen on")
	f.String("port", "6650", "port of the binary protocol, 0 for a free one")
	f.String("web-port", "8080", "port of the admin API and the metrics, 0 for a free one")
	f.String("log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.file, "config", "", "YAML file with the keys that 'spoold config' shows")
	f.StringVar(&o.pulsarConf, "pulsar-conf", "", "a standalone.conf of Apache Pulsar to take settings from")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	root.AddCommand(newConfig(o), newVersion(o), newObjects(o))
	return root
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown argument %q; see %s --help", args[0], cmd.CommandPath())}
	}
	return nil
}

// load makes the configuration that the flags and the environment ask for.
func (o *options) load(cmd *cobra.Command) (broker.Config, []broker.Origin, *slog.Logger, error) {
	level := new(slog.LevelVar)
	log, err := o.logger(level)
	if err != nil {
		return broker.Config{}, nil, nil, err
	}
	given := make(map[string]string)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "config", "pulsar-conf", "log-format", "help":
		default:
			given[f.Name] = f.Value.String()
		}
	})
	if v, ok := given["log-level"]; ok {
		// Before the files are read, which may have something to say at that level;
		// a wrong one is refused below.
		_ = level.UnmarshalText([]byte(v))
	}
	cfg, origins, err := broker.Load(broker.Sources{
		PulsarConf: o.pulsarConf, File: o.file, Environ: o.env, Flags: given, Logger: log,
	})
	if err != nil {
		return cfg, nil, nil, usageError{err}
	}
	level.Set(cfg.LogLevel)
	cfg.Logger, cfg.Version = log, version()
	return cfg, origins, log, nil
}

func (o *options) logger(level slog.Leveler) (*slog.Logger, error) {
	switch o.logFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(o.stderr, &slog.HandlerOptions{Level: level})), nil
	case "text":
		return slog.New(tint.NewTextHandler(o.stderr, &tint.Options{Level: level, NoColor: true, TimeFormat: "2006-01-02T15:04:05.000Z07:00"})), nil
	}
	return nil, usageError{fmt.Errorf("--log-format cannot be %q: want text or json", o.logFormat)}
}

// serve runs the daemon until the command's context ends.
func (o *options) serve(cmd *cobra.Command) error {
	cfg, _, _, err := o.load(cmd)
	if err != nil {
		return err
	}
	cfg.OpenBucket = func(ctx context.Context, url string) (broker.Bucket, error) {
		b, err := bucket.Open(ctx, url)
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	cfg.Ready = func(e broker.Endpoint) {
		if line, err := json.Marshal(e); err == nil {
			fmt.Fprintln(o.stdout, string(line))
		}
	}
	return broker.Run(cmd.Context(), cfg)
}

func newConfig(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the configuration in effect and where each value comes from",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, origins, _, err := o.load(cmd)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(o.stdout, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "KEY\tVALUE\tFROM")
			for _, k := range origins {
				fmt.Fprintf(w, "%s\t%s\t%s\n", k.Key, k.Value, k.Source)
			}
			return w.Flush()
		},
	}
}

func newVersion(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(o.stdout, "spoold", version())
			return err
		},
	}
}

// version is what the build system recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
