package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"spoolctl/format"
	"spoolctl/live/daemon"
)

func newBroker(f *factory) *cobra.Command {
	return newNoun("broker", "", "Run, start, stop and look after the bundled broker, spoold",
		newBrokerRun(f), newBrokerStart(f), newBrokerStop(f), newBrokerStatus(f), newBrokerLogs(f))
}

// spoolDir is --spool as an absolute path, as the daemon outlives this
// program's working directory.
func (f *factory) spoolDir() (string, error) {
	if f.global.spool == "" {
		return "", &format.Error{Kind: format.ErrUsage, Msg: "--spool is needed", Hint: "name the directory with --spool DIR or " + envName("spool")}
	}
	return filepath.Abs(f.global.spool)
}

// daemonFlags are what run and start pass on to spoold.
type daemonFlags struct {
	f    *factory
	bin  string
	opts daemon.Options
	wait time.Duration
}

func (d *daemonFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&d.bin, "spoold", "", "the spoold program (default beside spoolctl, then in PATH)")
	fl.StringVar(&d.opts.Bind, "bind", "", "address to listen on (default 127.0.0.1)")
	fl.IntVar(&d.opts.Port, "port", 0, "port for clients; -1 picks a free one (default 6650)")
	fl.IntVar(&d.opts.WebPort, "web-port", 0, "port for admin API and metrics; -1 picks a free one (default 8080)")
	fl.StringVar(&d.opts.Config, "config", "", "configuration file of spoold")
	fl.StringVar(&d.opts.PulsarConf, "pulsar-conf", "", "configuration file of a Pulsar broker")
	fl.StringVar(&d.opts.LogLevel, "log-level", "", "debug, info, warn or error")
}

func (d *daemonFlags) options() (daemon.Options, error) {
	spool, err := d.f.spoolDir()
	if err != nil {
		return daemon.Options{}, err
	}
	o := d.opts
	o.Spool = spool
	o.Binary, err = daemon.Find(d.bin)
	return o, err
}

func newBrokerRun(f *factory) *cobra.Command {
	d := &daemonFlags{f: f}
	cmd := &cobra.Command{
		Use:     "run --spool DIR",
		Short:   "Run spoold in the foreground",
		Example: "  spoolctl broker run --spool ./spool",
		Args:    noArgs(),
		RunE: func(*cobra.Command, []string) error {
			o, err := d.options()
			if err != nil {
				return err
			}
			return &format.Error{Msg: "cannot run " + o.Binary, Err: daemon.Exec(o, os.Environ())}
		},
	}
	d.flags(cmd)
	return changes(cmd)
}
